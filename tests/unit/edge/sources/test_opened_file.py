"""A file that a thread opens for a caller who is gone by then is closed."""

import asyncio
import threading
from pathlib import Path
from typing import IO

import pytest
from footnote_edge.sources.opened_file import opened


async def test_a_file_is_open_in_the_block_and_closed_after_it(tmp_path: Path) -> None:
    async with opened(lambda: (tmp_path / "a").open("wb")) as file:
        file.write(b"x")
        assert not file.closed
    assert file.closed


async def test_a_file_that_is_opened_after_its_caller_was_cancelled_is_closed(tmp_path: Path) -> None:
    let, made = threading.Event(), asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()

    def slowly() -> IO[bytes]:
        let.wait(60)
        file = (tmp_path / "a").open("wb")
        loop.call_soon_threadsafe(made.set_result, file)
        return file

    async def use() -> None:
        async with opened(slowly):
            pytest.fail("the block must not run")

    task = asyncio.create_task(use())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    let.set()
    file: IO[bytes] = await made
    while not file.closed:  # noqa: ASYNC110 - the loop hears of it a moment later
        await asyncio.sleep(0.01)


async def test_what_cannot_be_opened_raises_its_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        async with opened(lambda: (tmp_path / "none").open("rb")):
            pytest.fail("the block must not run")
