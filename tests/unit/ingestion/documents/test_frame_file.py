"""Frames come as they were written, whether they stay in memory, go to the file, or do so while they are read."""

import asyncio
import os
from pathlib import Path

import pytest
from footnote_ingestion.documents import frame_file
from footnote_ingestion.documents.frame_file import FrameFile
from footnote_ingestion.worker import wire

Frames = list[tuple[bytes, bytes]]


def frames(count: int, size: int) -> Frames:
    return [(wire.BLOCKS, os.urandom(size)) for _ in range(count)] + [(wire.METADATA, b"last")]


async def read(spooled: FrameFile, pause: bool) -> Frames:
    found = []
    async for frame in spooled.frames():
        found.append(frame)
        if pause:
            await asyncio.sleep(0.002)
    return found


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize("most", [0, 150, 10_000])
async def test_all_frames_come_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, pause: bool
) -> None:
    monkeypatch.setattr(frame_file, "_IN_MEMORY", most)
    written, spooled = frames(30, 40), FrameFile(tmp_path / "frames")
    reading = asyncio.create_task(read(spooled, pause))
    for kind, payload in written:
        await spooled.append(kind, payload)
    await spooled.end()
    assert await reading == written
    assert (tmp_path / "frames").exists() == (most < 10_000)


async def test_what_is_spilled_is_whole_and_still_read(tmp_path: Path) -> None:
    written, path = frames(3, 40), tmp_path / "frames"
    spooled = FrameFile(path)
    for kind, payload in written:
        await spooled.append(kind, payload)
    assert not path.exists()
    await spooled.spill()
    await spooled.end()
    assert path.stat().st_size == sum(wire.HEADER.size + len(payload) for _, payload in written)
    assert await read(spooled, False) == written


async def test_a_failure_comes_after_the_last_frame(tmp_path: Path) -> None:
    spooled = FrameFile(tmp_path / "frames")
    await spooled.append(wire.BLOCKS, b"one")
    await spooled.end(ValueError("broken off"))
    reading = spooled.frames()
    assert await anext(reading) == (wire.BLOCKS, b"one")
    with pytest.raises(ValueError, match="broken off"):
        await anext(reading)
