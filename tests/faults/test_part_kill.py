"""kill -9 of one of the processes of `serve all`, started or starting: it comes back, nothing accepted is lost."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.documents_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FootnoteError, Unavailable
from support.deployment import PART, Deployment, deployment
from support.edge_client import EdgeClient, edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(400)]

FILES = 12


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment in three processes."""
    with deployment(tmp_path, env={"FOOTNOTE_PROCESSES": "3"}) as started:
        yield started


def part_of(running: Deployment, stage: str) -> psutil.Process:
    """Return the process that listens for a stage."""
    first = psutil.Process(running.processes["all"].pid)
    port = int(running.address(stage).rpartition(":")[2])
    for child in first.children():
        if child.name() == PART and port in {one.laddr.port for one in child.net_connections("tcp")}:
            return child
    raise AssertionError(f"nobody listens for {stage}")


def text(number: int) -> bytes:
    return b"".join(b"Machine %d has a warranty of %d months, %d.\n\n" % (number, number + 12, i) for i in range(300))


async def ended(edge: EdgeClient, document_id: str) -> Document:
    """Watch a document to its end, and retry whenever the service is down."""
    for _ in range(200):
        try:
            return await edge.settle(document_id, timeout=200)
        except Unavailable:
            await asyncio.sleep(0.5)
    raise AssertionError(f"{document_id} does not end")


async def test_documents_go_on_when_their_process_is_killed_twice(running: Deployment) -> None:
    async with edge_client(running.address()) as edge:
        await edge.put(b"The warranty of the laser lasts twelve months.", "before.txt")
        accepted = [(await edge.upload(text(number), f"{number}.txt")).document.id for number in range(FILES)]
        ends: list[Document] = []
        for _ in range(2):
            killed = part_of(running, "indexing")
            killed.kill()
            await asyncio.to_thread(psutil.wait_procs, [killed], 10)
            ends.append(await ended(edge, accepted[len(ends)]))
        ends += await asyncio.gather(*(ended(edge, one) for one in accepted[len(ends) :]))
        assert {one.state for one in ends} == {DOCUMENT_STATE_INDEXED}
        assert sorted(one.id for one in await edge.documents() if one.filename != "before.txt") == sorted(accepted)
        assert (await edge.stub.Search(SearchRequest(query="warranty of machine 7"), timeout=30)).chunks


@pytest.mark.parametrize("stage", ["retrieval", "generation"])
async def test_questions_go_on_when_their_process_is_killed(running: Deployment, stage: str) -> None:
    async with edge_client(running.address()) as edge:
        await edge.put(b"The warranty of the laser lasts twelve months.", "a.txt")
        part_of(running, stage).kill()
        for _ in range(240):
            try:
                done = await edge.answer("How long does the warranty of the laser last?")
                if "twelve months" in done.answer.text:
                    break
            except FootnoteError:
                pass
            await asyncio.sleep(0.25)
        assert "twelve months" in done.answer.text
        assert running.processes["all"].poll() is None


def parts(running: Deployment) -> list[psutil.Process]:
    """Return the processes that a launch has started until now."""
    return [one for one in psutil.Process(running.processes["all"].pid).children() if _name(one) == PART]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:  # it has just ended
        return ""


def kill_one(running: Deployment, seconds: float) -> None:
    """Kill a part so many seconds after the first has appeared."""
    deadline = time.monotonic() + 60
    while not parts(running):
        assert time.monotonic() < deadline
        assert running.processes["all"].poll() is None, running.log()[-2000:]
        time.sleep(0.01)
    time.sleep(seconds)
    parts(running)[-1].kill()


async def put_again(edge: EdgeClient, text: bytes) -> None:
    """Upload until it is taken: a connection that was refused during the start is opened again after two seconds."""
    for _ in range(60):
        try:
            await edge.put(text, "a.txt")
            return
        except Unavailable:
            await asyncio.sleep(0.5)
    raise AssertionError("no upload is taken")


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5, 3.0])
async def test_a_process_that_is_killed_while_the_whole_starts_is_begun_again(tmp_path: Path, seconds: float) -> None:
    started = Deployment(tmp_path, env={"FOOTNOTE_PROCESSES": "3"})
    try:
        started.spawn()
        await asyncio.to_thread(kill_one, started, seconds)
        await asyncio.to_thread(started.wait)
        async with edge_client(started.address()) as edge:
            await put_again(edge, b"The warranty of the laser lasts twelve months.")
            assert "twelve months" in (await edge.answer("How long does the warranty of the laser last?")).answer.text
        assert started.processes["all"].poll() is None
    finally:
        await asyncio.to_thread(started.stop)


def test_a_launch_whose_process_is_killed_again_and_again_ends_and_says_so(tmp_path: Path) -> None:
    started = Deployment(tmp_path, env={"FOOTNOTE_PROCESSES": "3"})
    try:
        started.spawn()
        ends = time.monotonic() + 120
        while started.processes["all"].poll() is None and time.monotonic() < ends:
            for one in parts(started):
                one.kill()
            time.sleep(0.05)
        assert started.processes["all"].wait(30) == 1
        assert "did not start: its process ended with -9" in started.log()
    finally:
        started.stop()
