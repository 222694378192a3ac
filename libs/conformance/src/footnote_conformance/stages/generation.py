"""The contract's promises for generation: prompt to an answer whose footnotes were checked against the sources."""

import asyncio
from typing import Any

import grpc
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED,
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    FINISH_REASON_UNSPECIFIED,
    MESSAGE_ROLE_SYSTEM,
    MESSAGE_ROLE_USER,
    VERDICT_UNSPECIFIED,
    ChatMessage,
    Source,
)
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_MODEL

from footnote_conformance.stages import common
from footnote_conformance.stages.asking import at_once, refused, refused_field, stranger, with_scope
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Target, refusal_of

SUITE = Suite("generation", probe="ListProviders")
common.add_to(SUITE)

_QUESTION = "How many days of paid leave do employees have?"
_TEXTS = (
    "Every employee has 27 days of paid leave a year. After ten years of service it is 30 days.",
    "The canteen opens at noon and closes at two. On Fridays there is fish.",
    "Leave is asked for in the portal, two weeks ahead.",
)
_UNKNOWN = ("INVALID_ARGUMENT", "PROVIDER_INVALID")


def _sources() -> list[Source]:
    return [
        Source(
            number=number,
            chunk_id=f"d{number}:000001:0000000",
            document_id=f"d{number}",
            revision=1,
            filename=f"handbook-{number}.md",
            text=text,
            score=1.0 - number / 10,
            label=f"handbook-{number}.md",
        )
        for number, text in enumerate(_TEXTS, 1)
    ]


def _asked(**fields: Any) -> dict[str, Any]:
    """Return the fields of a request to answer the question from the sources."""
    sources = fields.pop("sources", _sources())
    given = "\n\n".join(f"[{source.number}] {source.label}\n{source.text}" for source in sources)
    rules = f"Answer from these sources only, and cite them as [n].\n\n{given}"
    question = fields.pop("question", _QUESTION)
    messages = [
        ChatMessage(role=MESSAGE_ROLE_SYSTEM, text=rules),
        ChatMessage(role=MESSAGE_ROLE_USER, text=question),
    ]
    return {
        "question": question,
        "sources": sources,
        "locale": "en",
        "prompt": Prompt(messages=messages, locale="en"),
        **fields,
    }


def _cut(text: str, span: TextSpan) -> str:
    return text[span.start : span.end]


async def _answered(target: Target, **fields: Any) -> tuple[list[Any], Any]:
    """Return all events of an answer, and the completed one."""
    events = await target.call("Generate", **_asked(**fields))
    kinds = [event.WhichOneof("event") for event in events]
    expect(kinds, "the stream ended with OK and without an event")
    expect(kinds[-1] == "completed", f"the last event is '{kinds[-1]}', not 'completed'")
    expect(kinds.count("completed") == 1, f"'completed' came {kinds.count('completed')} times")
    return events, events[-1].completed


@SUITE.check(
    "One of these; text and citations interleave, `completed` is last.",
    "Words come before the end; `completed` comes once and says why the answer ended, which provider and model wrote "
    "it, and what it cost.",
    "The end; its text is what counts.",
)
async def the_stream_ends_with_completed(target: Target) -> None:
    """It says how the answer ended, who wrote it, and what it has cost."""
    events, completed = await _answered(target)
    answer = completed.answer
    expect(answer.text.strip(), "the answer has no text")
    expect(any(event.text_delta for event in events), "no words came before the end")
    expect(answer.finish_reason != FINISH_REASON_UNSPECIFIED, "the answer does not say why it ended")
    expect(answer.provider and answer.model, f"written by provider '{answer.provider}', model '{answer.model}'")
    expect(answer.HasField("usage"), "the answer does not say what it has cost")


@SUITE.check(
    "Markers are never split between two deltas.",
)
async def markers_are_never_split(target: Target) -> None:
    """Every delta has as many opening as closing brackets."""
    events, _ = await _answered(target)
    for event in events:
        text = event.text_delta
        expect(text.count("[") == text.count("]"), f"a delta is '{text}'")


@SUITE.check(
    "An answer that the sources contain ends with ANSWERED and cites at least one of them.",
    "A citation has the number of a given source (numbers may have gaps), and that source's chunk and document.",
    "Citations of sources that were not given; removed from the answer.",
)
async def citations_name_given_sources_only(target: Target) -> None:
    """Numbers need not be 1, 2, 3; chunk, document and file name are the source's."""
    renumbered = _sources()
    for source, number in zip(renumbered, (4, 7, 9), strict=True):
        source.number = number
    for sources in (_sources(), renumbered):
        events, completed = await _answered(target, sources=sources)
        given = {source.number: source for source in sources}
        answer = completed.answer
        expect(answer.finish_reason == FINISH_REASON_ANSWERED, f"it ended with finish_reason {answer.finish_reason}")
        expect(answer.citations, "the sources hold the answer, and it cites none")
        streamed = [event.citation for event in events if event.WhichOneof("event") == "citation"]
        for citation in [*answer.citations, *streamed]:
            expect(citation.number in given, f"source {citation.number} is cited, given are {sorted(given)}")
            source = given[citation.number]
            same = (citation.chunk_id, citation.document_id) == (source.chunk_id, source.document_id)
            expect(same, f"citation {citation.number} has chunk '{citation.chunk_id}', not its source's")


@SUITE.check(
    "Place of the quote in the source's text.",
    "The words of the source that support the sentence.",
    "The sentence of the answer, without its markers.",
    "The marker in the answer, `[2]`.",
    "A stretch of text in Unicode code points, end exclusive.",
)
async def citation_spans_are_exact(target: Target) -> None:
    """What stands at a span is what it says, also after characters of more than a byte."""
    sources = _sources()
    sources[0].text = f"Größe 🙂 zählt. {sources[0].text}"
    _, completed = await _answered(target, sources=sources)
    answer = completed.answer
    texts = {source.number: source.text for source in sources}
    for citation in answer.citations:
        there = _cut(texts.get(citation.number, ""), citation.quote_span)
        expect(there == citation.quote, f"the quote is '{citation.quote}', at its span the source has '{there}'")
        marker = _cut(answer.text, citation.marker_span)
        expect(f"{citation.number}" in marker and "[" in marker, f"at the marker's span stands '{marker}'")
        expect(_cut(answer.text, citation.claim_span).strip(), "at the claim's span stands nothing")


@SUITE.check(
    "The verdict on each sentence.",
    "A claim's verdict is never UNSPECIFIED, and its sources are given ones.",
    "Sources cited divided by sources given, 0..1.",
    "Supported claims divided by all claims, 0..1; 1 if there are none.",
)
async def sentences_have_verdicts(target: Target) -> None:
    """A verdict is never left out, and a claim names given sources only."""
    _, completed = await _answered(target)
    claims = completed.answer.claims
    expect(claims, "no sentence has a verdict")
    for claim in claims:
        expect(claim.support != VERDICT_UNSPECIFIED, "a sentence was not checked")
        expect(set(claim.sources) <= {1, 2, 3}, f"a sentence rests on sources {list(claim.sources)} of 1, 2, 3")
    reported = completed.answer.reliability
    expect(0 <= reported.claims_supported <= 1 and 0 <= reported.sources_used <= 1, f"the reliability is {reported}")


@SUITE.check(
    "Answer without sources: the message needs none (a greeting), or the search failed.",
    "With `without_sources` an answer ends with ANSWERED_WITHOUT_SOURCES and cites nothing.",
)
async def a_greeting_needs_no_sources(target: Target) -> None:
    """Nothing is cited where nothing was given."""
    _, completed = await _answered(target, question="Hello!", sources=[], without_sources=True)
    answer = completed.answer
    wanted = answer.finish_reason == FINISH_REASON_ANSWERED_WITHOUT_SOURCES
    expect(wanted, f"the answer to a greeting has finish_reason {answer.finish_reason}")
    expect(not answer.citations, f"it cites {[citation.number for citation in answer.citations]}")


@SUITE.check(
    "The settings that were used, complete.",
    "Returns complete settings: an absent field gets the deployment's value, else the built-in default.",
)
async def settings_in_use_are_reported(target: Target) -> None:
    """As ResolveSettings fills them in."""
    wanted = GenerationSettings(max_tokens=77)
    _, completed = await _answered(target, settings=wanted)
    reported = completed.settings
    expect(reported.max_tokens == 77, f"max_tokens of 77 counted as {reported.max_tokens}")
    expect(reported.HasField("temperature") and reported.provider, "provider or temperature were not filled in")
    resolved = (await target.call("ResolveSettings", generation=wanted)).generation
    expect(resolved == reported, f"ResolveSettings says {resolved}, Generate {reported}")


@SUITE.check(
    "GenerateRequest.question: The question as asked. Required.",
    "GenerateTitleRequest.first_message: The message. Required.",
    "A text that is required is missing when it is empty or blank: INVALID_ARGUMENT with INVALID_FIELD and the "
    "field's name.",
    "Sources' numbers begin at 1, each once: else INVALID_ARGUMENT with INVALID_FIELD.",
)
async def required_fields_are_asked_for(target: Target) -> None:
    """Blanks are as good as nothing; numbers of sources begin at 1, each once."""
    for blank in ("", " \n"):
        await refused_field(target, "Generate", "question", **_asked(question=blank))
        await refused_field(target, "GenerateTitle", "first_message", first_message=blank)
    for numbers in ((0, 1, 2), (1, 1, 2)):
        sources = _sources()
        for source, number in zip(sources, numbers, strict=True):
            source.number = number
        await refused_field(target, "Generate", "sources", **_asked(sources=sources))


@SUITE.check(
    "No provider of that name is registered, or its settings are wrong. INVALID_ARGUMENT.",
    "Refuses what Generate would refuse: an unknown provider, a provider without its key, an answer longer than the "
    "limit.",
)
async def unknown_providers_are_refused(target: Target) -> None:
    """Generate, GenerateTitle and ResolveSettings refuse the same."""
    nobody = GenerationSettings(provider="nobody")
    await refused(target.call("Generate", **_asked(settings=nobody)), _UNKNOWN, "Generate with provider 'nobody'")
    await refused(target.call("ResolveSettings", generation=nobody), _UNKNOWN, "ResolveSettings with 'nobody'")


@SUITE.check(
    "Makes a short title for a conversation from its first message.",
    "At most 60 characters, on one line.",
)
async def titles_are_short(target: Target) -> None:
    """Of a short message and of a very long one."""
    for message in (_QUESTION, f"{_QUESTION} " * 200, "First line.\nSecond line."):
        title = (await target.call("GenerateTitle", first_message=message)).title
        expect(title.strip() and len(title) <= 60 and "\n" not in title, f"a title is '{title}'")


@SUITE.check(
    "Lists the models' providers.",
    'Id used in settings: "openai".',
    "JSON Schema of its settings.",
    "A provider's settings_schema describes an object.",
)
async def providers_are_listed(target: Target) -> None:
    """Settings that the schema does not know are a problem said in words."""
    providers = (await target.call("ListProviders")).providers
    expect(providers, "no provider is listed")
    for provider in providers:
        expect(provider.kind == PROVIDER_KIND_MODEL and provider.id, f"provider '{provider.id}' is no model's")
        schema = dict(provider.settings_schema)
        expect(schema.get("type") == "object", f"the settings of '{provider.id}' have no schema of an object")


async def _first(call: Any) -> Any:
    try:
        return await call.read()
    except grpc.aio.AioRpcError as error:
        raise refusal_of(error) from error


@SUITE.check(
    "A call that its caller cancels ends and does not affect later calls.",
)
async def a_cancelled_answer_ends(target: Target) -> None:
    """Cancelled before it is sent, on its way, and after its first event."""
    for moment in (0.0, None, 0.005, 0.01, 0.02, None):
        call = target.stage.start("Generate", target.request("Generate", **_asked()))
        if moment is None:
            await _first(call)
        else:
            await asyncio.sleep(moment)
        call.cancel()
    await _answered(target)


@SUITE.check(
    "Nothing of one tenant is ever visible to another.",
    "An answer uses only what its own request gave, nothing of another request.",
)
async def nothing_of_another_tenant_is_in_an_answer(target: Target) -> None:
    """Asked beside another tenant's request of the same question."""
    mine = _sources()
    mine[0].text = "Every employee has 27 days of paid leave, and marzipan."
    other = stranger(target)
    for _ in range(3):
        answers = await at_once(
            [
                target.call("Generate", **_asked(sources=mine)),
                with_scope(target, "Generate", other, **_asked()),
            ]
        )
        expect("marzipan" not in str(answers[1]).lower(), "an answer holds the words of another tenant's source")


@SUITE.check(
    "One for each statement, in order; the span is the whole statement.",
    "One for each statement and source that it cites, in order; `claim_span` and `marker_span` are the whole "
    "statement.",
)
async def statements_are_judged(target: Target) -> None:
    """Each has a verdict, whether it cites one source, two or none."""
    statements: list[dict[str, Any]] = [
        {"text": _TEXTS[0], "sources": [1]},
        {"text": "The office is on the moon.", "sources": [1, 2]},
        {"text": "Nobody is cited here.", "sources": []},
    ]
    answer = await target.call("VerifyStatements", sources=_sources(), statements=statements)
    wanted = [(0, len(one["text"])) for one in statements]
    spans = [(one.span.start, one.span.end) for one in answer.claims]
    expect(spans == wanted, f"the claims have the spans {spans}, not {wanted}")
    expect(all(one.support != VERDICT_UNSPECIFIED for one in answer.claims), "a statement has no verdict")
    cited = [(one.number, one.claim_span.end) for one in answer.citations]
    pairs = [(number, len(one["text"])) for one in statements for number in one["sources"]]
    expect(cited == pairs, f"the citations are of {cited}, not of {pairs}")
