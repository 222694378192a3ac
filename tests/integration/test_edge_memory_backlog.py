"""Messages that are missing in memory are indexed later, without another question."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from dbos import DBOS
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, GetConversationRequest
from footnote.generation.v1.generation_service_pb2 import GenerateTitleRequest
from footnote.types.v1.answer_pb2 import FINISH_REASON_NO_RELEVANT_CONTENT
from footnote.types.v1.collection_pb2 import Collection
from footnote_database.failures import not_reached
from footnote_edge.app import build
from footnote_edge.conversations.messages import Messages
from footnote_edge.jobs import chores, memory_backlog
from footnote_kit import transient_errors
from footnote_kit.errors import FailedPrecondition, PermissionDenied, Unavailable
from footnote_kit.testing import serve_app
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.policy import Kind, Policy
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient

pytestmark = pytest.mark.full


@pytest.fixture
async def client(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeClient]:
    """A client of edge that repairs memory within a second."""
    monkeypatch.setenv("FOOTNOTE_EDGE_RECONCILE_SECONDS", "0.2")
    monkeypatch.setattr(memory_backlog, "SETTLED_SECONDS", 0.5)
    monkeypatch.setattr(memory_backlog, "AGAIN_SECONDS", 1.0)
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeClient(served.channel)


async def test_messages_whose_job_was_refused_are_remembered_later(client: EdgeClient, world: World) -> None:
    world.failures["IndexMessages"] = PermissionDenied("not just now")
    await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
    made = (await client.stub.CreateConversation(CreateConversationRequest(title="t"))).conversation
    await client.answer("tea ?", conversation_id=made.id)
    await world.until(lambda: bool(world.requests("IndexMessages")))
    del world.failures["IndexMessages"]
    async with asyncio.timeout(240):
        await world.until(lambda: len(world.messages) == 2)
    assert world.messages[0].text == "tea ?"


async def test_messages_are_embedded_again_by_a_new_default_embedder(
    client: EdgeClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "EMBEDDER_SECONDS", 0.0)

    def sent(conversation_id: str) -> int:
        return sum(is_about(one, conversation_id, "") for one in world.requests("IndexMessages"))

    await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
    first, second = [
        (await client.stub.CreateConversation(CreateConversationRequest(title=name))).conversation for name in "ab"
    ]
    async with asyncio.timeout(240):
        await client.answer("tea ?", conversation_id=first.id)
        await world.until(lambda: len(world.messages) == 2)
        for job in await DBOS.list_workflows_async(name="remember_messages"):
            await (await DBOS.retrieve_workflow_async(job.workflow_id)).get_result()
        before = sent(first.id)

        world.embedder = "another"
        await client.answer("tea again ?", conversation_id=second.id)
        await world.until(lambda: sent(first.id) > before)


async def test_an_answer_that_memory_never_holds_begins_no_job_again(client: EdgeClient, world: World) -> None:
    world.finish_reason = FINISH_REASON_NO_RELEVANT_CONTENT
    await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
    made = (await client.stub.CreateConversation(CreateConversationRequest(title="t"))).conversation
    await client.answer("tea ?", conversation_id=made.id)
    await world.until(lambda: bool(world.messages))
    await asyncio.sleep(2)
    jobs = len(await DBOS.list_workflows_async(name="remember_messages"))
    await asyncio.sleep(3)
    assert len(await DBOS.list_workflows_async(name="remember_messages")) == jobs


async def test_memory_goes_on_while_no_model_writes_titles(
    client: EdgeClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three conversations, and two places in the background."""
    monkeypatch.setattr(chores, "TITLE_SECONDS", 0.5)
    away = {transient_errors.WAITING: transient_errors.PROVIDER}
    world.failures["GenerateTitle"] = Unavailable("away", reason="PROVIDER_FAILED", metadata=away)
    await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
    for number in range(3):
        made = (await client.stub.CreateConversation(CreateConversationRequest())).conversation
        await client.answer(f"tea {number} ?", conversation_id=made.id)
    async with asyncio.timeout(60):
        await world.until(lambda: {"tea 0 ?", "tea 1 ?", "tea 2 ?"} <= {one.text for one in world.messages})
        title = ""
        while title != "tea 2 ?":
            last = await client.stub.GetConversation(GetConversationRequest(conversation_id=made.id))
            title = last.conversation.title
            await asyncio.sleep(0.1)


async def test_a_job_waits_for_edges_own_database(
    client: EdgeClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    times, mark = 0, Messages.mark_embedded

    async def away(self: Messages, ids: list[str], embedder: str) -> set[str]:
        nonlocal times
        times += 1
        if times <= 2:
            raise not_reached()
        return await mark(self, ids, embedder)

    monkeypatch.setattr(Messages, "mark_embedded", away)
    monkeypatch.setattr(memory_backlog, "SETTLED_SECONDS", 600)  # what is made up for later is not what is tried
    await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
    made = (await client.stub.CreateConversation(CreateConversationRequest(title="t"))).conversation
    await client.answer("tea ?", conversation_id=made.id)

    async with asyncio.timeout(240):
        await world.until(lambda: times == 3)
        [job] = await DBOS.list_workflows_async(name="remember_messages")
        await (await DBOS.retrieve_workflow_async(job.workflow_id)).get_result()
    assert {one.text for one in world.messages} >= {"tea ?"}


def is_about(request: Any, conversation_id: str, question: str) -> bool:
    if isinstance(request, GenerateTitleRequest):
        return request.first_message == question
    return {one.conversation_id for one in request.messages} == {conversation_id}


async def test_rules_about_collections_bind_memory_and_titles(client: EdgeClient, world: World) -> None:
    """A rule by collection is the operator's: it marks no conversation as local."""
    egress = Egress([Policy.model_validate({"rules": [{"collections": ["hr*"], "local_only": True}]})])
    away = {kind: Use(kind, "openai", "m", local=False) for kind in (Kind.EMBEDDING, Kind.MODEL)}

    def leaves(kind: Kind, request: Any) -> bool:
        try:
            egress.check(away[kind], request.scope, request.bounds)
        except FailedPrecondition:
            return False
        return True

    for name, text in (("hr-files", b"Leave is 30 days."), ("kb", b"Tea is brewed at 80 degrees.")):
        await client.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=name)))
        await client.put(text, f"{name}.txt", name)
    for question, collections, asked, free in (
        ("leave ?", ["hr-files"], {}, False),
        ("tea ?", ["kb"], {}, True),
        ("leave ?", [], {"collections": ["hr-files"]}, False),
        ("milk ?", [], {"collections": ["hr-files"]}, False),
        ("tea ?", [], {"collections": ["kb"]}, True),
        ("tea ?", [], {}, True),
        ("milk ?", [], {}, False),
    ):
        made = (await client.stub.CreateConversation(CreateConversationRequest(collections=collections))).conversation
        before = len(world.calls)
        answer = (await client.answer(question, conversation_id=made.id, **asked)).answer
        await world.until(lambda answer=answer: answer.id in {one.message_id for one in world.messages})
        for kind, name in ((Kind.EMBEDDING, "IndexMessages"), (Kind.MODEL, "GenerateTitle")):

            def sent(name: str = name, before: int = before, of: str = made.id, question: str = question) -> list[Any]:
                # A late call of the question before may be among them.
                calls = world.calls[before:]
                return [one for method, one in calls if method == name and is_about(one, of, question)]

            await world.until(lambda sent=sent: bool(sent()))
            assert {leaves(kind, one) for one in sent()} == {free}, (name, question, collections, asked)
