"""Long documents are cut in a process: as they are on a thread, whatever happens to the process."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from typing import Any

import psutil
import pytest
from footnote.stages.v1 import parsing_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote_indexing.chunking import cutting
from footnote_indexing.chunking.cutting import LONG, TOGETHER, Cutters
from footnote_indexing.chunking.cutting_child import MODULE
from footnote_indexing.chunking.cutting_process import NICENESS
from footnote_indexing.chunking.drafts import Draft
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_kit.errors import Internal, InvalidArgument
from support.conditions import until
from support.processes import FORK_SERVER, running

pytestmark = pytest.mark.full

SETTINGS = collection_pb2.CollectionSettings(
    chunking=collection_pb2.ChunkingSettings(
        strategy=collection_pb2.CHUNKING_STRATEGY_PARAGRAPH, size=500, overlap_percent=10
    )
)


def document(number: int = 0) -> stored_document_pb2.Document:
    return stored_document_pb2.Document(id=f"d{number}", tenant_id="t", collection_id="c", filename="a.txt", revision=1)


def parts(characters: int, word: str = "word") -> list[list[parsing_pb2.Block]]:
    blocks = []
    for index in range(characters // 1000):
        text = (f"{word} {index} is here. " * 100)[:1000]
        blocks.append(parsing_pb2.Block(text=text))
    return [blocks[start : start + 10] for start in range(0, len(blocks), 10)]


def no_vectors(texts: Sequence[str]) -> Any:
    raise AssertionError


async def cut(cutters: Cutters, number: int, size: int, word: str = "word") -> tuple[list[Draft], Any]:
    async with cutters.cutting(document(number), SETTINGS, no_vectors) as cutter:
        drafts = [draft for blocks in parts(size, word) for draft in await cutter.feed(blocks)]
        drafts += await cutter.finish(parsing_pb2.ParsedMetadata(title="Title"))
        return drafts, cutter.state


@pytest.fixture(params=["started", "forked"])
async def cutters(request: pytest.FixtureRequest) -> AsyncIterator[Cutters]:
    """One process that cuts documents, alone or beside ingestion; at the end no child is left."""
    starter = Starter() if request.param == "forked" else None
    made = Cutters(1, lambda: starter)
    yield made
    try:
        await made.close()
        assert not children()
    finally:
        if starter is not None:
            await starter.close()


def children() -> list[int]:
    """The processes that cut: each started anew, or forked by the fork server of parsers."""
    forked = [child for server in running(FORK_SERVER) for child in server.children()]
    return [one.pid for one in (*running(MODULE), *forked) if _lives(one)]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # the fork server reaps when it has the time
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("size", [3000, LONG - 1000, LONG, TOGETHER, 3 * TOGETHER])
async def test_it_cuts_as_a_thread_does(cutters: Cutters, size: int) -> None:
    assert await cut(cutters, 1, size) == await cut(Cutters(0), 1, size)
    assert len(children()) == (size >= LONG)


async def test_documents_side_by_side_stay_apart(cutters: Cutters) -> None:
    words = ["one", "two", "three", "four"]
    found = await asyncio.gather(*(cut(cutters, n, 3 * LONG, word) for n, word in enumerate(words)))
    for number, (drafts, _) in enumerate(found):
        assert {draft.chunk.document_id for draft in drafts} == {f"d{number}"}
        assert all(words[number] in draft.chunk.text for draft in drafts)


async def test_a_killed_process_fails_the_document_and_is_replaced(cutters: Cutters) -> None:
    async with cutters.cutting(document(), SETTINGS, no_vectors) as cutter:
        await cutter.feed(parts(LONG)[0] * 10)
        os.kill(children()[0], signal.SIGKILL)
        with pytest.raises(Internal, match="died"):
            await cutter.finish(parsing_pb2.ParsedMetadata())
    assert await cut(cutters, 1, 2 * LONG) == await cut(Cutters(0), 1, 2 * LONG)


async def test_a_call_that_is_given_up_does_not_shift_the_answers(cutters: Cutters) -> None:
    given_up = asyncio.create_task(cut(cutters, 1, 10 * LONG, "other"))
    await asyncio.sleep(1.5)
    given_up.cancel()
    assert await cut(cutters, 2, 2 * LONG) == await cut(Cutters(0), 2, 2 * LONG)


async def test_errors_are_those_of_the_cutter(cutters: Cutters, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [parsing_pb2.Block(text="a" * TOGETHER), parsing_pb2.Block()]
    for made in (cutters, Cutters(0)):
        async with made.cutting(document(), SETTINGS, no_vectors) as cutter:
            with pytest.raises(InvalidArgument) as caught:
                await cutter.feed(wrong)
        assert caught.value.violations
    monkeypatch.setattr(cutting, "IDLE_SECONDS", 0.1)
    await cut(cutters, 3, LONG)

    async def gone() -> bool:
        return not children()

    await until(gone)  # a process that has nothing to do ends


async def test_a_process_forgets_documents_that_are_cut_or_given_up(cutters: Cutters) -> None:
    """A number that comes again must find nothing: what is not forgotten would be kept for as long as the process."""
    await cut(cutters, 1, 2 * LONG)
    async with cutters.cutting(document(), SETTINGS, no_vectors) as cutter:
        await cutter.feed(parts(LONG)[0] * 10)
    (process,) = cutters._processes
    for number in (0, 1):
        with pytest.raises(Internal, match="KeyError"):
            await process.ask((number, [("feed", [])]))
    assert process.documents == 0


async def test_beside_ingestion_it_is_forked_and_loads_nothing_by_itself() -> None:
    """A process of its own loads for half a second, for a document that takes 20 ms."""
    starter = Starter()
    cutters = Cutters(1, lambda: starter)
    try:
        await cut(cutters, 1, LONG)
        await cutters.close()  # the fork server has loaded the code for its next fork
        await cut(cutters, 2, LONG)
        (child,) = map(psutil.Process, children())
        assert child.ppid() == starter.fork_server
        assert child.nice() == NICENESS
        assert os.getsid(child.pid) == child.pid  # so that its niceness counts
        assert sum(child.cpu_times()[:2]) < 0.25
    finally:
        await cutters.close()
        await starter.close()


async def test_without_a_fork_server_it_is_started() -> None:
    starter = Starter()
    await starter.close()
    cutters = Cutters(1, lambda: starter)
    try:
        assert await cut(cutters, 1, LONG) == await cut(Cutters(0), 1, LONG)
        assert [one.pid for one in running(MODULE)] == children()
    finally:
        await cutters.close()


async def test_it_outlives_its_fork_server_and_ends_with_the_service() -> None:
    """The end of the process that parsers are forked from is no failure of a document that is being cut."""
    starter = Starter()
    cutters = Cutters(1, lambda: starter)
    try:
        async with cutters.cutting(document(), SETTINGS, no_vectors) as cutter:
            drafts = await cutter.feed(parts(LONG)[0] * 10)
            (child,) = map(psutil.Process, children())
            os.kill(starter.fork_server, signal.SIGKILL)

            async def gone() -> bool:
                return not starter.fork_server

            await until(gone)
            drafts += await cutter.finish(parsing_pb2.ParsedMetadata())
            assert len(drafts) > 1
        assert child.is_running()
    finally:
        await cutters.close()
        await starter.close()

    async def ended() -> bool:
        return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE

    await until(ended)
