"""The contract's promises for augmentation: candidates in, prompt with numbered sources and a token plan out."""

import string
from typing import Any

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import (
    MESSAGE_ROLE_ASSISTANT,
    MESSAGE_ROLE_SYSTEM,
    MESSAGE_ROLE_USER,
    TOKEN_DECISION_CUT,
    TOKEN_DECISION_DROPPED,
    TOKEN_DECISION_KEPT,
    ChatMessage,
)
from footnote.types.v1.collection_pb2 import PromptSettings, RerankSettings
from footnote.types.v1.locator_pb2 import LineLocator, Locator
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_EMPTY, TOKEN_REASON_GIVEN_TWICE, TOKEN_REASON_UNSPECIFIED

from footnote_conformance.stages import common
from footnote_conformance.stages.asking import INVALID, at_once, refused, refused_field, stranger, with_scope
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Target

SUITE = Suite("augmentation", probe="ListProviders")
common.add_to(SUITE)

_QUESTION = "How long is the warranty of the instrument?"
_NOUNS = (
    "theodolite", "gyroscope", "spectrometer", "barometer", "oscilloscope", "sextant", "telescope", "microscope",
    "anemometer", "hygrometer", "altimeter", "voltmeter", "chronometer", "planimeter", "interferometer", "photometer",
)  # fmt: skip
_MAKERS = ("Amundsen", "Bering", "Cabot", "Drake", "Erikson", "Franklin", "Gama", "Hudson")


def _passage(index: int, sentences: int = 2) -> str:
    """Return a passage that no other resembles: its instrument, maker, town and numbers are its own."""
    thing, maker = _NOUNS[index % len(_NOUNS)], _MAKERS[index % len(_MAKERS)]
    facts = [
        f"The {thing} number {index + 11} by {maker} has a warranty of {index + 3} months",
        f"workshop {string.ascii_uppercase[index % 26]}{index} in room {index * 7} checks it every {index + 5} weeks",
        f"{maker} delivers spare lenses for {index * 13 + 40} euros within {index + 2} days",
        f"a certificate of class {index + 1} goes with every {thing} of the series {index * 31 + 100}",
    ]
    return " ".join(f"{facts[at % len(facts)].capitalize()}, case {index}-{at}." for at in range(sentences))


def _hits(count: int, sentences: int = 2) -> list[ScoredChunk]:
    """Return candidates, best first, each of a document of its own."""
    return [
        ScoredChunk(
            chunk=Chunk(
                id=f"document{index}:000001:0000000",
                document_id=f"document{index}",
                revision=1,
                filename=f"instrument-{index}.md",
                collection="instruments",
                collection_id="c" * 32,
                text=_passage(index, sentences),
                language="en",
                locator=Locator(lines=LineLocator(first_line=1, last_line=3)),
            ),
            score=0.9 - index / 100,
        )
        for index in range(count)
    ]


async def _built(target: Target, hits: list[ScoredChunk], budget: int = 0, **fields: Any) -> Any:
    """Return the prompt built from candidates, with a budget of tokens where one is given."""
    if budget:
        fields["prompt"] = PromptSettings(token_budget=budget, locale="en")
    return await target.call("BuildPrompt", **{"question": _QUESTION, "chunks": hits, **fields})


@SUITE.check(
    "Number in the prompt, from 1; what `[n]` in the answer refers to.",
    "Sources are numbered from 1 without gaps, even if candidates were dropped.",
)
async def sources_are_numbered_from_1_without_gaps(target: Target) -> None:
    """Also where some were dropped in between."""
    for hits in (_hits(1), _hits(8), [*_hits(3), _hits(1)[0], *_hits(9)[4:]]):
        numbers = [source.number for source in (await _built(target, hits)).sources]
        expect(numbers and numbers == list(range(1, len(numbers) + 1)), f"the sources have the numbers {numbers}")


@SUITE.check(
    "The passage in the prompt, possibly cut at a sentence.",
    "Every source's text is in the prompt and is a part of its chunk's text; its document, file name and revision are"
    " the chunk's, and it has a label.",
)
async def the_prompt_holds_what_the_sources_say(target: Target) -> None:
    """Each source is of the candidate that it names."""
    built = await _built(target, _hits(5))
    whole = "\n".join(message.text for message in built.prompt.messages)
    given = {hit.chunk.id: hit.chunk for hit in _hits(5)}
    expect(built.sources, "five candidates gave no source")
    for source in built.sources:
        expect(source.text and source.text in whole, f"the text of source {source.number} is not in the prompt")
        expect(source.chunk_id in given, f"source {source.number} is chunk '{source.chunk_id}', which was not given")
        chunk = given[source.chunk_id]
        same = (source.document_id, source.filename, source.revision) == (chunk.document_id, chunk.filename, 1)
        expect(same, f"source {source.number} has another document, file name or revision than its chunk")
        expect(source.text in chunk.text, f"the text of source {source.number} is not its chunk's")
        expect(source.label, f"source {source.number} has no label")


@SUITE.check(
    "Tokens for the sources, 100 to the deployment's limit (32000); 3000 by default.",
    "The sources take no more tokens than the budget: by `used`, by the plan's entries, and by their words, each of "
    "which is at least one token.",
    'Vocabulary counted with, "cl100k_base" or "estimate".',
)
async def the_budget_is_kept(target: Target) -> None:
    """At several budgets, and there is no more in the sources than the plan says."""
    hits = _hits(12, sentences=6)
    for budget in (100, 200, 500, 1500):
        built = await _built(target, hits, budget)
        plan = built.token_plan
        expect(plan.budget == budget, f"a budget of {budget} counted as {plan.budget}")
        expect(plan.used <= budget, f"of {budget} tokens the sources take {plan.used}")
        words = sum(len(source.text.split()) for source in built.sources)
        expect(words <= budget, f"of {budget} tokens the sources take {words} words, which are as many tokens at least")
        reported = sum(entry.tokens_used for entry in plan.entries)
        expect(reported <= budget, f"of {budget} tokens the entries take {reported}")
        expect(plan.tokenizer, "the plan does not say what it counted with")


@SUITE.check(
    "Every candidate, in the order considered.",
    "Its number as a source; 0 if dropped.",
    "A candidate that is dropped has a reason: GIVEN_TWICE for a chunk that came before, EMPTY for one without words.",
)
async def what_is_dropped_is_named_with_a_reason(target: Target) -> None:
    """Kept and cut ones have the number of their source."""
    hits = _hits(12, sentences=6)
    twin, blank = _hits(1, sentences=6)[0], ScoredChunk(chunk=Chunk(id="blank:000001:0000000", text=" "), score=0.5)
    built = await _built(target, [*hits, twin, blank], 400)
    entries = list(built.token_plan.entries)
    reported, given = sorted(entry.chunk_id for entry in entries), sorted(hit.chunk.id for hit in [*hits, twin, blank])
    expect(reported == given, f"the plan names {len(reported)} candidates of {len(given)}: {reported}")
    numbers = {source.chunk_id: source.number for source in built.sources}
    for entry in entries:
        if entry.decision == TOKEN_DECISION_DROPPED:
            expect(entry.number == 0, f"'{entry.chunk_id}' was dropped and has number {entry.number}")
            expect(entry.reason != TOKEN_REASON_UNSPECIFIED, f"'{entry.chunk_id}' was dropped without a reason")
        else:
            known = entry.decision in (TOKEN_DECISION_KEPT, TOKEN_DECISION_CUT)
            expect(known, f"'{entry.chunk_id}' has decision {entry.decision}")
            expect(numbers.get(entry.chunk_id) == entry.number, f"'{entry.chunk_id}' has number {entry.number}")
    reasons = [entry.reason for entry in entries]
    expect(TOKEN_REASON_GIVEN_TWICE in reasons, "a chunk that was given twice was not dropped as GIVEN_TWICE")
    expect(TOKEN_REASON_EMPTY in reasons, "a chunk without words was not dropped as EMPTY")


@SUITE.check(
    "The prompt's messages are the instructions, with role SYSTEM, then earlier messages oldest first as they were "
    "given, then the question as asked, with role USER.",
    "The collection's own instructions, put before our grounding rules;",
)
async def instructions_history_and_question_stand_in_order(target: Target) -> None:
    """The collection's own instructions are put before the grounding rules."""
    history = [
        ChatMessage(role=MESSAGE_ROLE_USER, text="Who makes the sextant?"),
        ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text="Franklin makes it."),
    ]
    prompt = PromptSettings(system_prompt="You answer for the museum of Trondheim.", locale="en")
    built = await _built(target, _hits(2), history=history, prompt=prompt)
    messages = list(built.prompt.messages)
    roles = [message.role for message in messages]
    wanted = [MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER, MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER]
    expect(roles == wanted, f"the messages have the roles {roles}, not {wanted}")
    expect(messages[0].text.startswith(prompt.system_prompt), "the instructions do not begin with the collection's own")
    expect(
        len(messages[0].text) > len(prompt.system_prompt) + 50, "the instructions hold no rules beside the collection's"
    )
    expect([message.text for message in messages[1:3]] == [one.text for one in history], "the history was changed")
    expect(messages[-1].text == _QUESTION, f"the last message is '{messages[-1].text}', not the question")


@SUITE.check(
    "Most recent messages of the conversation to include, 0 to 1000; 8 by default.",
)
async def history_is_limited(target: Target) -> None:
    """The most recent ones stay; none where none are wanted."""
    history = []
    for index in range(3):
        history.append(ChatMessage(role=MESSAGE_ROLE_USER, text=f"Question number {index}?"))
        history.append(ChatMessage(role=MESSAGE_ROLE_ASSISTANT, text=f"Answer number {index}."))
    for most in (0, 2):
        built = await _built(target, [], history=history, prompt=PromptSettings(history_messages=most))
        kept = [message.text for message in list(built.prompt.messages)[1:-1]]
        wanted = [message.text for message in history[len(history) - most :]]
        expect(kept == wanted, f"with history_messages {most} the prompt has {kept}, not {wanted}")


@SUITE.check(
    "Pure: the same request gives the same sources and plan.",
    "SHA-256 of the messages, lower-case hexadecimal.",
)
async def the_same_request_gives_the_same_prompt(target: Target) -> None:
    """One after another and side by side; another question has another hash."""
    first = await _built(target, _hits(6))
    hashed = first.prompt.hash
    expect(len(hashed) == 64 and set(hashed) <= set("0123456789abcdef"), f"the hash is '{hashed}'")
    for again in await at_once([_built(target, _hits(6)) for _ in range(8)]):
        expect(again.prompt.hash == hashed, f"the same request has the hashes {hashed} and {again.prompt.hash}")
        expect(list(again.sources) == list(first.sources), "the same request has other sources")
        expect(again.token_plan == first.token_plan, "the same request has another token plan")
    other = await _built(target, _hits(6), question="Who calibrates the sextant?")
    expect(other.prompt.hash != hashed, "another question has the same hash")
    fewer = await _built(target, _hits(5))
    expect(fewer.prompt.hash != hashed, "other sources have the same hash")


@SUITE.check(
    "The message needs no sources (a greeting): answer without them.",
    "With `without_sources` no candidate reaches the prompt.",
)
async def without_sources_there_are_none(target: Target) -> None:
    """Candidates that are given nevertheless do not reach the prompt."""
    built = await _built(target, _hits(3), without_sources=True)
    expect(not built.sources, f"there are {len(built.sources)} sources")
    whole = "\n".join(message.text for message in built.prompt.messages)
    expect(not any(hit.chunk.text in whole for hit in _hits(3)), "a candidate stands in the prompt")


@SUITE.check(
    "Documents the question names: each keeps at least one source if it has a candidate.",
)
async def named_documents_keep_a_source(target: Target) -> None:
    """The last of many, where the budget has no room for all."""
    hits = _hits(12, sentences=4)
    built = await _built(target, hits, 300, named_document_ids=["document11"])
    documents = [source.document_id for source in built.sources]
    expect("document11" in documents, f"document11 was named, the sources are of {documents}")


@SUITE.check(
    "The prompt settings that were used, complete.",
    "Returns complete settings: an absent field gets the deployment's value, else the built-in default.",
)
async def settings_in_use_are_reported(target: Target) -> None:
    """A value given counts; one not given is filled in, as ResolveSettings says."""
    built = await _built(target, _hits(1), 777)
    reported = built.prompt_settings
    expect(reported.token_budget == 777, f"a token_budget of 777 counted as {reported.token_budget}")
    filled = reported.HasField("history_messages") and reported.HasField("history_characters")
    expect(filled, "history_messages and history_characters were not filled in")
    resolved = (await target.call("ResolveSettings", prompt=PromptSettings(token_budget=777, locale="en"))).prompt
    expect(resolved == reported, f"ResolveSettings says {resolved}, BuildPrompt {reported}")


@SUITE.check(
    "The question as asked. Required.",
    "The message as asked. Required.",
    "A text that is required is missing when it is empty or blank: INVALID_ARGUMENT with INVALID_FIELD and the "
    "field's name.",
    "An unknown locale is INVALID_ARGUMENT with INVALID_FIELD.",
)
async def required_fields_are_asked_for(target: Target) -> None:
    """Blanks are as good as nothing."""
    for blank in ("", " \n"):
        await refused_field(target, "BuildPrompt", "question", question=blank)
        await refused_field(target, "PlanQuery", "message", message=blank)
    await refused_field(target, "BuildPrompt", "prompt.locale", question="q", prompt=PromptSettings(locale="xx"))


@SUITE.check(
    "No provider of that name is registered, or its settings are wrong. INVALID_ARGUMENT.",
    "Refuses what BuildPrompt would refuse: an unknown reranker or locale, a reranker without its address or folder, "
    "a budget beyond the limit.",
)
async def unknown_rerankers_are_refused(target: Target) -> None:
    """BuildPrompt and ResolveSettings refuse the same."""
    wanted, nobody = ("INVALID_ARGUMENT", "PROVIDER_INVALID"), RerankSettings(provider="nobody")
    await refused(target.call("ResolveSettings", rerank=nobody), wanted, "ResolveSettings with reranker 'nobody'")
    await refused(_built(target, _hits(2), rerank=nobody), wanted, "BuildPrompt with reranker 'nobody'")


@SUITE.check(
    "Decides whether a message needs a search, and what to search for.",
    "A question is searched for by its own words, and the plan says how it relates to its conversation.",
)
async def queries_are_planned(target: Target) -> None:
    """A question is searched for, by the words that it has."""
    plan = await target.call("PlanQuery", message=_QUESTION)
    expect(plan.should_retrieve, "a question is not searched for")
    expect("warranty" in plan.query, f"the query is '{plan.query}', without the question's word 'warranty'")
    expect(plan.strategy, "the plan does not say what the message was to its conversation")


@SUITE.check(
    "Nothing of one tenant is ever visible to another.",
    "A prompt contains only what its own request gave, nothing of another request.",
)
async def nothing_of_another_tenant_is_in_a_prompt(target: Target) -> None:
    """Asked right after, and beside, another tenant's request of the same words."""
    secret = "The vault of the first tenant opens with marzipan."
    mine = _hits(2)
    mine[0].chunk.text = secret
    history = [ChatMessage(role=MESSAGE_ROLE_USER, text="My code name is Marzipan.")]
    other = stranger(target)
    for _ in range(3):
        answers = await at_once(
            [
                _built(target, mine, history=history, memory_context="[user] marzipan"),
                with_scope(target, "BuildPrompt", other, question=_QUESTION, chunks=_hits(2)[1:]),
            ]
        )
        expect("marzipan" not in str(answers[1]).lower(), "a prompt holds the words of another tenant's request")
    alone = await with_scope(target, "BuildPrompt", other, question=_QUESTION)
    expect(not alone.sources, f"without candidates there are {len(alone.sources)} sources")


@SUITE.check(
    "Tokens for the sources, 100 to the deployment's limit (32000); 3000 by default.",
    "Allowed values of a field, checked for every call before its handler runs: a violation is INVALID_ARGUMENT with "
    "reason INVALID_FIELD and the field's path in google.rpc.BadRequest.",
)
async def budgets_out_of_range_are_refused(target: Target) -> None:
    """With candidates or without."""
    small = PromptSettings(token_budget=99)
    await refused(_built(target, _hits(1), prompt=small), INVALID, "a token_budget of 99", "prompt.token_budget")
