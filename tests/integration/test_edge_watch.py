"""Watches of documents: the snapshot and its end, changes, deletions, the end of the stream, and resuming."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.documents_pb2 import (
    WATCH_END_REASON_IDLE,
    WATCH_END_REASON_LIFETIME,
    DeleteDocumentRequest,
    Document,
    UpdateDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentsRequest,
)
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound
from footnote_kit.testing import Served, serve_app
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

LIFETIME = 4.0


@pytest.fixture
async def served(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Edge whose watches look ten times a second and end soon."""
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.1")
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_LIFETIME_SECONDS", str(LIFETIME))
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield served


@pytest.fixture
def edge(served: Served) -> EdgeStub:
    """A stub of edge."""
    return EdgeStub(served.channel)


async def stored(edge: EdgeStub, world: World, text: bytes) -> str:
    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=text)

    made = await edge.UploadDocument(parts())
    await world.until(lambda: world.documents[made.document.id].indexed_revision == 1)
    return str(made.document.id)


class Reading:
    """A watch and its events."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.events: list[Any] = []

    async def until(self, kind: str) -> Any:
        """Read to the next event of a kind and return it."""
        async with asyncio.timeout(240):
            while True:
                event = await self.call.read()
                assert hasattr(event, "WhichOneof"), f"ended before {kind}: {self.kinds}"
                self.events.append(event)
                if event.WhichOneof("event") == kind:
                    return event

    @property
    def kinds(self) -> list[str]:
        return [event.WhichOneof("event") for event in self.events]


def watch(edge: EdgeStub, **more: Any) -> Reading:
    return Reading(edge.WatchDocuments(WatchDocumentsRequest(collection="default", **more), timeout=30))


async def test_a_watch_tells_the_snapshot_its_end_changes_and_deletions(edge: EdgeStub, world: World) -> None:
    first, second = [await stored(edge, world, text) for text in (b"one", b"two")]
    reading = watch(edge)
    done = await reading.until("snapshot_done")
    assert done.snapshot_done.documents == 2
    assert {event.changed.document.id for event in reading.events[:-1]} == {first, second}
    assert not any(event.resume_token for event in reading.events[:-1])
    assert done.resume_token

    await edge.DeleteDocument(DeleteDocumentRequest(document_id=first))
    assert (await reading.until("deleted")).deleted.document_id == first
    third = await stored(edge, world, b"three")
    changed = await reading.until("changed")
    assert changed.changed.document.id == third
    assert changed.resume_token
    reading.call.cancel()


async def test_what_goes_without_this_process_is_told_too(edge: EdgeStub, world: World) -> None:
    """A sweeper's deletions reach a watch, whatever state the document is in."""
    gone = await stored(edge, world, b"one")
    reading = watch(edge)
    await reading.until("snapshot_done")
    now = world.documents.pop(gone).update_time
    world.deleted[gone] = now.ToMicroseconds()
    assert (await reading.until("deleted")).deleted.document_id == gone
    reading.call.cancel()


async def test_a_watch_goes_on_where_it_was(edge: EdgeStub, world: World) -> None:
    kept, gone = [await stored(edge, world, text) for text in (b"one", b"two")]
    reading = watch(edge)
    token = (await reading.until("snapshot_done")).resume_token
    reading.call.cancel()
    await asyncio.sleep(0.1)
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=gone))
    fresh = await stored(edge, world, b"three")

    resumed = watch(edge, resume_token=token)
    await resumed.until("snapshot_done")
    assert gone in {event.deleted.document_id for event in resumed.events}
    told = {event.changed.document.id for event in resumed.events if event.WhichOneof("event") == "changed"}
    assert fresh in told
    assert kept not in told
    resumed.call.cancel()


async def test_a_resumed_watch_until_idle_waits_for_what_was_at_work_before(edge: EdgeStub, world: World) -> None:
    document = await stored(edge, world, b"one")
    world.documents[document].state = doc.DOCUMENT_STATE_PROCESSING
    reading = watch(edge)
    token = (await reading.until("snapshot_done")).resume_token
    reading.call.cancel()
    resumed = watch(edge, resume_token=token, until_idle=True)
    await resumed.until("snapshot_done")
    await asyncio.sleep(0.5)
    world.documents[document].state = doc.DOCUMENT_STATE_INDEXED
    world.documents[document].update_time.GetCurrentTime()
    ended = await resumed.until("ended")
    assert ended.ended.reason == WATCH_END_REASON_IDLE
    assert resumed.events[-2].changed.document.state == doc.DOCUMENT_STATE_INDEXED


async def test_a_watch_by_http_ends_as_one_by_grpc_whatever_the_services_default(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_LIFETIME_SECONDS", "2")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, stream_timeout=1) as served,
        httpx2.AsyncClient(base_url=f"http://{served.runtime.announced['http']}", timeout=60) as http,
    ):
        await http.post("/v1/collections", json={"name": "notes"})
        answer = await http.get("/v1/collections/notes/documents:watch")
    assert '"ended":{"reason":"WATCH_END_REASON_LIFETIME"}' in answer.text
    assert "event: error" not in answer.text


async def test_a_watch_says_when_it_will_end_and_that_it_ends(edge: EdgeStub, world: World) -> None:
    document = await stored(edge, world, b"one")
    reading = watch(edge)
    done = await reading.until("snapshot_done")
    left = done.snapshot_done.end_time.ToMicroseconds() / 1e6 - world.documents[document].update_time.seconds
    assert 0 < left < LIFETIME + 10
    ended = await reading.until("ended")
    assert ended.ended.reason == WATCH_END_REASON_LIFETIME
    assert ended.resume_token
    async with asyncio.timeout(240):
        assert not hasattr(await reading.call.read(), "event")
    assert (await reading.call.code()).name == "OK"


@pytest.mark.parametrize("token", ["x", "e30", "WyJ4IiwxXQ"])
async def test_a_token_of_something_else_is_refused(edge: EdgeStub, world: World, token: str) -> None:
    await stored(edge, world, b"one")
    with pytest.raises(InvalidArgument, match="resume_token"):
        await watch(edge, resume_token=token).until("snapshot_done")


async def test_a_token_too_old_is_refused_by_name(edge: EdgeStub, world: World) -> None:
    await stored(edge, world, b"one")
    reading = watch(edge)
    token = (await reading.until("snapshot_done")).resume_token
    reading.call.cancel()
    world.failures["ListDocumentChanges"] = FailedPrecondition("too long ago", reason="WATCH_EXPIRED")
    with pytest.raises(FailedPrecondition) as caught:
        await watch(edge, resume_token=token).until("snapshot_done")
    assert caught.value.reason == "WATCH_EXPIRED"


async def test_the_watch_of_a_document_ends_with_its_deletion(edge: EdgeStub, world: World) -> None:
    document = await stored(edge, world, b"one")
    world.documents[document].state = doc.DOCUMENT_STATE_PROCESSING
    call = edge.WatchDocument(WatchDocumentRequest(document_id=document), timeout=20)
    assert not (await call.read()).deleted
    await edge.DeleteDocument(DeleteDocumentRequest(document_id=document))
    events = [event async for event in call]
    assert events[-1].deleted
    assert events[-1].document.id == document
    with pytest.raises(NotFound):
        await edge.WatchDocument(WatchDocumentRequest(document_id=document), timeout=20).read()


async def test_the_watch_of_a_document_ends_with_its_time(edge: EdgeStub, world: World) -> None:
    document = await stored(edge, world, b"one")
    world.documents[document].state = doc.DOCUMENT_STATE_PROCESSING
    events = [event async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document), timeout=20)]
    assert [event.document.state for event in events] == [doc.DOCUMENT_STATE_PROCESSING]


async def test_pages_are_told_while_a_file_is_read_with_the_time_left(edge: EdgeStub, world: World) -> None:
    world.gates["ParseDocument"] = gate = asyncio.Event()

    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=b"four pages\ntwo\nthree\nfour")

    made = await edge.UploadDocument(parts())
    await world.until(lambda: bool(world.requests("ParseDocument")))
    call = edge.WatchDocument(WatchDocumentRequest(document_id=made.document.id), timeout=30)
    await call.read()
    gate.set()
    told = [event.progress async for event in call]
    pages = [(one.pages_parsed, one.pages_total) for one in told if one.pages_total]
    assert len(set(pages)) > 2
    assert pages == sorted(pages)
    assert {total for _, total in pages} == {4}
    left = [one.remaining.ToMilliseconds() for one in told if one.phase == doc.PROGRESS_PHASE_PARSING and one.remaining]
    assert any(0 < one < 5000 for one in left)
    assert not any(one.HasField("remaining") for one in told if one.phase == doc.PROGRESS_PHASE_QUEUED)


async def test_over_http_each_event_has_its_name(edge: EdgeStub, world: World, served: Served) -> None:
    document = await stored(edge, world, b"one")
    address = f"http://{served.runtime.announced['http']}/v1/collections/default/documents:watch?until_idle=true"
    async with httpx2.AsyncClient() as client:
        lines = (await client.get(address, timeout=20)).raise_for_status().text.splitlines()
    named = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert named == ["changed", "snapshot_done", "ended"]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert data[0]["changed"]["document"]["id"] == document
    assert data[2]["ended"] == {"reason": "WATCH_END_REASON_IDLE"}


async def test_what_this_process_does_is_told_without_looking(edge: EdgeStub, world: World) -> None:
    """From a file that is read for long to its end, a watch asks for its document no more than a few times."""
    world.gates["ParseDocument"] = gate = asyncio.Event()

    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=b"one\ntwo\nthree")

    made = await edge.UploadDocument(parts())
    await world.until(lambda: bool(world.requests("ParseDocument")))
    before = len(world.requests("GetDocument"))
    call = edge.WatchDocument(WatchDocumentRequest(document_id=made.document.id), timeout=30)
    first = await call.read()
    assert first.document.state == doc.DOCUMENT_STATE_PROCESSING
    await asyncio.sleep(2.0)  # twenty times as often as it looks where others are at work
    gate.set()
    events = [event async for event in call]
    assert events[-1].document.state == doc.DOCUMENT_STATE_INDEXED
    assert len(world.requests("GetDocument")) - before <= 7


async def test_a_change_of_labels_here_is_told_at_once(edge: EdgeStub, world: World) -> None:
    document = await stored(edge, world, b"one")
    reading = watch(edge)
    await reading.until("snapshot_done")
    took = []
    for tag in ("a", "b", "c"):  # the quickest counts: the machine may be busy
        await asyncio.sleep(1.0)  # it polls at a long interval by now
        before = time.monotonic()
        await edge.UpdateDocument(UpdateDocumentRequest(document_id=document, resource=Document(tags=[tag])))
        assert list((await reading.until("changed")).changed.document.tags) == [tag]
        took.append(time.monotonic() - before)
    assert min(took) < 0.4
    reading.call.cancel()
