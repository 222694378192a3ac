"""Epochs in a file: seen by readers at once, never by those who cannot know, and never mistaken for an older one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from footnote_kit import epochs
from footnote_kit.epochs import Epoch, EpochReader

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shared on Linux only")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the epoch's file is."""
    return tmp_path / "indexing" / epochs.FILE


def test_a_reader_sees_each_epoch_at_once(path: Path) -> None:
    epoch, reader = Epoch(path), EpochReader(path)
    seen = set()
    for _ in range(300):  # past a byte's worth
        assert reader.current() == epoch.name
        seen.add(epoch.name)
        epoch.advance()
    assert len(seen) == 300


def test_a_reader_in_another_process_sees_it_too(path: Path) -> None:
    epoch = Epoch(path)
    code = f"""
import sys
from pathlib import Path
from footnote_kit.epochs import EpochReader
reader = EpochReader(Path({str(path)!r}))
for _ in sys.stdin:
    print(reader.current(), flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for _ in range(3):
            other.stdin.write("look\n")
            other.stdin.flush()
            assert other.stdout.readline().strip() == epoch.name
            epoch.advance()
        other.stdin.close()


def test_nothing_is_known_before_a_writer_has_started_and_after_it_has_ended(path: Path) -> None:
    reader = EpochReader(path)
    assert reader.current() is None
    epoch = Epoch(path)
    assert reader.current() == epoch.name
    epoch.close()
    assert reader.current() is None


def test_a_new_launch_in_the_same_file_is_another_epoch(path: Path) -> None:
    reader = EpochReader(path)
    first = Epoch(path)
    name = first.name
    assert reader.current() == name
    second = Epoch(path)  # as after a crash: nobody has closed the first
    assert reader.current() == second.name != name


def test_a_file_that_was_cleared_away_is_not_believed(path: Path) -> None:
    reader, first = EpochReader(path), Epoch(path)
    assert reader.current() == first.name
    path.unlink()
    assert reader.current() is None
    second = Epoch(path)
    assert reader.current() == second.name


def test_another_machines_file_is_not_believed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = Epoch(path)
    here = EpochReader(path)
    monkeypatch.setattr(epochs, "_machine", lambda: b"elsewhere"[:8])
    there = EpochReader(path)
    assert there.current() is None
    assert here.current() == epoch.name


def test_links_and_files_of_another_size_are_not_believed(path: Path, tmp_path: Path) -> None:
    Epoch(tmp_path / "real")
    path.parent.mkdir()
    path.symlink_to(tmp_path / "real")
    assert EpochReader(path).current() is None
    path.unlink()
    path.write_bytes(b"epoch")
    assert EpochReader(path).current() is None
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="Too many levels"):
        Epoch(tmp_path / "link")


def test_the_file_is_this_users_alone(path: Path) -> None:
    Epoch(path)
    assert path.stat().st_mode & 0o077 == 0
