"""What a watch says of a document's way: counts that never fall, all of them at the end, and vectors still to come."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import (
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentsRequest,
)
from footnote.types.v1 import document_pb2 as doc
from footnote_edge.app import build
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unavailable
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

PAGES = b"four pages\ntwo\nthree\nfour"


@pytest.fixture
async def edge(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """A stub of edge that looks for progress ten times a second."""
    monkeypatch.setenv("FOOTNOTE_EDGE_WATCH_POLL_SECONDS", "0.1")
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield EdgeStub(served.channel)


async def upload(edge: EdgeStub, text: bytes) -> str:
    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=text)

    return str((await edge.UploadDocument(parts())).document.id)


async def begun(edge: EdgeStub, world: World, text: bytes) -> tuple[str, asyncio.Event]:
    """A document whose reading waits for the gate."""
    world.gates["ParseDocument"] = gate = asyncio.Event()
    document_id = await upload(edge, text)
    await world.until(lambda: any(method == "ParseDocument" for method, _ in world.calls))
    return document_id, gate


async def test_the_last_message_keeps_all_counts(edge: EdgeStub, world: World) -> None:
    document_id, gate = await begun(edge, world, PAGES)
    call = edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=30)
    await call.read()
    gate.set()
    told = [event.progress async for event in call]
    last = told[-1]
    assert last.phase == doc.PROGRESS_PHASE_DONE
    assert (last.pages_parsed, last.pages_total) == (4, 4)
    assert (last.blocks_parsed, last.chunks_total, last.chunks_embedded, last.chunks_stored) == (4, 4, 4, 4)
    assert (last.bytes_total, last.chunks_without_vector, last.HasField("remaining")) == (len(PAGES), 0, False)
    # The same for one who asks afterwards.
    again = [event async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=30)]
    assert [event.progress for event in again] == [last]


async def test_pages_are_told_in_parsing_and_no_count_falls_when_a_stage_is_tried_again(
    edge: EdgeStub, world: World
) -> None:
    world.failures["IndexDocument"] = Unavailable("the store rests", reason="STORE_UNAVAILABLE")
    document_id, gate = await begun(edge, world, PAGES)
    call = edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=60)
    told = [(await call.read()).progress]
    gate.set()
    while told[-1].blocks_parsed < 1 and not told[-1].pages_parsed:
        told.append((await call.read()).progress)
    del world.failures["IndexDocument"]
    told += [event.progress async for event in call]
    for name in ("blocks_parsed", "chunks_total", "chunks_stored", "pages_parsed"):
        counts = [getattr(one, name) for one in told]
        assert counts == sorted(counts), name
    reading = [one for one in told if one.phase == doc.PROGRESS_PHASE_PARSING]
    assert any(one.pages_total == 4 for one in reading)
    phases = [one.phase for one in told if one.phase != doc.PROGRESS_PHASE_QUEUED]
    first = phases.index(doc.PROGRESS_PHASE_DONE)
    assert set(phases[first:]) == {doc.PROGRESS_PHASE_DONE}


async def away(world: World) -> None:
    """Refuse counts of missing vectors, and their repetitions: a watch continues with the counts it has."""
    world.failures["CountMissingVectors"] = Unavailable("indexing rests", reason="STAGE_UNAVAILABLE")
    before = sum(method == "CountMissingVectors" for method, _ in world.calls)
    await world.until(lambda: sum(method == "CountMissingVectors" for method, _ in world.calls) >= before + 12)
    del world.failures["CountMissingVectors"]


async def test_a_watch_goes_on_until_every_chunk_has_its_vector_where_asked(edge: EdgeStub, world: World) -> None:
    world.vectors_later = True
    document_id = await upload(edge, PAGES)
    call = edge.WatchDocument(WatchDocumentRequest(document_id=document_id, until_vectors=True), timeout=30)

    async def until(missing: int) -> Any:
        while True:
            event = await call.read()
            assert hasattr(event, "progress"), "the watch ended"
            if event.document.state == doc.DOCUMENT_STATE_INDEXED and event.progress.chunks_without_vector == missing:
                return event.progress

    found = await until(4)
    assert (found.phase, found.chunks_embedded) == (doc.PROGRESS_PHASE_VECTORS, 0)
    assert not found.HasField("remaining")
    await away(world)
    world.missing[document_id] = 1
    found = await until(1)
    assert (found.chunks_embedded, found.chunks_stored) == (3, 4)
    assert 0 < found.remaining.ToMilliseconds() < 60_000
    # One that does not ask for it ends here, and says what is missing.
    plain = [event async for event in edge.WatchDocument(WatchDocumentRequest(document_id=document_id), timeout=30)]
    assert [event.progress.chunks_without_vector for event in plain] == [1]
    world.missing.clear()
    found = await until(0)
    assert (found.phase, found.chunks_embedded) == (doc.PROGRESS_PHASE_DONE, 4)
    assert [event async for event in call] == []


async def test_the_watch_of_a_collection_tells_vectors_of_the_last_of_many_documents(
    edge: EdgeStub, world: World
) -> None:
    world.vectors_later = True
    document_id = await upload(edge, PAGES)
    await world.until(lambda: document_id in world.missing)
    world.missing.update({f"-{number:04}": 1 for number in range(2500)})  # their ids come before
    call = edge.WatchDocuments(WatchDocumentsRequest(collection="default"), timeout=30)
    async for event in call:
        if event.WhichOneof("event") == "changed" and event.changed.document.state == doc.DOCUMENT_STATE_INDEXED:
            assert event.changed.progress.chunks_without_vector == 4
            break
    call.cancel()


async def test_the_watch_of_a_collection_tells_vectors_still_to_come(edge: EdgeStub, world: World) -> None:
    world.vectors_later = True
    document_id = await upload(edge, PAGES)
    await world.until(lambda: document_id in world.missing)
    call = edge.WatchDocuments(WatchDocumentsRequest(collection="default"), timeout=30)

    async def until(missing: int) -> Any:
        while True:
            event = await call.read()
            assert hasattr(event, "changed"), "the watch ended"
            changed = event.changed
            if changed.document.state == doc.DOCUMENT_STATE_INDEXED:
                assert changed.progress.chunks_without_vector >= missing
                if changed.progress.chunks_without_vector == missing:
                    return changed.progress

    assert (await until(4)).phase == doc.PROGRESS_PHASE_VECTORS
    await away(world)
    world.missing[document_id] = 2
    assert (await until(2)).remaining.ToMilliseconds() > 0
    world.missing.clear()
    assert (await until(0)).phase == doc.PROGRESS_PHASE_DONE
    call.cancel()
