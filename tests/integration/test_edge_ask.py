"""Questions over the public API, with the stages' doubles behind it: what comes, in which order, and what fails how."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse, ReplayAnswerRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest, SearchMemoryRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.edge.v1.providers_pb2 import ListProvidersRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetTraceRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.reasons_pb2 import QUERY_STRATEGY_FIRST_MESSAGE
from footnote_edge.app import build
from footnote_edge.asking import memory_search, planning
from footnote_kit.degradations import word
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, InvalidArgument, NotFound, Unavailable
from footnote_kit.testing import serve_app
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles

DOWN = Unavailable("The service does not answer")


@pytest.fixture
async def edge(world: World) -> AsyncIterator[EdgeStub]:
    """A stub of edge that holds one document."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        stub = EdgeStub(served.channel)
        accepted = await stub.UploadDocument(upload(b"Tea is brewed at 80 degrees."))
        async for _ in stub.WatchDocument(WatchDocumentRequest(document_id=accepted.document.id), timeout=20):
            pass
        yield stub


def upload(text: bytes) -> Iterator[Any]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="tea.txt"))
    yield UploadDocumentRequest(data=text)


async def ask(edge: EdgeStub, question: str = "tea ?", **more: Any) -> list[AskResponse]:
    more.setdefault("include", EVERY_PART)
    return [event async for event in edge.Ask(AskRequest(question=question, **more), timeout=20)]


def reasons(completed: AskCompleted) -> list[str]:
    return [word(one) for one in completed.degradations]


async def test_events_come_in_order_and_completed_has_everything(edge: EdgeStub) -> None:
    events = await ask(edge)
    kinds = [event.WhichOneof("event") for event in events]
    stages = [(event.stage.stage, event.stage.finished) for event in events if event.HasField("stage")]
    assert stages == [
        (ans.PIPELINE_STAGE_RETRIEVAL, False), (ans.PIPELINE_STAGE_RETRIEVAL, True),
        (ans.PIPELINE_STAGE_AUGMENTATION, False), (ans.PIPELINE_STAGE_AUGMENTATION, True),
        (ans.PIPELINE_STAGE_GENERATION, False), (ans.PIPELINE_STAGE_GENERATION, True),
    ]  # fmt: skip
    assert kinds.index("sources") < kinds.index("text_delta") < kinds.index("citation")
    assert kinds[-1] == "completed"
    done = events[-1].completed
    assert done.answer.text == "Tea is brewed at 80 degrees. [1]"
    assert "".join(event.text_delta for event in events).strip() == done.answer.text
    assert [source.number for source in done.sources] == [1]
    assert done.manifest.query_strategy == QUERY_STRATEGY_FIRST_MESSAGE
    assert done.manifest.prompt_hash == "h"
    assert done.manifest.sources[0].chunk_id == done.sources[0].chunk_id
    assert len(done.trace_id) == 32
    assert done.time_to_first_token.ToNanoseconds() > 0
    assert not done.degradations
    assert {timing.stage for timing in done.timings} >= {
        ans.PIPELINE_STAGE_RETRIEVAL, ans.PIPELINE_STAGE_AUGMENTATION, ans.PIPELINE_STAGE_GENERATION
    }  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "field"),
    [({"question": ""}, "question"), ({"question": "  "}, "question"), ({"question": "x" * 8001}, "question")],
)
async def test_a_bad_question_is_refused(edge: EdgeStub, request_: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await ask(edge, **request_)
    assert [violation.field for violation in caught.value.violations] == [field]


async def test_an_unknown_collection_or_conversation_is_not_found(edge: EdgeStub) -> None:
    with pytest.raises(NotFound) as caught:
        await ask(edge, collections=["nowhere"])
    assert caught.value.reason == "COLLECTION_NOT_FOUND"
    with pytest.raises(NotFound) as caught:
        await ask(edge, conversation_id="nothing")
    assert caught.value.reason == "CONVERSATION_NOT_FOUND"


async def test_a_greeting_is_answered_without_a_search(edge: EdgeStub, world: World) -> None:
    done = (await ask(edge, "hello"))[-1].completed
    assert done.answer.finish_reason == ans.FINISH_REASON_ANSWERED_WITHOUT_SOURCES
    assert not world.requests("Retrieve")
    assert not done.degradations


async def test_without_retrieval_the_answer_comes_without_sources_and_says_so(edge: EdgeStub, world: World) -> None:
    world.failures["Retrieve"] = DOWN
    done = (await ask(edge))[-1].completed
    assert reasons(done) == ["RETRIEVAL_UNAVAILABLE"]
    assert done.answer.finish_reason == ans.FINISH_REASON_ANSWERED_WITHOUT_SOURCES
    assert not done.sources


@pytest.mark.parametrize(
    ("include", "claims", "citations"),
    [
        ([], 0, 0), ([answers.ANSWER_PART_CLAIMS], 1, 0), ([answers.ANSWER_PART_CITATIONS], 0, 1),
        ([answers.ANSWER_PART_CLAIMS, answers.ANSWER_PART_CITATIONS, answers.ANSWER_PART_SOURCES], 1, 1),
    ],
)  # fmt: skip
async def test_verdicts_that_a_second_reader_changes_are_events_and_are_what_is_stored(
    edge: EdgeStub, world: World, include: list[answers.AnswerPart.ValueType], claims: int, citations: int
) -> None:
    world.revises = True
    events = await ask(edge, include=include)
    revised = [event.claims_revised for event in events if event.HasField("claims_revised")]
    assert len(revised) == bool(claims or citations)
    for one in revised:
        assert (len(one.claims), len(one.citations)) == (claims, citations)
        assert all(item.HasField("quote_span") == (len(include) == 3) for item in one.citations)
    done = events[-1].completed
    assert done.answer.citations[0].support == ans.VERDICT_NOT_CONFIRMED
    kept = await edge.GetAnswer(
        answers.GetAnswerRequest(answer_id=done.answer.id, include=[answers.ANSWER_PART_CLAIMS])
    )
    assert [one.support for one in kept.answer.claims] == [ans.VERDICT_NOT_CONFIRMED]
    assert kept.answer.citations[0].support == ans.VERDICT_NOT_CONFIRMED


async def test_without_augmentation_a_minimal_prompt_keeps_sources_and_citations(edge: EdgeStub, world: World) -> None:
    world.failures["PlanQuery"] = world.failures["BuildPrompt"] = DOWN
    done = (await ask(edge))[-1].completed
    assert reasons(done) == ["PLAN_UNAVAILABLE", "AUGMENTATION_UNAVAILABLE"]
    assert done.manifest.template_version == "minimal/en/3"
    assert done.sources[0].label == "tea.txt"
    assert done.answer.citations[0].number == 1


async def test_without_augmentation_the_prompt_holds_what_the_collection_and_the_caller_ask(
    edge: EdgeStub, world: World
) -> None:
    world.failures["BuildPrompt"] = DOWN
    prompt = col.PromptSettings(system_prompt="Never name prices.")
    done = (await ask(edge, instructions="Answer in JSON only.", prompt=prompt))[-1].completed
    system = world.requests("Generate")[-1].prompt.messages[0].text
    assert system.startswith("Never name prices.\n\nAnswer in JSON only.\n\nAnswer the question from the numbered")
    assert done.manifest.prompt.system_prompt == "Never name prices."


async def test_without_memory_the_answer_says_so(edge: EdgeStub, world: World) -> None:
    world.failures["SearchMemory"] = DOWN
    done = (await ask(edge, use_memory=True))[-1].completed
    assert reasons(done) == ["MEMORY_UNAVAILABLE"]


@pytest.mark.parametrize("failure", [DOWN, DeadlineExceeded("too slow"), Internal("broken")])
async def test_memory_that_fails_is_empty_and_says_so(edge: EdgeStub, world: World, failure: FootnoteError) -> None:
    world.failures["SearchMemory"] = failure
    found = await edge.SearchMemory(SearchMemoryRequest(query="tea"))
    assert (found.context, list(found.source_messages), found.enabled) == ("", [], False)
    assert [word(one) for one in found.degradations] == ["MEMORY_UNAVAILABLE"]


async def test_without_indexing_the_deployments_settings_are_used(edge: EdgeStub, world: World) -> None:
    world.failures["GetCollection"] = DOWN
    done = (await ask(edge, collections=["default"]))[-1].completed
    assert reasons(done) == ["SETTINGS_UNAVAILABLE"]


async def test_a_stage_that_hangs_costs_its_share_of_the_deadline_only(edge: EdgeStub, world: World) -> None:
    world.gates["Retrieve"] = asyncio.Event()
    call = edge.Ask(AskRequest(question="tea ?"), timeout=6)
    events = [event async for event in call]
    assert reasons(events[-1].completed) == ["RETRIEVAL_UNAVAILABLE"]


async def test_a_callers_mistake_is_told_and_not_degraded(edge: EdgeStub, world: World) -> None:
    world.failures["Retrieve"] = InvalidArgument("Invalid 'where' filter: must be valid JSON", reason="INVALID_FILTER")
    with pytest.raises(InvalidArgument) as caught:
        await ask(edge, filter={"json": "{"})
    assert caught.value.reason == "INVALID_FILTER"


async def test_a_failing_generation_fails_the_call_after_the_partial_text(edge: EdgeStub, world: World) -> None:
    world.failures["Generate"] = Unavailable("the model died", reason="PROVIDER_FAILED")
    seen = []

    async def read() -> None:
        async for event in edge.Ask(AskRequest(question="tea ?"), timeout=20):
            seen.append(event)

    with pytest.raises(Unavailable) as caught:
        await read()
    assert caught.value.reason == "PROVIDER_FAILED"
    assert any(event.text_delta for event in seen)
    assert not any(event.HasField("completed") for event in seen)


async def test_a_callers_cancel_reaches_generation(edge: EdgeStub, world: World) -> None:
    world.gates["Generate"] = asyncio.Event()
    call = edge.Ask(AskRequest(question="tea ?"), timeout=20)
    async for event in call:
        if event.text_delta:
            break
    call.cancel()
    await world.until(lambda: bool(world.cancelled))
    assert world.cancelled == ["Generate"]


async def test_settings_of_the_request_come_before_the_collections(edge: EdgeStub, world: World) -> None:
    settings = col.CollectionSettings(
        generation=col.GenerationSettings(provider="p", model="m", max_tokens=5),
        prompt=col.PromptSettings(system_prompt="be kind", token_budget=500),
    )
    await edge.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="tuned", settings=settings)))
    await ask(edge, collections=["tuned"], generation=col.GenerationSettings(max_tokens=9))
    sent = world.requests("Generate")[0].settings
    assert (sent.provider, sent.model, sent.max_tokens) == ("p", "m", 9)
    assert world.requests("BuildPrompt")[0].prompt == settings.prompt
    await ask(edge, collections=["tuned"], generation=col.GenerationSettings(provider="other"))
    # Model and settings are the other provider's own; unrelated settings are inherited.
    assert world.requests("Generate")[-1].settings == col.GenerationSettings(provider="other", max_tokens=5)


async def test_health_names_every_part_and_what_is_wrong(edge: EdgeStub, world: World) -> None:
    health = await edge.GetHealth(GetHealthRequest())
    names = [part.name for part in health.components]
    assert names == ["ingestion", "indexing", "retrieval", "augmentation", "generation", "edge", "vector store"]
    assert health.healthy
    world.failures["CheckProvider"] = Unavailable("no store", reason="STORE_UNAVAILABLE")
    async with asyncio.timeout(240):  # it is looked at once a second, however often one asks
        while [part.error for part in health.components if not part.healthy] != ["no store"]:
            await asyncio.sleep(0.1)
            health = await edge.GetHealth(GetHealthRequest())


async def test_providers_of_all_stages_are_one_list(edge: EdgeStub) -> None:
    listed = await edge.ListProviders(ListProvidersRequest())
    assert [one.id for one in listed.providers] == ["builtin", "milvus", "mmr", "double"]


async def test_the_trace_of_an_answer_shows_its_stages(edge: EdgeStub) -> None:
    done = (await ask(edge))[-1].completed
    found = await edge.GetTrace(GetTraceRequest(trace_id=done.trace_id))
    assert {span.service for span in found.spans} >= {
        "footnote-edge", "footnote-retrieval", "footnote-augmentation", "footnote-generation"
    }  # fmt: skip
    with pytest.raises(FootnoteError) as caught:
        await edge.GetTrace(GetTraceRequest(trace_id="f" * 32))
    assert caught.value.reason == "TRACE_NOT_FOUND"


async def test_an_answer_is_made_again_and_says_what_differs(edge: EdgeStub, world: World) -> None:
    created = await edge.CreateConversation(CreateConversationRequest(collections=["default"]))
    conversation = created.conversation.id
    await ask(edge, "what about tea", conversation_id=conversation)
    second = (await ask(edge, "and it", conversation_id=conversation))[-1].completed
    again = await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=second.answer.id))
    assert again.identical, again.differences
    assert again.completed.answer.text == second.answer.text
    assert world.requests("Retrieve")[-1].query == "what about tea and it"
    sent = world.requests("BuildPrompt")
    assert [one.text for one in sent[-1].history] == [one.text for one in sent[-2].history]
    assert not again.completed.answer.id
    (chunks,) = world.chunks.values()
    chunks[0].text = "Tea is brewed at 90 degrees."
    changed = await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=second.answer.id))
    assert [(one.kind, one.source) for one in changed.differences] == [
        (answers.ANSWER_DIFFERENCE_KIND_SOURCE, 1),
        (answers.ANSWER_DIFFERENCE_KIND_TEXT, 0),
    ]
    listed = await edge.ListMessages(ListMessagesRequest(conversation_id=conversation))
    assert listed.total_size == 4
    with pytest.raises(NotFound) as caught:
        await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=listed.messages[0].id))
    assert caught.value.reason == "ANSWER_NOT_FOUND"


def heard(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[dict[str, Any]]:
    """Return what a module logs from now on, filled as it does."""
    entries: list[dict[str, Any]] = []

    def note(_: Any, __: str, entry: Any) -> str:
        entries.append(dict(entry))
        return ""

    everything = structlog.make_filtering_bound_logger(0)
    logger = structlog.wrap_logger(structlog.ReturnLogger(), processors=[note], wrapper_class=everything)
    monkeypatch.setattr(module, "_log", logger)
    return entries


async def test_the_plan_of_a_question_is_logged_once_by_its_label(
    edge: EdgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = heard(monkeypatch, planning)
    await ask(edge)
    (entry,) = [one for one in entries if one["event"] == "query_planned"]
    assert entry["strategy"] == "first message (raw query)"


@pytest.mark.parametrize(
    ("failure", "enabled", "event"),
    [(None, True, "rag_context_built"), (DOWN, True, "rag_search_failed"), (None, False, "rag_disabled")],
)
async def test_memory_is_one_event_a_question_with_all_its_figures(
    edge: EdgeStub,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    failure: FootnoteError | None,
    enabled: bool,
    event: str,
) -> None:
    entries = heard(monkeypatch, memory_search)
    if failure is not None:
        world.failures["SearchMemory"] = failure
    await edge.SearchMemory(SearchMemoryRequest(query="tea", enabled=enabled))
    (entry,) = [one for one in entries if one["event"].startswith("rag_")]
    assert entry["event"] == event
    assert entry["rag_enabled"] == (event == "rag_context_built")
    assert {
        "user_id", "conversation_id", "message_length", "similar_messages_found", "context_length", "context_tokens",
        "execution_time_ms",
    } <= entry.keys()  # fmt: skip


async def test_a_policy_may_allow_instructions_of_more_than_twenty_thousand_characters(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text("[limits]\nsystem_prompt = 50000\n")
    monkeypatch.setenv("FOOTNOTE_PROVIDER_POLICY_FILE", str(tmp_path / "policy.toml"))
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        stub = EdgeStub(served.channel)

        async def ask(characters: int) -> None:
            text = "x" * characters
            request = AskRequest(question="tea ?", prompt=col.PromptSettings(system_prompt=text), instructions=text)
            async for _ in stub.Ask(request, timeout=20):
                pass

        await ask(50_000)
        with pytest.raises(InvalidArgument, match="must have at most 50000 characters"):
            await ask(50_001)
