"""Parses pages, feeds and sitemaps in the reading process; a slow or crashed parse fails only its item."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any

from footnote_edge.sources.ports import ItemFailed

SECONDS = 5.0
"""Processor seconds of one request."""
_WAIT = 120.0
"""Seconds until a request without processor use is given up: the machine is busy, and the item is retried."""
_LINE = 256 * 1024 * 1024
_KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH")
_ENDS = 10.0
"""Seconds in which a process that closed its output has ended, on a crowded machine."""


class Reader:
    """One reading process, started on demand and again after it was killed."""

    def __init__(self, seconds: float = SECONDS, wait: float = _WAIT) -> None:
        self._seconds = seconds
        self._wait = wait
        self._process: Process | None = None
        self._lock = asyncio.Lock()

    async def read(self, task: str, data: bytes, *, base: str = "", encoding: str = "") -> dict[str, Any]:
        """Return a task's result for some bytes; raises ItemFailed(INVALID) with the problem in them.

        A failure not caused by the bytes is not permanent: the machine is overloaded or out of memory.
        """
        request = {"task": task, "base": base, "encoding": encoding, "bytes": len(data), "seconds": self._seconds}
        async with self._lock:
            try:
                async with asyncio.timeout(self._wait):
                    answer = await self._ask(json.dumps(request).encode("ascii") + b"\n" + data)
            except (TimeoutError, ValueError):
                await self._kill()
                raise ItemFailed("INVALID", "It could not be read: the server is busy.") from None
            except (OSError, asyncio.IncompleteReadError):
                ended = await self._kill(_ENDS)
                if ended == -signal.SIGPROF:
                    raise ItemFailed("INVALID", "It cannot be read: it takes too long.", permanent=True) from None
                raise ItemFailed("INVALID", "It could not be read: the server is busy.") from None
            except asyncio.CancelledError:
                await self._kill()
                raise
        if "error" in answer:
            raise ItemFailed("INVALID", str(answer["error"]), permanent=True)
        result: dict[str, Any] = answer["result"]
        return result

    async def close(self) -> None:
        """End the process."""
        await self._kill()

    async def _ask(self, question: bytes) -> dict[str, Any]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "footnote_edge.sources.reading.process",
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LINE, start_new_session=True,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question)
        await self._process.stdin.drain()
        answer = await self._process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise OSError("the reading process ended")
        found: dict[str, Any] = await asyncio.to_thread(json.loads, answer)
        return found

    async def _kill(self, wait_seconds: float = 0.0) -> int:
        """End the process; return its exit status, negative for a signal that had ended it before.

        A process that is ending by itself gets `wait_seconds`: a kill would take its status from the event loop.
        """
        process, self._process = self._process, None
        if process is None:
            return 0
        if wait_seconds:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]
        return process.returncode or 0
