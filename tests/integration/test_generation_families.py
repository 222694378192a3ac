"""Models of every family answer, under the rules of their services, known by their names or learned from refusals."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.generation.v1 import generation_service_pb2 as pb
from footnote.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from footnote.stages.v1 import prompt_pb2
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_generation.app import build
from footnote_kit.degradations import word
from footnote_kit.epochs import received
from footnote_kit.errors import DeadlineExceeded, ResourceExhausted
from footnote_kit.testing import SCOPE, serve_app
from support.doubles.model_chat import Fail, Finish, ModelServer, Say, Think, serve_model
from support.doubles.model_families import FAMILIES, THOUGHT, WINDOW, Families, tokens

pytestmark = pytest.mark.full

WORDS = "Employees receive 25 days of paid leave per year [1]."
SOURCE = types.Source(
    number=1,
    chunk_id="c",
    document_id="d",
    filename="handbook.md",
    text="Employees receive 25 days of paid leave per year.",
)
ANSWERED = types.FINISH_REASON_ANSWERED


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """A scripted chat model on loopback."""
    async with serve_model() as server:
        yield server


@pytest.fixture
def families(model: ModelServer) -> Families:
    """The model answers under the rules of each family of services."""
    made = Families(WORDS)
    model.respond(made)
    return made


@pytest.fixture(params=[{}])
async def stub(
    model: ModelServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[GenerationServiceStub]:
    """A stub of generation that asks the model."""
    monkeypatch.setenv("FOOTNOTE_GENERATION_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-test-key-of-no-value")
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    async with serve_app(build) as served:
        yield GenerationServiceStub(served.channel)


def asked(model: str, system: str = "Answer from the sources.", **settings: object) -> pb.GenerateRequest:
    messages = [
        types.ChatMessage(role=types.MESSAGE_ROLE_SYSTEM, text=system),
        types.ChatMessage(role=types.MESSAGE_ROLE_USER, text="How many days of leave?"),
    ]
    return pb.GenerateRequest(
        scope=SCOPE,
        question="How many days of leave?",
        sources=[SOURCE],
        locale="en",
        prompt=prompt_pb2.Prompt(messages=messages),
        settings=GenerationSettings(model=model, **{"second_opinion": False, **settings}),  # type: ignore[arg-type]
    )


async def collect(stub: GenerationServiceStub, wanted: pb.GenerateRequest) -> types.Answer:
    events = [event async for event in stub.Generate(wanted)]
    answer = events[-1].completed.answer
    assert "".join(event.text_delta for event in events) == answer.text
    return answer


@pytest.mark.parametrize("name", FAMILIES)
async def test_every_family_answers_without_a_refusal(
    stub: GenerationServiceStub, families: Families, name: str
) -> None:
    """A model that is known by its name is asked in its dialect at once."""
    answer = await collect(stub, asked(name, stop={"values": ["END"]}, seed=5))
    assert (answer.text, answer.finish_reason) == (WORDS, ANSWERED)
    assert families.refusals == []


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_model_of_no_known_name_is_learned_from_its_refusals_once(
    stub: GenerationServiceStub, families: Families, name: str
) -> None:
    """As behind a proxy that gives models names of its own; strictest where everything is asked for."""
    alias = f"house-as:{name}"
    first = await collect(stub, asked(alias, stop={"values": ["END"]}, seed=5, max_tokens=2000))
    assert (first.text, first.finish_reason) == (WORDS, ANSWERED)
    met = len(families.refusals)
    for _ in range(3):
        assert (await collect(stub, asked(alias, stop={"values": ["END"]}, seed=5, max_tokens=2000))).text == WORDS
    assert len(families.refusals) == met, "what a refusal taught was forgotten"


async def test_what_one_model_refuses_is_still_sent_to_another(
    model: ModelServer, stub: GenerationServiceStub, families: Families
) -> None:
    await collect(stub, asked("house-as:gpt-5-mini"))
    await collect(stub, asked("llama3.2", temperature=0.4, max_tokens=50))
    assert (model.seen[-1].body["temperature"], model.seen[-1].body["max_tokens"]) == (pytest.approx(0.4), 50)


async def test_a_refusal_that_names_no_parameter_is_told(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Fail(400, message="Your organization must be verified.")])
    with pytest.raises(Exception, match="must be verified"):
        await collect(stub, asked("gpt-4o-mini"))
    assert len(model.seen) == 1


@pytest.mark.parametrize("opened", ["<think>", "  \n<think>"])
@pytest.mark.parametrize("cut", range(1, 20))
async def test_thinking_between_marks_is_neither_shown_nor_checked(
    model: ModelServer, stub: GenerationServiceStub, opened: str, cut: int
) -> None:
    text = f"{opened}{THOUGHT}</think>\n\n{WORDS}"
    ends = text.index("</think>") + cut
    model.script([Say([text[:cut], text[cut:ends], text[ends:]]), Finish()])
    answer = await collect(stub, asked("llama3.2"))
    assert answer.text == WORDS
    assert [claim.support for claim in answer.claims] == [types.VERDICT_SUPPORTED]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_beside_the_words_is_neither_shown_nor_checked(
    model: ModelServer, stub: GenerationServiceStub, field: str
) -> None:
    model.script([Think([THOUGHT, THOUGHT], field=field), Say([WORDS]), Finish()])
    answer = await collect(stub, asked("llama3.2"))
    assert answer.text == WORDS


async def test_words_about_the_marks_stay(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Say(["Write `<think>` to begin. ", "Then `</think>`."]), Finish()])
    assert "`<think>`" in (await collect(stub, asked("llama3.2"))).text


@pytest.mark.parametrize("stub", [{"FOOTNOTE_GENERATION_FIRST_TOKEN_TIMEOUT": "3"}], indirect=True)
async def test_a_model_that_thinks_is_waited_for(model: ModelServer, stub: GenerationServiceStub) -> None:
    """Each thought shows that the model is at work; only silence is too long."""
    model.script([Think(["hm "] * 5, pause=1.0), Say([WORDS]), Finish()])
    events = [event async for event in stub.Generate(asked("llama3.2"))]
    assert events[-1].completed.answer.text == WORDS
    assert events[-1].completed.time_to_first_token.ToTimedelta().total_seconds() > 4, "a thought is not a word"
    model.script([Think(["hm "], pause=5.0), Say([WORDS]), Finish()])
    with pytest.raises(DeadlineExceeded, match="first token"):
        await collect(stub, asked("llama3.2"))


@pytest.mark.parametrize(
    "stub", [{"FOOTNOTE_OPENAI_EXTRA": '{"top_k": 40, "seed": null, "reasoning_effort": "high"}'}], indirect=True
)
async def test_a_provider_is_sent_what_its_operator_adds(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Say([WORDS]), Finish()])
    await collect(stub, asked("llama3.2", seed=5))
    body = model.seen[-1].body
    assert (body["top_k"], body["reasoning_effort"]) == (40, "high")
    assert "seed" not in body


@pytest.mark.parametrize("extra", ['{"messages": []}', '{"stream": false}', "[]", '{"model": "x"}'])
async def test_what_would_change_the_question_is_refused_at_the_start(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from footnote_kit.errors import FailedPrecondition
    from footnote_providers.endpoints import endpoint

    monkeypatch.setenv("FOOTNOTE_OPENAI_EXTRA", extra)
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_OPENAI_EXTRA"):
        endpoint("openai")


async def test_a_reasoning_model_is_asked_for_little_thought_and_given_room_for_it(
    model: ModelServer, stub: GenerationServiceStub, families: Families
) -> None:
    answer = await collect(stub, asked("gpt-5-mini", max_tokens=40))
    assert answer.text == WORDS
    body = model.seen[-1].body
    assert body["reasoning_effort"] == "low"
    assert body["max_completion_tokens"] > 640


async def test_an_answer_is_bounded_by_what_the_window_leaves(
    model: ModelServer, stub: GenerationServiceStub, families: Families
) -> None:
    """The prompt fills most of the window: the answer gets the rest instead of a refusal."""
    answer = await collect(stub, asked("qwen3-8b", system="Answer from the sources. " * 620, max_tokens=1500))
    assert answer.text == WORDS
    assert tokens(model.seen[-1].body) + model.seen[-1].body["max_tokens"] <= WINDOW


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([Finish()], types.FINISH_REASON_REFUSED),
        ([Say(["  \n"]), Finish()], types.FINISH_REASON_REFUSED),
        ([Think([THOUGHT]), Finish("length")], types.FINISH_REASON_MAX_TOKENS),
        ([Say(["<think>", THOUGHT]), Finish("length")], types.FINISH_REASON_MAX_TOKENS),
    ],
)
async def test_an_empty_answer_is_told_as_one(
    model: ModelServer, stub: GenerationServiceStub, script: list[Any], reason: int
) -> None:
    model.script(script)
    events = [event async for event in stub.Generate(asked("llama3.2"))]
    done = events[-1].completed
    assert done.answer.text == "The model gave no answer. Please ask again, or in other words."
    assert "".join(event.text_delta for event in events).strip() == done.answer.text
    assert (done.answer.finish_reason, len(done.answer.claims)) == (reason, 0)
    assert [word(one) for one in done.degradations] == ["EMPTY_ANSWER"]


@pytest.mark.parametrize("stub", [{"FOOTNOTE_GENERATION_ATTEMPTS": "1"}], indirect=True)
async def test_a_429_stays_one_with_its_pause(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Fail(429, {"Retry-After": "7"})])
    with pytest.raises(ResourceExhausted) as caught:
        await collect(stub, asked("llama3.2"))
    assert (caught.value.reason, caught.value.retry_after) == ("PROVIDER_FAILED", 7.0)


def follow_up(model: str = "llama3.2", provider: str = "openai") -> pb.RewriteQuestionRequest:
    said = [(types.MESSAGE_ROLE_USER, "What does the Vela cost?"), (types.MESSAGE_ROLE_ASSISTANT, "649 euros [1].")]
    return pb.RewriteQuestionRequest(
        scope=SCOPE,
        question="Are its armrests adjustable?",
        history=[types.ChatMessage(role=role, text=text) for role, text in said],
        settings=GenerationSettings(provider=provider, model="" if provider == "builtin" else model),
    )


async def test_a_follow_up_is_put_in_full_by_the_model(model: ModelServer, stub: GenerationServiceStub) -> None:
    model.script([Say(["<think>Its is the Vela's.</think>\"Are the Vela's armrests", ' adjustable?"']), Finish()])
    told = await stub.RewriteQuestion(follow_up())
    assert told.question == "Are the Vela's armrests adjustable?"
    assert told.usage.prompt_tokens == 100
    sent = model.seen[-1].body["messages"][-1]["content"]
    assert "What does the Vela cost?" in sent
    assert "Are its armrests adjustable?" in sent
    assert not (await stub.RewriteQuestion(follow_up(provider="builtin"))).question


@pytest.mark.parametrize("said", ["", "x" * 1001, "<b></b>"])
async def test_what_is_no_question_is_not_taken_for_one(
    model: ModelServer, stub: GenerationServiceStub, said: str
) -> None:
    model.script([Say([said]), Finish()])
    assert not (await stub.RewriteQuestion(follow_up())).question


async def test_the_window_of_a_model_is_told(stub: GenerationServiceStub) -> None:
    for name, window, answer in (("gpt-4o", 128_000, 1024), ("o3", 200_000, 1024 + 2048), ("nobody-knows", 0, 1024)):
        request = pb.ResolveSettingsRequest(scope=SCOPE, generation=GenerationSettings(model=name))
        told, epochs = await received(stub.ResolveSettings(request))
        assert epochs.epoch
        assert (told.context_window, told.answer_tokens) == (window, answer)


async def test_what_is_asked_for_and_not_taken_is_told(stub: GenerationServiceStub, families: Families) -> None:
    answer = await collect(stub, asked("o4-mini", top_p=0.5, seed=4))
    assert list(answer.warnings) == ["The model takes no top_p; it was left out."]
    warm = await collect(stub, asked("o4-mini", temperature=0.9))
    assert list(warm.warnings) == ["The model takes no temperature; it was left out."]
