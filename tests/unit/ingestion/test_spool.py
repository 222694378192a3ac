"""Folders for what comes in: those of the dead go after a day, those of the living never."""

import asyncio
import os
import time
from pathlib import Path

from footnote_ingestion.documents import spool

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
