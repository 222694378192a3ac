"""Parser workers whose callers disconnect: that must not affect another caller's file."""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.parsers.failures import CORRUPT, NO_TEXT, PARSER_CRASHED, PARSER_KILLED, ParseError
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Workers
from footnote_ingestion.worker.plan import Measures, Work
from footnote_ingestion.worker.pool import Pool
from footnote_ingestion.worker.process import Worker
from footnote_kit.errors import Unavailable
from pypdf import PdfWriter

pytestmark = pytest.mark.full

TENANT = "acme"


@pytest.fixture(scope="module", autouse=True)
def other() -> Iterator[None]:
    """An unrelated process, like other tests' servers."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        yield
        process.communicate()


@pytest.fixture
async def starter() -> AsyncIterator[Starter]:
    """What starts parsing processes."""
    made = Starter()
    yield made
    await made.close()


@pytest.fixture
async def pool(tmp_path: Path, starter: Starter) -> AsyncIterator[Pool]:
    """A pool of four, whose fork server is up."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    made = Pool(4, 60.0, Workers(2**29, scratch), starter, 100, 100)
    await made.measures()
    yield made
    await made.close()


@pytest.mark.parametrize("work", ["parse", "tables"])
async def test_workers_with_an_engine_are_isolated_as_those_without(
    tmp_path: Path, starter: Starter, work: Work
) -> None:
    async def found(kind: Work) -> Measures:
        made = Pool(1, 60.0, Workers(2**29, tmp_path, work=kind), starter, files_per_worker=1, max_waiting=1)
        measures = await made.measures()
        await made.close()
        return measures

    assert await found(work) == await found("inspect")


@pytest.fixture
def job(tmp_path: Path) -> wire.Job:
    """Asks what kind of file a text is."""
    path = tmp_path / "text.md"
    path.write_text("# A text\n\nOf one line.")
    return wire.Job("inspect", str(path), "", "text.md", Limits())


def handles() -> int:
    """How many descriptors of the kinds that workers take this process has open: other tests' files come and go."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that looks
            found += str(one.readlink()).startswith(("pipe:", "socket:", "anon_inode:[pidfd]"))
    return found


@contextmanager
def descriptors(more: int) -> Iterator[None]:
    """Let this process open so many files more."""
    free = [os.dup(0) for _ in range(more + 1)]
    for one in free:
        os.close(one)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def until_gone(pids: set[int]) -> None:
    async with asyncio.timeout(240):
        while any(psutil.pid_exists(pid) for pid in pids):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("moment", [0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05])
async def test_who_gives_up_while_a_worker_starts_leaves_the_others_alone(
    pool: Pool, starter: Starter, job: wire.Job, moment: float
) -> None:
    await pool.last(job, "other")
    before, others = starter.fork_server, set(pool.pids())
    assert before
    opened = handles()
    for _ in range(5):
        asks = [asyncio.create_task(pool.last(job, f"tenant-{number}")) for number in range(3)]
        await asyncio.sleep(moment)
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)
    assert json.loads(await pool.last(job, "other"))
    assert starter.fork_server == before
    assert others <= set(pool.pids())
    await pool.close()
    await until_gone({child.pid for child in psutil.Process(before).children()})
    assert handles() < opened


async def test_closing_waits_for_workers_whose_callers_have_left(
    tmp_path: Path, starter: Starter, job: wire.Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, ended, end = asyncio.Event(), asyncio.Event(), asyncio.Event(), Worker.close

    async def held(worker: Worker) -> None:
        begun.set()
        await go_on.wait()
        await end(worker)
        ended.set()

    monkeypatch.setattr(Worker, "close", held)
    pool = Pool(1, 60.0, Workers(2**29, tmp_path), starter, files_per_worker=1, max_waiting=1)
    ask = asyncio.create_task(pool.last(job, TENANT))
    await begun.wait()
    ask.cancel()
    await asyncio.gather(ask, return_exceptions=True)
    closing = asyncio.create_task(pool.close())
    await asyncio.sleep(0)
    go_on.set()
    await closing
    assert ended.is_set()


async def test_closing_waits_for_workers_whose_start_or_end_is_cancelled(
    tmp_path: Path, starter: Starter, pool: Pool
) -> None:
    opened = handles()
    for moment in range(40):
        other = Pool(1, 60.0, Workers(2**29, tmp_path), starter, files_per_worker=1, max_waiting=1)
        asking = asyncio.create_task(other.measures())
        await asyncio.sleep(moment / 1000)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await other.close()
        await asyncio.gather(*starter._unwanted)
        assert handles() == opened, moment


async def test_a_worker_that_starts_while_its_pool_closes_is_ended(
    tmp_path: Path, starter: Starter, pool: Pool, job: wire.Job
) -> None:
    opened = handles()
    for moment in range(40):
        other = Pool(1, 60.0, Workers(2**29, tmp_path), starter, files_per_worker=1, max_waiting=1)
        asking = asyncio.create_task(other.last(job, TENANT))
        await asyncio.sleep(moment / 1000)
        await other.close()
        alive = [worker for worker in (*other._idle, *other._busy) if worker.alive]
        assert not alive, moment
        outcome = (await asyncio.gather(asking, return_exceptions=True))[0]
        assert isinstance(outcome, bytes | ParseError | Unavailable), outcome
        assert (other.pids(), handles()) == ([], opened), moment


async def test_dead_workers_are_cleared_away_by_several_at_once(pool: Pool, job: wire.Job) -> None:
    for _ in range(5):
        await asyncio.gather(*(pool.last(job, TENANT) for _ in range(4)))
        dead = set(pool.pids())
        for pid in dead:
            os.kill(pid, signal.SIGKILL)
        await until_gone(dead)
        answers = await asyncio.gather(*(pool.last(job, TENANT) for _ in range(4)))
        assert all(json.loads(answer) for answer in answers)
        assert not dead & set(pool.pids())


@pytest.mark.parametrize("more", range(6))
@pytest.mark.parametrize("fresh", [True, False], ids=["fork server dead", "fork server up"])
async def test_too_few_descriptors_are_said_and_got_over(
    pool: Pool, starter: Starter, job: wire.Job, fresh: bool, more: int
) -> None:
    if fresh:
        os.kill(starter.fork_server, signal.SIGKILL)
        async with asyncio.timeout(240):
            while starter.fork_server:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    opened = handles()
    with descriptors(more):
        for _ in range(2):
            with suppress(Unavailable) if more else pytest.raises(Unavailable, match="No process"):
                async with asyncio.timeout(240):
                    await pool.last(job, f"tenant-{more}")
    async with asyncio.timeout(240):
        assert json.loads(await pool.last(job, TENANT))
    assert handles() - opened <= 4 * len(set(pool.pids())) + 3


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, PARSER_KILLED),
        (signal.SIGTERM, PARSER_KILLED),
        (signal.SIGSEGV, PARSER_CRASHED),
        (signal.SIGABRT, PARSER_CRASHED),
    ],
)
async def test_a_kill_from_outside_and_a_crash_are_told_apart(
    starter: Starter, job: wire.Job, tmp_path: Path, number: signal.Signals, reason: str
) -> None:
    worker = await Worker.start(starter, Workers(2**29, tmp_path), TENANT)
    os.kill(worker.pid, number)
    assert await reason_of(worker, job) == reason


async def test_workers_that_die_with_the_process_they_were_forked_from_were_killed(
    starter: Starter, job: wire.Job, tmp_path: Path
) -> None:
    worker = await Worker.start(starter, Workers(2**29, tmp_path), TENANT)
    os.kill(starter.fork_server, signal.SIGKILL)
    await until_gone({worker.pid})
    assert await reason_of(worker, job) == PARSER_KILLED
    again = await Worker.start(starter, Workers(2**29, tmp_path), TENANT)
    await again.kill()


async def reason_of(worker: Worker, job: wire.Job) -> str:
    """Return why a job fails."""
    with pytest.raises(ParseError) as caught:
        _ = [frame async for frame in worker.run(job, 60.0)]
    return caught.value.reason


async def test_what_pdfium_cannot_read_is_read_by_a_library_that_the_sandbox_loads(pool: Pool, tmp_path: Path) -> None:
    """Few files need pypdf, so workers load it themselves: they may read its code, and nothing else."""
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    path = tmp_path / "blank.pdf"
    writer.write(path)
    with pytest.raises(ParseError) as failed:  # pypdf finds no text either, and nothing else is wrong
        await pool.last(wire.Job("parse", str(path), "pdf", "blank.pdf", Limits()), TENANT)
    assert failed.value.reason == NO_TEXT
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(b"%PDF-1.7\nno more of it")
    with pytest.raises(ParseError) as failed:
        await pool.last(wire.Job("inspect", str(damaged), "pdf", "damaged.pdf", Limits()), TENANT)
    assert failed.value.reason == CORRUPT
    assert "Error" not in failed.value.message, "it gave up, before it could tell"
