"""Nothing in the way ends a chat, what is asked for is honoured or refused by name, and what is deleted is gone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse, GetAnswerRequest, ReplayAnswerRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import ConversationMessage, CreateConversationRequest, ListMessagesRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1.collection_pb2 import Collection
from footnote_edge.app import build
from footnote_kit.degradations import word
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import (
    FailedPrecondition,
    Internal,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
)
from footnote_kit.testing import Served, serve_app
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

USER, ASSISTANT = ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT


@pytest.fixture
async def served(world: World) -> AsyncIterator[Served]:
    """Edge before the doubles of its stages."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        yield running


@pytest.fixture
async def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


@pytest.fixture
def base(served: Served) -> str:
    """The address of edge's HTTP door."""
    return f"http://{served.runtime.announced['http']}"


def upload(text: bytes, name: str, collection: str) -> Iterator[Any]:
    yield UploadDocumentRequest(metadata=UploadMetadata(collection=collection, filename=name))
    yield UploadDocumentRequest(data=text)


async def put(
    edge: EdgeStub, text: bytes = b"Tea is brewed at 80 degrees.", name: str = "tea.txt", collection: str = "default"
) -> str:
    document_id = str((await edge.UploadDocument(upload(text, name, collection))).document.id)
    async for _ in edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=20):
        pass
    return document_id


async def collection(edge: EdgeStub, name: str, **settings: Any) -> None:
    made = Collection(name=name, settings=settings)
    await edge.CreateCollection(CreateCollectionRequest(collection=made))


async def ask(edge: EdgeStub, question: str = "tea ?", **more: Any) -> list[AskResponse]:
    more.setdefault("include", EVERY_PART)
    return [event async for event in edge.Ask(AskRequest(question=question, **more), timeout=20)]


async def conversation(edge: EdgeStub, *collections: str) -> str:
    made = await edge.CreateConversation(CreateConversationRequest(collections=collections))
    return str(made.conversation.id)


async def messages(edge: EdgeStub, conversation_id: str) -> list[ConversationMessage]:
    return list((await edge.ListMessages(ListMessagesRequest(conversation_id=conversation_id))).messages)


def reasons(event: AskResponse) -> list[str]:
    return [word(one) for one in event.completed.degradations]


@pytest.mark.parametrize(
    "error",
    [
        FailedPrecondition("The reranker http needs an address", reason="PROVIDER_UNCONFIGURED"),
        InvalidArgument("There is no reranker 'gone'", reason="PROVIDER_INVALID"),
        PermissionDenied("The reranker is not allowed", reason="PROVIDER_NOT_ALLOWED"),
    ],
)
async def test_a_misconfigured_reranker_is_left_out(edge: EdgeStub, world: World, error: Any) -> None:
    await collection(edge, "kb", rerank={"provider": "http"})
    await put(edge, collection="kb")
    world.refused_rerankers["http"] = error
    done = (await ask(edge, collections=["kb"]))[-1]
    assert done.completed.answer.text.startswith("Tea is brewed")
    assert reasons(done) == ["RERANKER_FAILED"]
    assert error.message in done.completed.degradations[0].detail
    with pytest.raises(type(error)):  # naming it returns an error that says what is wrong
        await ask(edge, collections=["kb"], rerank={"provider": "http"})


async def test_a_conversation_outlives_its_collections(edge: EdgeStub, world: World) -> None:
    await collection(edge, "kb")
    await collection(edge, "other")
    await put(edge, collection="kb")
    await put(edge, b"Coffee is brewed at 92 degrees.", "coffee.txt", "other")
    both, one = await conversation(edge, "kb", "other"), await conversation(edge, "kb")
    for chat in (both, one):
        assert not reasons((await ask(edge, conversation_id=chat))[-1])
    world.collections.pop(next(id for id, made in world.collections.items() if made.name == "kb"))
    done = (await ask(edge, "coffee ?", conversation_id=both))[-1]
    assert done.completed.answer.text
    assert [world.collections[one].name for one in world.requests("Retrieve")[-1].collections] == ["other"]
    assert reasons(done) == ["COLLECTION_GONE"]
    done = (await ask(edge, "tea ?", conversation_id=one))[-1]
    assert reasons(done) == ["COLLECTION_GONE"]
    assert not done.completed.sources, "what the caller can see besides was never asked about"
    built, generated = world.requests("BuildPrompt")[-1], world.requests("Generate")[-1]
    for request in (built, generated):  # nothing is found there, now and later
        assert not request.documents_unavailable
        assert not request.without_sources


async def test_what_was_said_before_a_stream_broke_is_kept_and_marked(edge: EdgeStub, world: World) -> None:
    await put(edge)
    chat = await conversation(edge)
    world.breaks_after = 3
    seen: list[AskResponse] = []
    with pytest.raises(Unavailable):  # noqa: PT012 - what came before the error counts too
        async for event in edge.Ask(AskRequest(question="tea ?", conversation_id=chat), timeout=20):
            seen.append(event)
    said = "".join(event.text_delta for event in seen)
    kept = await messages(edge, chat)
    assert [message.role for message in kept] == [USER, ASSISTANT]
    assert kept[1].text == said.strip()
    assert kept[1].answer.finish_reason == ans.FINISH_REASON_INTERRUPTED
    assert [word(one) for one in kept[1].degradations] == ["ANSWER_CUT"]
    world.breaks_after = 0
    assert (await ask(edge, "and now ?", conversation_id=chat))[-1].completed.answer.text


async def test_a_question_repeated_under_its_id_takes_the_place_of_what_broke_off(edge: EdgeStub, world: World) -> None:
    await put(edge)
    chat = await conversation(edge)
    world.breaks_after = 3
    with pytest.raises(Unavailable):
        await ask(edge, conversation_id=chat, request_id="once")
    world.breaks_after = 0
    done = (await ask(edge, conversation_id=chat, request_id="once"))[-1].completed
    kept = await messages(edge, chat)
    assert [message.text for message in kept] == ["tea ?", done.answer.text]


async def test_two_questions_at_once_keep_their_order(edge: EdgeStub, world: World) -> None:
    await put(edge)
    chat = await conversation(edge)
    world.gates["Generate"] = slow = asyncio.Event()
    first = asyncio.ensure_future(ask(edge, "tea first ?", conversation_id=chat))
    await world.until(lambda: len(world.requests("Generate")) == 1)
    del world.gates["Generate"]
    await ask(edge, "tea second ?", conversation_id=chat)
    slow.set()
    await first
    kept = await messages(edge, chat)
    assert [message.text for message in kept if message.role == USER] == ["tea first ?", "tea second ?"]
    assert [message.question_id or message.id for message in kept] == [
        kept[0].id, kept[0].id, kept[2].id, kept[2].id
    ]  # fmt: skip
    sent = await ask(edge, "and then ?", conversation_id=chat)
    assert sent[-1].completed.answer.text
    history = world.requests("BuildPrompt")[-1].history
    assert [one.role for one in history] == [USER, ASSISTANT, USER, ASSISTANT]


async def test_an_outage_is_said_in_the_prompt(edge: EdgeStub, world: World) -> None:
    await put(edge)
    world.failures["Retrieve"] = Unavailable("down")
    await ask(edge)
    built = world.requests("BuildPrompt")[-1]
    assert built.documents_unavailable
    world.failures.clear()
    await ask(edge)
    assert not world.requests("BuildPrompt")[-1].documents_unavailable


@pytest.mark.parametrize("down", [["Retrieve"], []])
async def test_without_its_stage_the_prompt_still_answers_nothing_from_memory(
    edge: EdgeStub, world: World, down: list[str]
) -> None:
    """Where documents cannot be looked at, and where none fit."""
    world.failures |= {name: Unavailable("down") for name in (*down, "BuildPrompt")}
    await ask(edge, "nothing fits this ?")
    prompt = world.requests("Generate")[-1].prompt
    assert "from memory" in prompt.messages[0].text


@pytest.mark.parametrize(
    ("path", "body", "accept"),
    [
        ("/v1/chat/completions", {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}]}, "*/*"),
        (
            "/v1/chat/completions",
            {"model": "footnote", "stream": True, "messages": [{"role": "user", "content": "tea ?"}]},
            "*/*",
        ),
        ("/v1/ask", {"question": "tea ?"}, "application/json"),
        ("/v1/ask", {"question": "tea ?"}, "text/event-stream"),
        (
            "/mcp",
            {
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "ask", "arguments": {"question": "tea ?"}},
            },
            "application/json, text/event-stream",
        ),
    ],
)  # fmt: skip
async def test_a_client_that_leaves_stops_the_model_at_every_door(
    edge: EdgeStub, base: str, world: World, path: str, body: dict[str, Any], accept: str
) -> None:
    await put(edge)
    world.gates["Generate"] = asyncio.Event()
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        leaving = asyncio.ensure_future(http.post(path, json=body, headers={"accept": accept}))
        await world.until(lambda: bool(world.requests("Generate")))
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        async with asyncio.timeout(240):
            await world.until(lambda: world.cancelled == ["Generate"])


async def test_a_clients_system_message_stands_beside_the_collections_instructions(
    edge: EdgeStub, base: str, world: World
) -> None:
    await collection(edge, "kb", prompt={"system_prompt": "Never name prices."})
    await put(edge, collection="kb")
    client = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
    spoken: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "tea ?"}]
    answer = await client.chat.completions.create(model="kb", messages=spoken)
    await client.close()
    built = world.requests("BuildPrompt")[-1]
    assert (built.prompt.system_prompt, built.instructions) == ("Never name prices.", "Be brief.")
    answer_id = answer.model_extra["footnote"]["answer_id"]  # type: ignore[index]
    await edge.ReplayAnswer(ReplayAnswerRequest(answer_id=answer_id))
    assert world.requests("BuildPrompt")[-1].instructions == "Be brief."


async def test_an_upstreams_429_stays_one_at_every_door(edge: EdgeStub, base: str, world: World) -> None:
    await put(edge)
    world.failures["Generate"] = ResourceExhausted("The model is busy", reason="PROVIDER_FAILED", retry_after=7.0)
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        spoken = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}]}
        chat = await http.post("/v1/chat/completions", json=spoken)
        whole = await http.post("/v1/ask", json={"question": "tea ?"}, headers={"accept": "application/json"})
    for answer in (chat, whole):
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")


REFUSED = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "functions": [{"name": "f"}],
    "tool_choice": "required",
    "response_format": {"type": "json_object"},
    "logprobs": True,
    "top_logprobs": 2,
    "logit_bias": {"50256": -100},
    "n": 2,
    "modalities": ["audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "prediction": {"type": "content", "content": "x"},
    "reasoning_effort": "high",
    "verbosity": "low",
    "web_search_options": {},
    "no_such_thing": 1,
}
HARMLESS: dict[str, Any] = {
    "tools": [],
    "tool_choice": "none",
    "response_format": {"type": "text"},
    "n": 1,
    "logprobs": False,
    "logit_bias": {},
    "modalities": ["text"],
    "user": "ann",
    "store": False,
    "metadata": {},
    "service_tier": "auto",
    "parallel_tool_calls": True,
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_honoured_is_refused_by_its_name(base: str, world: World, name: str) -> None:
    body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}], name: REFUSED[name]}
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        answer = await http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert name in answer.json()["error"]["message"]
    assert not world.requests("Generate")


async def test_what_changes_nothing_is_let_through(base: str, world: World) -> None:
    body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}], **HARMLESS}
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def test_sampling_reaches_the_model(base: str, world: World) -> None:
    wanted = {"top_p": 0.4, "frequency_penalty": -1.5, "presence_penalty": 1.0}
    body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}], **wanted}
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
    settings = world.requests("Generate")[-1].settings
    assert {name: getattr(settings, name) for name in wanted} == wanted


async def test_a_deleted_documents_text_is_forgotten_in_messages_and_memory(edge: EdgeStub, world: World) -> None:
    gone, stays = await put(edge), await put(edge, b"Coffee is brewed at 92 degrees.", "coffee.txt")
    assert stays
    chat = await conversation(edge)
    tea = (await ask(edge, "tea ?", conversation_id=chat))[-1].completed
    alone = (await ask(edge, "tea ?"))[-1].completed
    other = await conversation(edge)
    coffee = (await ask(edge, "coffee ?", conversation_id=other))[-1].completed
    await world.until(lambda: {tea.answer.id, coffee.answer.id} <= {one.message_id for one in world.messages})
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=gone))
    await world.until(lambda: tea.answer.id not in {one.message_id for one in world.messages})
    kept = {message.id: message for message in await messages(edge, chat)}
    assert "80 degrees" not in str(kept[tea.answer.id])
    assert word(kept[tea.answer.id].degradations[-1]) == "DOCUMENT_DELETED"
    assert (await messages(edge, other))[1].text == coffee.answer.text
    by_itself = await edge.GetAnswer(GetAnswerRequest(answer_id=alone.answer.id, include=[ans_part_sources()]))
    assert "80 degrees" not in str(by_itself)
    await ask(edge, "and now ?", conversation_id=chat)
    assert "80 degrees" not in str(world.requests("BuildPrompt")[-1])


def ans_part_sources() -> Any:
    from footnote.edge.v1 import answers_pb2

    return answers_pb2.ANSWER_PART_SOURCES


async def test_refusals_and_broken_answers_are_not_remembered(edge: EdgeStub, world: World) -> None:
    await put(edge)
    chat = await conversation(edge)
    world.finish_reason = ans.FINISH_REASON_NO_RELEVANT_CONTENT
    refused = (await ask(edge, "tea ?", conversation_id=chat))[-1].completed
    world.finish_reason = 0
    answered = (await ask(edge, "tea then ?", conversation_id=chat))[-1].completed
    await world.until(lambda: answered.answer.id in {one.message_id for one in world.messages})
    assert refused.answer.id not in {one.message_id for one in world.messages}


async def test_a_title_is_made_by_the_collections_model(edge: EdgeStub, world: World) -> None:
    await collection(edge, "kb", generation={"provider": "openai", "model": "gpt-5-mini"})
    await put(edge, collection="kb")
    await ask(edge, conversation_id=await conversation(edge, "kb"))
    await world.until(lambda: bool(world.requests("GenerateTitle")))
    settings = world.requests("GenerateTitle")[-1].settings
    assert (settings.provider, settings.model) == ("openai", "gpt-5-mini")


HISTORY = [
    {"role": USER, "text": "What does the Vela cost?"},
    {"role": ASSISTANT, "text": "The Vela costs 649 euros."},
]
FULL = "Are the Vela's armrests adjustable?"


@pytest.mark.parametrize("door", ["conversation", "history", "openai"])
async def test_a_rewritten_follow_up_reaches_search_reranker_prompt_and_answerer(
    edge: EdgeStub, base: str, world: World, door: str
) -> None:
    await put(edge)
    chat = await conversation(edge)
    if door == "conversation":
        await ask(edge, HISTORY[0]["text"], conversation_id=chat)
    world.rewritten = FULL
    if door == "openai":
        client = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
        roles = {USER: "user", ASSISTANT: "assistant"}
        spoken: list[Any] = [{"role": roles[one["role"]], "content": one["text"]} for one in HISTORY]
        spoken.append({"role": "user", "content": "Are its armrests adjustable?"})
        await client.chat.completions.create(model="footnote", messages=spoken)
        await client.close()
    else:
        more: dict[str, Any] = {"conversation_id": chat} if door == "conversation" else {"history": HISTORY}
        done = (await ask(edge, "Are its armrests adjustable?", **more))[-1].completed
        assert done.answer.usage.prompt_tokens >= 11
    assert world.requests("RewriteQuestion")[-1].question == "Are its armrests adjustable?"
    assert world.requests("Retrieve")[-1].query == FULL
    assert world.requests("BuildPrompt")[-1].question == FULL
    assert world.requests("Generate")[-1].question == FULL


async def test_a_rewriting_that_fails_is_degraded_and_reported(edge: EdgeStub, world: World) -> None:
    await put(edge)
    world.failures["RewriteQuestion"] = Unavailable("The model failed", reason="PROVIDER_FAILED")
    done = (await ask(edge, "tea ?", history=HISTORY))[-1]
    assert reasons(done) == ["REWRITE_UNAVAILABLE"]


async def test_a_complete_follow_up_is_not_rewritten(edge: EdgeStub, world: World) -> None:
    await put(edge)
    world.complete, world.rewritten = True, FULL
    await ask(edge, "What does the Lyra cost?", history=HISTORY)
    assert not world.requests("RewriteQuestion")


async def test_a_follow_up_is_searched_by_rules_beside_its_rewriting_and_again_only_if_that_differs(
    edge: EdgeStub, world: World
) -> None:
    await put(edge)
    gate = world.gates["RewriteQuestion"] = asyncio.Event()
    world.rewritten = FULL
    asked = asyncio.ensure_future(ask(edge, "Are its armrests adjustable?", history=HISTORY))
    await world.until(lambda: bool(world.requests("Retrieve")))
    assert world.requests("Retrieve")[-1].query != FULL
    gate.set()
    await asked
    assert [one.query for one in world.requests("Retrieve")][1:] == [FULL]
    assert [one.query for one in world.requests("SearchMemory")] in ([], [FULL])
    world.calls.clear()
    world.rewritten = "Are its armrests adjustable?"
    await ask(edge, "Are its armrests adjustable?", history=HISTORY)
    assert len(world.requests("Retrieve")) == 1


async def test_the_first_searchs_passages_stay_if_the_second_search_fails(edge: EdgeStub, world: World) -> None:
    await put(edge)
    gate = world.gates["RewriteQuestion"] = asyncio.Event()
    world.rewritten = FULL
    asked = asyncio.ensure_future(ask(edge, "And tea ?", history=HISTORY))
    await world.until(lambda: bool(world.requests("Retrieve")))
    first = world.requests("Retrieve")[0].query
    world.failures["Retrieve"] = Unavailable("away")
    gate.set()
    done = (await asked)[-1]
    assert {one.query for one in world.requests("Retrieve")[1:]} == {FULL}
    assert done.completed.sources
    assert done.completed.manifest.query == first
    assert reasons(done) == ["RETRIEVAL_UNAVAILABLE"]
    assert "rules" in done.completed.degradations[0].effect


async def test_an_answer_whose_second_search_worked_is_not_said_to_have_no_sources(
    edge: EdgeStub, world: World
) -> None:
    await put(edge)
    gate = world.gates["RewriteQuestion"] = asyncio.Event()
    world.rewritten, world.failures["Retrieve"] = "What of tea ?", Internal("broken")
    asked = asyncio.ensure_future(ask(edge, "And tea ?", history=HISTORY))
    await world.until(lambda: bool(world.requests("Retrieve")))
    await asyncio.sleep(0.2)
    del world.failures["Retrieve"]
    gate.set()
    done = (await asked)[-1]
    assert world.requests("Retrieve")[-1].query == "What of tea ?"
    assert done.completed.sources
    assert reasons(done) == []


async def test_a_rewriting_that_stalls_is_not_waited_for(edge: EdgeStub, world: World) -> None:
    await put(edge)
    world.gates["RewriteQuestion"] = asyncio.Event()
    world.rewritten = FULL
    done = (await ask(edge, "Are its armrests adjustable?", history=HISTORY))[-1]
    assert not reasons(done)
    assert len(world.requests("Retrieve")) == 1
    assert world.requests("Generate")[-1].question == "Are its armrests adjustable?"
    await world.until(lambda: "RewriteQuestion" in world.cancelled)


async def test_a_rewriting_given_up_while_settings_are_looked_up_leaves_them_to_the_answer(
    edge: EdgeStub, world: World
) -> None:
    """All parts of a question wait for one lookup; the rewriting's end cancelled it, and the call never ended."""
    await put(edge)
    gate = world.gates["ResolveCollections"] = asyncio.Event()
    asked = asyncio.ensure_future(ask(edge, "Are its armrests adjustable?", history=HISTORY))
    await world.until(lambda: bool(world.requests("Retrieve")))
    await asyncio.sleep(1.2)  # longer than a rewriting is waited for
    gate.set()
    done = (await asyncio.wait_for(asked, 10))[-1]
    assert not reasons(done)
    assert world.requests("Generate")[-1].question == "Are its armrests adjustable?"
    assert not world.requests("RewriteQuestion")


async def test_a_first_question_is_not_rewritten(edge: EdgeStub, world: World) -> None:
    await put(edge)
    await ask(edge, "tea ?")
    assert not world.requests("RewriteQuestion")


async def test_a_models_window_bounds_the_prompt(edge: EdgeStub, world: World) -> None:
    await put(edge)
    world.window = 4096
    await ask(edge)
    built = world.requests("BuildPrompt")[-1]
    assert (built.context_window, built.answer_tokens) == (4096, 1024)
