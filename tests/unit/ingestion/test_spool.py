"""Folders for what comes in: those of the dead go after a day, those of the living never."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote_ingestion.documents import spool
from footnote_ingestion.worker.isolation import Box

DAY = 86_400


def aged(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(folder, (then, then))


def test_a_replica_that_was_idle_for_days_keeps_its_folder(tmp_path: Path) -> None:
    living = spool.prepare(tmp_path)
    aged(living, 3 * DAY)
    second = spool.prepare(tmp_path)
    assert living.is_dir()
    asyncio.run(spool.remove(living))
    assert list(tmp_path.iterdir()) == [second]
    asyncio.run(spool.remove(second))
    assert not list(tmp_path.iterdir())


def test_what_the_dead_have_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / "old", tmp_path / "young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "a file").write_text("left over")
    aged(old, 1.1 * DAY)
    own = spool.prepare(tmp_path)
    assert not old.exists()
    assert young.exists()
    asyncio.run(spool.remove(own))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have workers of another user")
def test_copies_for_workers_of_another_user_go_with_their_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are outside the data folder, which another user cannot enter."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    dead, living = spool.prepare(tmp_path / "spool"), spool.prepare(tmp_path / "spool")
    copy = Box(dead, 54321).folder / "in" / "copy"
    copy.write_text("A document.")
    kept = Box(living, 54321).folder
    for folder in (dead, living):
        aged(folder, 1.1 * DAY)
    os.close(spool._held.pop(dead))  # as the kernel does for a killed process
    own = spool.prepare(tmp_path / "spool")
    assert list((tmp_path / "temporary").iterdir()) == [kept]
    for folder in (own, living):
        asyncio.run(spool.remove(folder))


def left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def parts() -> AsyncIterator[bytes]:
    yield b"A file."


@pytest.mark.parametrize("name", ["_append", "_write_all"])
async def test_a_cancelled_upload_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    begun, go = threading.Event(), threading.Event()
    write = getattr(spool, name)

    def held(*given: Any) -> None:
        begun.set()
        go.wait()
        write(*given)

    monkeypatch.setattr(spool, name, held)

    async def upload() -> None:
        if name == "_append":
            async with spool.receive(parts(), 100, tmp_path):
                pass
        else:
            async with spool.keep([b"One.", b"Two."], tmp_path):
                pass

    task = asyncio.create_task(upload())
    await asyncio.to_thread(begun.wait)
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_default_executor()  # a thread that still writes has ended
    assert not left(tmp_path)
