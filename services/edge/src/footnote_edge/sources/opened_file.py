"""Opens files in threads, and leaves none open."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import IO


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
