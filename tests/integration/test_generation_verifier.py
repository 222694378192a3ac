# ruff: noqa: E501 - tables of cases
"""A language model as verifier, behind the real client: what it may change, and that no lie of it raises a verdict."""

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1 import prompt_pb2
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_generation.app import build
from footnote_kit import telemetry
from footnote_kit.degradations import word
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.model_chat import Cut, Fail, Finish, Hold, ModelServer, Say, Step, serve_model

pytestmark = pytest.mark.full

HANDBOOK = "The crew vacated the premises on 3 May 2021. Visitors may not smoke. John Carter leads support."
OTHER = "The workers left the building on 3 May 2021, said the guard."
SOURCES = [
    types.Source(number=1, chunk_id="c1", document_id="d1", filename="handbook.md", text=HANDBOOK),
    types.Source(number=2, chunk_id="c2", document_id="d2", filename="other.md", text=OTHER),
]
PARAPHRASE = "The workers left the building on 3 May 2021 [1]."
QUOTE = "The crew vacated the premises on 3 May 2021."
Read = Callable[[dict[str, Any]], Sequence[Step]]


def verdicts(*items: tuple[int, str, str]) -> Sequence[Step]:
    """A well-formed answer of a verifier."""
    listed = [{"statement": number, "verdict": verdict, "quote": quote} for number, verdict, quote in items]
    return [Say([json.dumps({"verdicts": listed}, ensure_ascii=False)]), Finish()]


def several(*items: tuple[int, str, list[Any]]) -> Sequence[Step]:
    """The same with lists of quotes, as it is asked for."""
    listed = [{"statement": number, "verdict": verdict, "quotes": quotes} for number, verdict, quotes in items]
    return [Say([json.dumps({"verdicts": listed}, ensure_ascii=False)]), Finish()]


def payload(body: dict[str, Any]) -> dict[str, Any]:
    """What a verifier was asked."""
    found: dict[str, Any] = json.loads(body["messages"][-1]["content"])
    return found


def is_reading(body: dict[str, Any]) -> bool:
    return "You check statements" in body["messages"][0]["content"]


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback."""
    async with serve_model() as server:
        yield server


@pytest.fixture
async def stub(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[GenerationServiceStub]:
    """A stub of generation that asks the model and gives it two seconds as verifier."""
    monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    monkeypatch.setenv("FOOTNOTE_GENERATION_VERIFIER_TIMEOUT", "2")
    async with serve_app(build) as served:
        yield GenerationServiceStub(served.channel)


def plays(model: ModelServer, said: str, reads: Read) -> None:
    """Let the model say an answer, and then read it by `reads`."""
    model.respond(lambda body: reads(body) if is_reading(body) else [Say([said]), Finish()])


async def ask(stub: GenerationServiceStub, **settings: Any) -> list[pb.GenerateResponse]:
    prompt = prompt_pb2.Prompt(
        messages=[
            types.ChatMessage(role=types.MESSAGE_ROLE_SYSTEM, text="Answer from the sources."),
            types.ChatMessage(role=types.MESSAGE_ROLE_USER, text="What happened?"),
        ]
    )
    request = pb.GenerateRequest(
        scope=SCOPE, question="What happened?", sources=SOURCES, prompt=prompt, locale="en", bounds=TextBounds(),
        settings=GenerationSettings(**settings),
    )  # fmt: skip
    return [event async for event in stub.Generate(request)]


def supports(completed: pb.GenerateCompleted) -> list[str]:
    return [types.Verdict.Name(claim.support).removeprefix("VERDICT_") for claim in completed.answer.claims]


async def test_an_honest_reader_raises_a_paraphrase_after_the_rules_verdict_went_out(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    plays(model, PARAPHRASE, lambda body: verdicts((1, "supported", "the crew  vacated the premises on 3 May 2021")))
    events = await ask(stub)
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds.index("citation") < kinds.index("claims_revised") < kinds.index("completed")
    first = next(event.citation for event in events if event.HasField("citation"))
    revised = next(event.claims_revised for event in events if event.HasField("claims_revised"))
    completed = events[-1].completed
    assert first.support == types.VERDICT_NOT_CONFIRMED
    assert completed.answer.claims[0].basis == types.BASIS_READ
    assert completed.answer.reliability.claims_read == 1
    assert list(revised.claims) == list(completed.answer.claims)
    assert list(revised.citations) == list(completed.answer.citations)
    assert supports(completed) == ["SUPPORTED"]
    assert completed.answer.citations[0].quote == QUOTE
    assert (first.reader, completed.answer.citations[0].reader) == ("", completed.answer.model)
    reading = model.seen[1].body
    assert reading["response_format"]["json_schema"]["schema"]["required"] == ["verdicts"]
    # Both calls are charged, and usage was reported before the end.
    assert completed.answer.usage.prompt_tokens == 200
    assert any(event.usage.prompt_tokens > 100 for event in events if event.HasField("usage"))


async def test_what_is_no_quotation_is_asked_in_one_call_and_the_others_in_none(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    said = f"Visitors may not smoke [1]. {PARAPHRASE} Visitors may smoke [1]. People went home that spring [1][2]."
    plays(model, said, lambda body: verdicts())
    with telemetry.span("test"):
        trace_id = int(telemetry.current_trace_id(), 16)
        await ask(stub)
    names = [span.name for span in telemetry.ring.spans(trace_id, SCOPE.tenant_id)]
    assert names.count("read statements") == 1
    asked = payload(model.seen[1].body)
    assert [one["text"].replace(" .", ".") for one in asked["statements"]] == [
        "The workers left the building on 3 May 2021.",
        "Visitors may smoke.",
        "People went home that spring.",
    ]
    # A statement that cites two sources is checked against both together.
    assert list(asked["passages"].values()) == [HANDBOOK, f"{HANDBOOK}\n\n{OTHER}"]
    assert len(model.seen) == 2


async def test_a_sure_answer_costs_no_second_call(model: ModelServer, stub: GenerationServiceStub) -> None:
    plays(model, "Visitors may not smoke [1].", lambda body: verdicts())
    assert supports((await ask(stub))[-1].completed) == ["SUPPORTED"]
    assert len(model.seen) == 1


async def test_what_it_finds_contradicted_is_lowered(model: ModelServer, stub: GenerationServiceStub) -> None:
    said = "Visitors to the big hall may not smoke there [1]."
    plays(model, said, lambda body: verdicts())
    before = supports((await ask(stub))[-1].completed)
    plays(model, said, lambda body: verdicts((1, "contradicted", "Visitors may not smoke.")))
    assert (before, supports((await ask(stub))[-1].completed)) == (["NOT_CONFIRMED"], ["UNSUPPORTED"])


LONG = json.dumps({"verdicts": [{"statement": 1, "verdict": "supported", "quote": QUOTE}]})
LIES: dict[str, tuple[str, Read, bool]] = {
    # the statement, what the reader does, whether that is reported as a failure
    "a false quote": (PARAPHRASE, lambda _: verdicts((1, "supported", "The workers left the building.")), False),
    "no quote": (PARAPHRASE, lambda _: verdicts((1, "supported", "")), False),
    "a quote of a letter": (PARAPHRASE, lambda _: verdicts((1, "supported", "a")), False),
    "a quote of another source": (PARAPHRASE, lambda _: verdicts((1, "supported", OTHER)), False),
    "a quote that is on nothing of it": (
        "The canteen serves lunch from noon [1].", lambda _: verdicts((1, "supported", "Visitors may not smoke.")), False,
    ),
    "a quote of the statement itself": (
        PARAPHRASE, lambda _: verdicts((1, "supported", "The workers left the building on 3 May 2021.")), False,
    ),
    "a statement that is not there": (PARAPHRASE, lambda _: verdicts((2, "supported", QUOTE), (0, "supported", QUOTE)), False),
    "two verdicts for one": (PARAPHRASE, lambda _: verdicts((1, "supported", QUOTE), (1, "not_supported", QUOTE)), False),
    "two verdicts, the better one last": (PARAPHRASE, lambda _: verdicts((1, "not_supported", QUOTE), (1, "supported", QUOTE)), False),
    "a verdict that there is not": (PARAPHRASE, lambda _: verdicts((1, "proven", QUOTE)), False),
    "a verdict in a list": (PARAPHRASE, lambda _: [Say([LONG.replace('"supported"', '["supported"]')]), Finish()], False),
    "an object for a verdict": (PARAPHRASE, lambda _: [Say([LONG.replace('"supported"', '{"it": "is"}')]), Finish()], False),
    "another number": (PARAPHRASE.replace("3 May", "4 May"), lambda _: verdicts((1, "supported", QUOTE)), False),
    "another name": (PARAPHRASE.replace("workers", "workers of Dupont"), lambda _: verdicts((1, "supported", QUOTE)), False),
    "quotes of which one is false": (
        PARAPHRASE, lambda _: several((1, "supported", [QUOTE, "They came back a year later."])), False,
    ),
    "quotes that are no text": (PARAPHRASE, lambda _: several((1, "supported", [QUOTE, 7])), False),
    "more quotes than a proof has": (PARAPHRASE, lambda _: several((1, "supported", [QUOTE] * 9)), False),
    "an empty list of quotes": (PARAPHRASE, lambda _: several((1, "supported", [])), False),
    "cut JSON": (PARAPHRASE, lambda _: [Say([LONG[:-3]]), Finish()], True),
    "cut by its length": (PARAPHRASE, lambda _: [Say([LONG]), Finish("length")], True),
    "a list": (PARAPHRASE, lambda _: [Say([f"[{LONG}]"]), Finish()], True),
    "words": (PARAPHRASE, lambda _: [Say(["All of it is supported."]), Finish()], True),
    "a flood": (PARAPHRASE, lambda _: [Say(["[" * 30_000, "[" * 30_000]), Finish()], True),
    "nesting": (PARAPHRASE, lambda _: [Say(["[" * 30_000]), Finish()], True),
    "429": (PARAPHRASE, lambda _: [Fail(429, {"retry-after": "1"})], True),
    "500": (PARAPHRASE, lambda _: [Fail(500)], True),
    "a cut connection": (PARAPHRASE, lambda _: [Say([LONG]), Cut()], True),
    "a stall": (PARAPHRASE, lambda _: [Hold()], True),
    "a stall in the middle": (PARAPHRASE, lambda _: [Say([LONG]), Hold()], True),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
async def test_no_lie_raises_a_verdict(model: ModelServer, stub: GenerationServiceStub, lie: str) -> None:
    said, reads, fails = LIES[lie]
    plays(model, said, reads)
    without = (await ask(stub, second_opinion=False))[-1].completed
    assert not any(is_reading(one.body) for one in model.seen)
    events = await ask(stub)
    completed = events[-1].completed
    order = ["UNSUPPORTED", "NOT_CONFIRMED", "SUPPORTED"]
    assert "SUPPORTED" not in supports(without)
    assert [order.index(one) for one in supports(completed)] <= [order.index(one) for one in supports(without)]
    assert completed.answer.text == without.answer.text
    assert [word(one) for one in completed.degradations] == (["VERIFIER_UNAVAILABLE"] if fails else [])


async def test_a_statement_may_rest_on_two_sentences_that_are_quoted(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    said = "Smoking is forbidden to visitors and the support team is led by John Carter [1]."
    one, two = "Visitors may not smoke.", "John Carter leads support."
    plays(model, said, lambda body: several((1, "supported", [one, two])))
    completed = (await ask(stub))[-1].completed
    assert supports(completed) == ["SUPPORTED"]
    assert completed.answer.citations[0].quote.strip() == f"{one} {two}"


async def test_strict_mode_waits_for_the_verifier(model: ModelServer, stub: GenerationServiceStub) -> None:
    said = f"{PARAPHRASE} People went home that spring [1]."
    plays(model, said, lambda body: verdicts((1, "supported", QUOTE)))
    completed = (await ask(stub, strict=True))[-1].completed
    assert completed.answer.text == PARAPHRASE
    assert completed.answer.reliability.withheld_claims == 1


async def test_a_server_without_schemas_is_asked_in_plain_words(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    def reads(body: dict[str, Any]) -> Sequence[Step]:
        if "response_format" in body:
            return [Fail(400, message="response_format is not supported")]
        return [Say([f"```json\n{LONG}\n```"]), Finish()]

    plays(model, PARAPHRASE, reads)
    assert supports((await ask(stub))[-1].completed) == ["SUPPORTED"]
    seen = len(model.seen)
    assert supports((await ask(stub))[-1].completed) == ["SUPPORTED"]
    assert len(model.seen) - seen == 2  # it is not tried again


async def test_the_budget_bounds_what_is_asked_and_is_reported(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    monkeypatch.setenv("FOOTNOTE_GENERATION_VERIFIER_TOKENS", "700")
    said = "".join(f"People number {n} went home that spring [1]. " for n in "abcdefghij")
    plays(model, said, lambda body: verdicts())
    async with serve_app(build) as served:
        completed = (await ask(GenerationServiceStub(served.channel)))[-1].completed
    assert sum(len(payload(one.body)["statements"]) for one in model.seen if is_reading(one.body)) < 6
    assert [word(one) for one in completed.degradations] == ["VERIFIER_UNAVAILABLE"]
    assert "budget" in completed.degradations[0].detail


async def test_long_answers_are_read_while_they_are_written(model: ModelServer, stub: GenerationServiceStub) -> None:
    first = "".join(f"Person {n} went out of the premises [1]. " for n in "abcdefghij")
    rest = Hold()

    def answers(body: dict[str, Any]) -> Sequence[Step]:
        if is_reading(body):
            rest.until.set()
            return verdicts()
        return [Say([first, "And that is all. "]), rest, Say(["Bye [1]."]), Finish()]

    model.respond(answers)
    assert (await ask(stub))[-1].HasField("completed")  # it would wait for ever, were it read at the end only
    assert is_reading(model.seen[1].body)


async def test_a_named_model_reads_for_the_built_in_answerer_and_a_wrong_name_is_refused(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    monkeypatch.setenv("FOOTNOTE_GENERATION_VERIFIER", "model:openai:careful-1")
    model.respond(lambda body: verdicts((1, "supported", QUOTE)))
    async with serve_app(build) as served:
        judged = await verify(GenerationServiceStub(served.channel), [(PARAPHRASE.removesuffix(" [1]."), [1])])
    assert model.seen[0].body["model"] == "careful-1"
    assert judged.claims[0].support == types.VERDICT_SUPPORTED
    assert judged.citations[0].reader == "careful-1"
    assert judged.usage.prompt_tokens == 100
    monkeypatch.setenv("FOOTNOTE_GENERATION_VERIFIER", "model:nowhere:x")
    with pytest.raises(InvalidArgument):
        async with serve_app(build):
            pass


async def verify(
    stub: GenerationServiceStub, statements: Sequence[tuple[str, Sequence[int]]], **settings: Any
) -> pb.VerifyStatementsResponse:
    return await stub.VerifyStatements(
        pb.VerifyStatementsRequest(
            scope=SCOPE, sources=SOURCES, locale="en", bounds=TextBounds(), settings=GenerationSettings(**settings),
            statements=[pb.Statement(text=text, sources=numbers) for text, numbers in statements],
        )
    )  # fmt: skip


async def test_statements_are_judged_as_the_sentences_of_an_answer(
    model: ModelServer, stub: GenerationServiceStub
) -> None:
    judged = await verify(
        stub,
        [("Visitors may not smoke.", [1]), ("Visitors may smoke.", [1]), ("Visitors may not smoke.", [])],
        second_opinion=False,
    )
    assert [types.Verdict.Name(one.support) for one in judged.claims] == [
        "VERDICT_SUPPORTED", "VERDICT_NOT_CONFIRMED", "VERDICT_UNCITED",
    ]  # fmt: skip
    assert judged.citations[0].quote.strip() == "Visitors may not smoke."
    assert not model.seen
    for wrong in ([], [("", [1])], [("Visitors may not smoke.", [3])], [("x" * 9000, [1])]):
        with pytest.raises(InvalidArgument):
            await verify(stub, wrong)


PAIRS = [
    (f"The {who} went out of {place} on {day} May 2021.", f"{who.capitalize()} vacated {place} on {day} May 2021.")
    for who, place in (("crew", "the premises"), ("team", "the hall"), ("staff", "the office"), ("guards", "the yard"))
    for day in range(1, 6)
]


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
async def test_a_reader_that_errs_at_a_rate_raises_no_statement_against_the_rules(
    model: ModelServer, stub: GenerationServiceStub, rate: float
) -> None:
    """Of its errors those get through that no rule sees: here none, since each false statement differs in a fact."""
    rng = random.Random(3)

    def reads(body: dict[str, Any]) -> Sequence[Step]:
        asked = payload(body)
        items = []
        for one in asked["statements"]:
            passage = asked["passages"][one["passage"]]
            right = one["text"] in {statement for statement, _ in PAIRS}
            says = right if rng.random() >= rate else not right
            items.append((one["statement"], "supported" if says else "not_supported", passage if says else ""))
        return verdicts(*items)

    model.respond(reads)
    raised = {"true": 0, "false": 0}
    for statement, source in PAIRS:
        sources = [types.Source(number=1, text=source)]
        false = statement.replace("2021", "2022")
        response = await stub.VerifyStatements(
            pb.VerifyStatementsRequest(
                scope=SCOPE, sources=sources, locale="en", bounds=TextBounds(),
                statements=[pb.Statement(text=text, sources=[1]) for text in (statement, false)],
            )
        )  # fmt: skip
        for kind, claim in zip(raised, response.claims, strict=True):
            raised[kind] += claim.support == types.VERDICT_SUPPORTED
    assert raised["false"] == 0
    if rate == 0:
        assert raised["true"] == len(PAIRS)
