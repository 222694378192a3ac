"""Messages and uploads are in no log at any level, and deleted content leaves every file."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, DeleteConversationRequest
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest
from footnote.types.v1.collection_pb2 import Collection, GenerationSettings
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FootnoteError
from support.deployment import Deployment
from support.doubles.model_chat import Fail, Finish, Say, Step, serve_model
from support.edge_client import EdgeClient, edge_client
from support.operations import ended

pytestmark = [pytest.mark.full, pytest.mark.slow]

KEY = "sk-quokkakey0123456789abcdef"
CANARIES = {
    "text": "Quokkatext",
    "name": "Quokkaname",
    "heading": "Quokkaheading",
    "metadata": "Quokkametadata",
    "tag": "Quokkatag",
    "question": "Quokkaquestion",
    "follow-up": "Quokkafollowup",
    "answer": "Quokkaanswer",
    "filter": "Quokkafilter",
    "field": "Quokkafield",
    "file asked for": "Quokkafile",
    "system prompt": "Quokkasystem",
    "broken": "Quokkabroken",
    "key": KEY,
}
AUDITED = "Quokkacollection"
"""A name that the audit log keeps for as long as it is told to, and no other log."""
# Within twice the time between two looks at the logs, and what a busy machine adds.
GONE_AFTER = 90.0


def traces(folder: Path, *leave: str) -> dict[str, list[str]]:
    """Return which files below a folder hold which canaries, as text or in base64, at whatever offset."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.startswith(leave):
            continue
        try:
            held = path.read_bytes().lower()
        except FileNotFoundError:
            continue  # deleted in between
        for what, canary in CANARIES.items():
            forms = [canary.lower().encode()]
            for shift in range(3):
                forms.append(base64.b64encode(b" " * shift + canary.encode())[4 if shift else 0 : -4].lower())
            if any(form in held for form in forms):
                found.setdefault(name, []).append(what)
    return found


async def use(edge: EdgeClient) -> tuple[list[str], list[str]]:
    """Upload, ask, search, fail; return the ids of the documents and the conversations."""
    settings = Collection(name="secrets")
    settings.settings.prompt.system_prompt = "Be kind. Quokkasystem."
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=settings))
    text = b"# Quokkaheading\n\nThe Quokkatext stock of product 12 is 150 units.\n" * 20
    more: dict[str, Any] = {"metadata": {"k": "Quokkametadata"}, "tags": ["Quokkatag"]}
    first = await edge.put(text, "Quokkaname.md", "secrets", **more)
    second = await edge.put(b"The other Quokkatext stock is 99 units.", "other Quokkaname.txt", "secrets", **more)
    assert first.state == second.state == DOCUMENT_STATE_INDEXED
    with pytest.raises(FootnoteError):
        await edge.put(b"%PDF-1.7\nQuokkabroken", "Quokkabroken.pdf", "secrets")
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=["secrets"]))
    conversation = made.conversation.id
    by_model = {"generation": GenerationSettings(provider="openai", model="m")}
    builtin = {"generation": GenerationSettings(provider="builtin")}
    await edge.answer("How high is the Quokkaquestion stock of product 12?", conversation_id=conversation, **builtin)
    said = await edge.answer("And the Quokkafollowup?", conversation_id=conversation, **by_model)
    assert "Quokkaanswer" in said.answer.text
    with pytest.raises(FootnoteError):
        await edge.answer("Quokkaquestion fails?", conversation_id=conversation, **by_model)
    await edge.answer("What does Quokkafile.pdf say of Quokkaquestion?", conversation_id=conversation, **builtin)
    await edge.answer("Quokkaquestion?", conversation_id=conversation, filter={"json": '{"quokkafield": 1}'}, **builtin)
    with pytest.raises(FootnoteError):
        await edge.stub.DeleteCollection(DeleteCollectionRequest(collection=AUDITED))
    await edge.stub.Search(SearchRequest(query="Quokkaquestion stock", collections=["secrets"]))
    for where in ('{"k": "Quokkafilter"}', '{"k": Quokkafilter'):
        try:
            await edge.stub.Search(
                SearchRequest(query="Quokkaquestion", collections=["secrets"], filter={"json": where})
            )
        except FootnoteError:
            continue
    return [first.id, second.id], [conversation]


@pytest.fixture(params=["json", "human"])
async def running(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Deployment]:
    """A deployment that logs all it can, with a model that answers or fails."""

    def answers(body: dict[str, Any]) -> list[Step]:
        if "fails" in body["messages"][-1]["content"]:
            return [Fail(400)]
        return [Say(["The Quokkaanswer is 150 [1]."]), Finish()]

    async with serve_model() as model:
        model.respond(answers)
        deployment = Deployment(
            tmp_path,
            env={
                "FOOTNOTE_LOG_LEVEL": "debug", "FOOTNOTE_LOG_FORMAT": request.param, "OPENAI_LOG": "debug",
                "FOOTNOTE_OPENAI_BASE_URL": model.url, "FOOTNOTE_OPENAI_API_KEY": KEY,
                "PYTHONASYNCIODEBUG": "1",
            },
        )  # fmt: skip
        await asyncio.to_thread(deployment.start)
        try:
            yield deployment
        finally:
            await asyncio.to_thread(deployment.stop)


async def test_logs_hold_no_text_and_files_nothing_that_was_deleted(running: Deployment) -> None:
    async with edge_client(running.address()) as edge:
        documents, conversations = await use(edge)
        await asyncio.sleep(2)  # titles and memory
        logs = {path.name: path.read_text(errors="replace").lower() for path in running.folder.rglob("*.log")}
        assert {"all.log", "engine.log"} <= logs.keys()
        assert "debug" in logs["all.log"]
        told = {(name, what) for name, log in logs.items() for what, word in CANARIES.items() if word.lower() in log}
        assert told == set()
        assert not [name for name, log in logs.items() if AUDITED.lower() in log]
        assert traces(running.folder)
        for conversation in conversations:
            await edge.stub.DeleteConversation(DeleteConversationRequest(conversation_id=conversation))
        await edge.stub.DeleteDocument(DeleteDocumentRequest(document_id=documents[0]))
        assert not [name for name in traces(running.folder, "edge", "store", "indexing", "ingestion/documents.db")
                    if documents[0] in name]  # fmt: skip
        gone = await edge.stub.DeleteCollection(DeleteCollectionRequest(collection="secrets"))
        await ended(edge.stub, gone.operation)
        deleted = time.monotonic()
        # The blobs have gone at once; the databases' logs within half a minute; the engine's file when it is rewritten.
        assert not [name for name in traces(running.folder) if name.startswith("ingestion/blobs")]
        while left := traces(running.folder, "store/vectors.db"):
            assert time.monotonic() - deleted < GONE_AFTER, left
            await asyncio.sleep(1)
    await asyncio.to_thread(running.stop)
    assert traces(running.folder) == {}
