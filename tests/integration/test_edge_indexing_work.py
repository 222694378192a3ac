"""Health tells operators how much indexing work waits, how fast it goes, and how long it takes: of all tenants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata
from footnote.edge.v1.system_pb2 import GetHealthRequest, IndexingWork
from footnote_edge.app import build
from footnote_edge.documents import backlog
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import Unavailable
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles


@pytest.fixture
async def edge(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Any]:
    """A stub of edge that counts twenty times a second, and knows a rate after half a second."""
    monkeypatch.setenv("FOOTNOTE_EDGE_BACKLOG_SECONDS", "0.05")
    monkeypatch.setattr(backlog, "LEAST_SECONDS", 0.5)
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as served:
        yield EdgeStub(served.channel)


async def upload(edge: Any, text: bytes) -> None:
    async def parts() -> AsyncIterator[UploadDocumentRequest]:
        yield UploadDocumentRequest(metadata=UploadMetadata(collection="default", filename="a.txt"))
        yield UploadDocumentRequest(data=text)

    await edge.UploadDocument(parts())


async def work(edge: Any) -> IndexingWork:
    return (await edge.GetHealth(GetHealthRequest())).indexing_work


async def until(edge: Any, told: Callable[[IndexingWork], bool]) -> IndexingWork:
    """The first figures of which something is true."""
    async with asyncio.timeout(240):
        while not told(found := await work(edge)):  # noqa: ASYNC110 only the service knows
            await asyncio.sleep(0.02)
    return found


async def test_the_rate_and_the_remaining_time_of_vectors(edge: Any, world: World) -> None:
    world.missing["a"] = 1000
    async with asyncio.timeout(240):
        while not (found := await work(edge)).HasField("vectors_remaining"):
            world.missing["a"] -= 1
            world.vectors_made += 1
            await asyncio.sleep(0.02)
    assert 0 < found.chunks_without_vector < 1000
    assert 0 < found.vectors_per_second <= world.vectors_made / 0.5
    left = found.vectors_remaining.ToTimedelta().total_seconds()
    assert left == pytest.approx(found.chunks_without_vector / found.vectors_per_second, rel=0.01)
    # Nothing is said of documents, of which none waits.
    assert (found.documents_waiting, found.HasField("documents_per_second")) == (0, False)
    assert not found.HasField("documents_remaining")


async def test_work_that_stands_still_has_a_rate_of_zero_and_no_remaining_time(edge: Any, world: World) -> None:
    world.gates["ParseDocument"] = gate = asyncio.Event()
    await upload(edge, b"one")
    found = await until(edge, lambda told: told.HasField("documents_per_second"))
    assert (found.documents_waiting, found.documents_per_second) == (1, 0)
    assert not found.HasField("documents_remaining")
    gate.set()
    await until(edge, lambda told: not told.documents_waiting)


async def test_a_stage_that_does_not_answer_leaves_the_other_count(edge: Any, world: World) -> None:
    world.failures["GetVectorWork"] = Unavailable("indexing rests", reason="STAGE_UNAVAILABLE")
    world.gates["ParseDocument"] = gate = asyncio.Event()
    await upload(edge, b"one")
    await until(edge, lambda told: told.documents_waiting == 1)
    gate.set()


async def test_only_operators_are_told(edge: Any) -> None:
    await until(edge, lambda told: told.HasField("chunks_without_vector"))
    reader = (("x-footnote-role", "reader"),)
    found = await edge.GetHealth(GetHealthRequest(), metadata=reader)
    assert found.components
    assert not found.HasField("indexing_work")
