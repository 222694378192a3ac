"""A tenant's slow files do not keep another tenant's from being read or accepted: slots of the parsers go by turns."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from footnote_ingestion.parsers.base import Limits
from footnote_ingestion.worker import wire
from footnote_ingestion.worker.fork_server_client import Starter
from footnote_ingestion.worker.isolation import Workers
from footnote_ingestion.worker.pool import Pool
from footnote_kit.errors import ResourceExhausted, Unavailable

SIZE, MOST_WAITING = 2, 8


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[Pool]:
    """The pool of parsing processes."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    starter = Starter()
    made = Pool(SIZE, 60.0, Workers(2**29, scratch), starter, 100, MOST_WAITING)
    yield made
    await made.close()
    await starter.close()


class Files:
    """Jobs of tenants. A slow one keeps its slot until it is let go: it does not take its frames."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self._pool = pool
        self._folder = folder
        self.read: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.let_go: dict[str, asyncio.Event] = {}

    def slow(self, tenant: str, user: str, name: str) -> None:
        self.let_go[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(tenant, user, name))

    async def _hold(self, tenant: str, user: str, name: str) -> None:
        async with aclosing(self._pool.run(self._job("parse", name), tenant, user)) as frames:
            async for _ in frames:
                if name not in self.read:
                    self.read.append(name)
                await self.let_go[name].wait()

    async def quick(self, tenant: str, user: str, name: str, action: str = "parse") -> None:
        await self._pool.last(self._job(action, name), tenant, user)
        self.read.append(name)

    def _job(self, action: str, name: str) -> wire.Job:
        path = self._folder / f"{name}.md"
        path.write_text(f"# {name}\n\nThis is the file {name}.")
        return wire.Job(action, str(path), "md", path.name, Limits())

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(240):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        for event in self.let_go.values():
            event.set()
        await asyncio.gather(*self.tasks.values())


@pytest.fixture
def files(pool: Pool, tmp_path: Path) -> Files:
    """What gives the pool files, and lets go those that wait."""
    return Files(pool, tmp_path)


@pytest.mark.parametrize("action", ["inspect", "parse"])
async def test_a_file_is_read_while_another_tenant_wants_every_slot(files: Files, pool: Pool, action: str) -> None:
    names = [f"a{number}" for number in range(4)]
    for name in names:
        files.slow("a", "ann", name)
    await files.until(lambda: len(files.read) == SIZE)
    async with asyncio.timeout(240):
        await files.quick("b", "bob", "note", action)
    assert files.read[SIZE:] == ["note"]
    assert set(files.read[:SIZE]) == set(names[:SIZE])
    async with asyncio.timeout(240):
        await files.quick("c", "carl", "another", action)
    assert len(pool.pids()) <= SIZE + 1 + 1  # those of a, and one of each tenant that came after
    await files.end()
    assert set(files.read) == {*names, "note", "another"}


async def test_the_next_slot_goes_to_the_user_who_holds_none(files: Files) -> None:
    for name in ("u0", "u1", "u2", "u3"):
        files.slow("a", "u", name)
    await files.until(lambda: len(files.read) == SIZE)
    files.slow("a", "v", "v0")
    await asyncio.sleep(0)
    files.let_go["u0"].set()
    await files.until(lambda: len(files.read) == SIZE + 1)
    assert files.read[-1] == "v0"
    await files.end()


async def test_one_tenants_waiting_files_do_not_fill_the_line(files: Files, pool: Pool) -> None:
    for number in range(SIZE + 6):
        files.slow("a", "ann", f"a{number}")
    await files.until(lambda: len(files.read) == SIZE)
    with pytest.raises(ResourceExhausted, match="Too many files of this tenant wait"):
        await files.quick("a", "ann", "one too many")
    files.slow("b", "bob", "b0")
    await files.until(lambda: "b0" in files.read)
    for number in range(2):
        files.slow("b", "bob", f"b{number + 1}")
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="Too many files wait to be read"):
        await files.quick("c", "carl", "beyond all")
    await files.end()


async def test_a_slow_file_has_the_lowest_priority_and_its_worker_ends_with_it(
    files: Files, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil
    from footnote_ingestion.worker import process

    monkeypatch.setattr(process, "SLOW_SECONDS", 0.0)
    files.slow("a", "ann", "slow")
    await files.until(lambda: "slow" in files.read)
    (pid,) = pool.pids()
    await files.until(lambda: psutil.Process(pid).nice() == process.SLOW_NICENESS)
    await files.end()
    await files.until(lambda: pid not in pool.pids())
    monkeypatch.setattr(process, "SLOW_SECONDS", 60.0)
    await files.quick("a", "ann", "quick")
    assert psutil.Process(pool.pids()[0]).nice() < process.SLOW_NICENESS
    assert json.loads(await pool.last(files._job("inspect", "more"), "a"))
