"""Opens files in threads, and leaves none open."""

import asyncio
import errno
import os
import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def regular(path: Path | str, folder: int | None = None) -> IO[bytes]:
    """Open a regular file, below an open folder if one is given; raises OSError for a link, a pipe or a device."""
    file = os.open(path, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    return os.fdopen(file, "rb")


@asynccontextmanager
async def opened(open_file: Callable[[], IO[bytes]]) -> AsyncGenerator[IO[bytes]]:
    """Yield a file that `open_file` opens in a thread, and close it.

    A thread goes on when its caller is cancelled: the file that it opens then is closed as well.
    """
    opening = asyncio.ensure_future(asyncio.to_thread(open_file))
    try:
        file = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise
    with file:
        yield file


def _close(opening: asyncio.Future[IO[bytes]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
