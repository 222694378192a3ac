"""Folders that are watched: a change begins a run at once, whatever the schedule says."""

import asyncio
import errno
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.operations_pb2 import OPERATION_KIND_SYNC_SOURCE, ListOperationsRequest
from footnote_edge.app import build
from footnote_edge.sources import engine
from footnote_edge.sources.kinds import folder_watch
from footnote_edge.sources.kinds.folder_watch import FolderWatch
from footnote_edge.sources.ports import SourceUnavailable
from footnote_edge.sources.watching import _Watched
from footnote_kit.edge import EdgeStub
from footnote_kit.testing import serve_app
from support import edge_sources as kept
from support.doubles.stages import World, serve_doubles
from watchdog.events import FileSystemEvent

PATIENCE = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the source watches."""
    path = tmp_path / "handbooks"
    path.mkdir()
    return path


@pytest.fixture
async def edge(world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """A stub of edge whose schedule is far too slow to notice a change."""
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_FOLDERS", str(folder))
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS", "600")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        stub = EdgeStub(running.channel)
        await kept.collection(stub)
        yield stub


async def test_changes_are_searchable_without_waiting_for_the_schedule(
    edge: EdgeStub, world: World, folder: Path
) -> None:
    (folder / "a.txt").write_text("first")
    source = await kept.settled(edge, await kept.create(edge, "folder", {"path": str(folder)}))
    assert source.interval.ToSeconds() == 3600
    (before,) = (await kept.items(edge, source)).values()
    for change, wanted in (
        (lambda: (folder / "a.txt").write_text("changed"), {"a.txt": b"changed"}),
        (lambda: nested(folder, "new"), {"a.txt": b"changed", "sub/deep/b.txt": b"new"}),
        (lambda: nested(folder, "newer"), {"a.txt": b"changed", "sub/deep/b.txt": b"newer"}),
        (lambda: (folder / "sub" / "deep" / "b.txt").unlink(), {"a.txt": b"changed"}),
        (lambda: (folder / "a.txt").rename(folder / "z.txt"), {"z.txt": b"changed"}),
    ):
        change()
        await holds(world, wanted)
    (after,) = (await kept.items(edge, source)).values()
    assert after.document_id == before.document_id


async def test_a_folder_that_is_replaced_is_watched_again(edge: EdgeStub, world: World, folder: Path) -> None:
    (folder / "a.txt").write_text("first")
    await kept.settled(edge, await kept.create(edge, "folder", {"path": str(folder)}))
    replace(folder, "second")
    await holds(world, {"b.txt": b"second"})
    (folder / "b.txt").write_text("third")
    await holds(world, {"b.txt": b"third"})


async def test_a_paused_source_is_not_watched(edge: EdgeStub, world: World, folder: Path) -> None:
    paused = await kept.create(edge, "folder", {"path": str(folder)}, name="paused", paused=True)
    active = await kept.settled(edge, await kept.create(edge, "folder", {"path": str(folder)}, name="active"))
    (folder / "a.txt").write_text("first")
    await holds(world, {"a.txt": b"first"})
    assert (await kept.get(edge, active)).items == 1
    assert (await kept.get(edge, paused)).state == pb.SOURCE_STATE_NEW


async def test_a_document_that_waits_holds_up_no_change(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose provider is away: the run follows it, and has listed the folder long ago."""
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_FOLDERS", str(folder))
    monkeypatch.setenv("FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS", "0.2")
    monkeypatch.setattr(engine, "FOLLOWED_SECONDS", 0.2)
    world.gates["ParseDocument"] = gate = asyncio.Event()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"of {name}")
    async with (
        serve_doubles(world) as addresses,
        serve_app(build, addresses=addresses, data_dir=tmp_path / "data") as running,
    ):
        stub = EdgeStub(running.channel)
        await kept.collection(stub)
        await kept.create(stub, "folder", {"path": str(folder)})
        try:
            await holds(world, {"a.txt": b"of a.txt", "b.txt": b"of b.txt"})
            (folder / "b.txt").unlink()
            await holds(world, {"a.txt": b"of a.txt"}, seconds=20.0)
            listings = [len(world.requests("UploadDocument")), await runs(stub)]
            await asyncio.sleep(3)
            assert listings == [2, await runs(stub)]  # it is not listed again and again meanwhile
        finally:
            gate.set()


async def runs(edge: EdgeStub) -> int:
    found = await edge.ListOperations(ListOperationsRequest(page_size=100))
    return sum(one.kind == OPERATION_KIND_SYNC_SOURCE for one in found.operations)


async def holds(world: World, wanted: dict[str, bytes], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        await world.until(lambda: kept.contents(world) == wanted)


def replace(folder: Path, text: str) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    (folder / "b.txt").write_text(text)


def nested(folder: Path, text: str) -> None:
    (folder / "sub" / "deep").mkdir(parents=True, exist_ok=True)
    (folder / "sub" / "deep" / "b.txt").write_text(text)


class Noted(FolderWatch):
    """A watch that keeps the paths of its events."""

    def __init__(self, folder: Path) -> None:
        self.paths: list[str] = []
        self.arrived = threading.Condition()
        super().__init__(folder, lambda: None)

    def on_any_event(self, event: FileSystemEvent) -> None:
        with self.arrived:
            self.paths.append(str(event.src_path))
            self.arrived.notify_all()

    def until(self, path: Path) -> list[str]:
        """Return the paths of all events up to one of a file; notices come in order."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: str(path) in self.paths, PATIENCE)
            return [one for one in self.paths if one != str(path)]


def test_neither_reading_nor_a_link_leads_to_a_run(folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("first")
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    watch = Noted(folder)
    try:
        list(folder.iterdir())
        (folder / "a.txt").read_text()
        (outside / "b.txt").write_text("not ours")
        (folder / "last.txt").write_text("last")
        assert watch.until(folder / "last.txt") == []
        assert watch.works()
    finally:
        watch.close()


def test_a_folder_beyond_the_limits_of_the_system_is_left_to_its_schedule(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(folder_watch.Observer, "schedule", full)
    with pytest.raises(SourceUnavailable, match="inotify watch limit reached"):
        FolderWatch(folder, lambda: None)


def test_files_written_together_make_one_run_and_endless_writing_does_not_put_it_off() -> None:
    one, now = _Watched("etag"), time.monotonic()
    assert not one.is_due(now)
    one.changed()
    one.first, one.last = now, now
    assert not one.is_due(now + 0.1)
    assert one.is_due(now + 1.0)
    one.last = now + 5.9
    assert one.is_due(now + 6.0)
    one.not_before = now + 9.0
    assert not one.is_due(now + 8.0)
