"""The parent's side of the embedding process: starts it, calls it, and restarts it when it dies or hangs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from footnote_kit import native_logs
from footnote_kit.errors import Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.private import child_environment
from footnote_text.language_model import cache_folder

from footnote_providers.base import Vectors
from footnote_providers.e5.files import made
from footnote_providers.e5.worker import FAILED, HEADER, READY

_log = get_logger(__name__)
_START, _ANSWER = 60.0, 120.0  # seconds
_MAKE = 600.0  # added when the model's files must be created first, which another process may be doing
_ATTEMPTS = 5
_PAUSE = 0.2  # seconds, doubled after each death in a row
_DIED = "The embedding process died"


class _Died(Exception):
    """The process ended, or was killed because it did not respond in time."""


class _Running:
    """One started process and its pending requests."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked: dict[int, asyncio.Future[bytes]] = {READY: asyncio.get_running_loop().create_future()}
        self._numbers = itertools.count(READY + 1)
        self._writing = asyncio.Lock()
        self._reading = asyncio.create_task(self._read())

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._reading.done()

    async def ready(self, seconds: float) -> None:
        """Wait until the model is loaded."""
        await self._answered(READY, seconds)

    async def ask(self, kind: int, texts: Sequence[str]) -> bytes:
        """Return the rows of texts; raises _Died, or Unavailable when the model itself failed."""
        number = next(self._numbers) % (1 << 32) or next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        content = json.dumps(list(texts)).encode()
        try:
            assert self._process.stdin is not None
            async with self._writing:
                self._process.stdin.write(HEADER.pack(number, kind, len(content)) + content)
                await self._process.stdin.drain()
            return await self._answered(number, _ANSWER)
        except (ConnectionError, TimeoutError) as error:
            await self.end()
            raise _Died from error
        finally:
            self._asked.pop(number, None)

    async def end(self) -> None:
        """Kill the process and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _answered(self, number: int, seconds: float) -> bytes:
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self._asked[number])

    async def _read(self) -> None:
        output = self._process.stdout
        assert output is not None
        try:
            while True:
                number, state, length = HEADER.unpack(await output.readexactly(HEADER.size))
                content = await output.readexactly(length)
                waiting = self._asked.get(number)
                if waiting is None or waiting.done():
                    continue  # the caller has gone
                if state == FAILED:
                    failure = Unavailable(f"The e5 model failed: {content.decode()}", reason="PROVIDER_FAILED")
                    waiting.set_exception(failure)
                else:
                    waiting.set_result(content)
        except asyncio.IncompleteReadError:
            for waiting in self._asked.values():
                if not waiting.done():
                    waiting.set_exception(_Died())
                    waiting.exception()  # marked as retrieved, in case its caller has gone


class EmbeddingProcess:
    """The process behind a provider, started on first use and restarted after its death; for one event loop."""

    def __init__(self, cache: Path | None, threads: int) -> None:
        self._cache = cache or cache_folder()
        self._arguments = [str(self._cache), str(threads)]
        self._running: _Running | None = None
        self._starting = asyncio.Lock()
        self.starts = 0

    async def embed(self, kind: int, texts: Sequence[str], dimensions: int) -> Vectors:
        """Return vectors of a few texts, shape (n, dimensions); up to five attempts if the process dies.

        Raises Unavailable(PROVIDER_FAILED).
        """
        for attempt in range(_ATTEMPTS):
            try:
                content = await (await self._start()).ask(kind, texts)
                return np.frombuffer(content, np.float32).reshape(-1, dimensions).copy()
            except _Died:
                _log.warning("embedding_process_died", provider="e5", attempt=attempt + 1)
                await asyncio.sleep(_PAUSE * 2**attempt if attempt else 0)
        raise Unavailable(f"{_DIED} {_ATTEMPTS} times in a row.", reason="PROVIDER_FAILED")

    async def close(self) -> None:
        """End the process."""
        if self._running is not None:
            await self._running.end()
            self._running = None

    async def _start(self) -> _Running:
        async with self._starting:
            if self._running is not None and self._running.alive:
                await self._ready(self._running)  # the caller that started it may have been cancelled
                return self._running
            if self._running is not None:
                await self._running.end()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "footnote_providers.e5.worker",
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=native_logs.stderr(),  # not our pipe, which never blocks and ends with this process
                env=child_environment(PYTHONPATH=":".join(filter(None, sys.path))),
                start_new_session=True,  # Ctrl-C is for the parent, which ends the process
            )
            self.starts += 1
            self._running = _Running(process)
            await self._ready(self._running)
            return self._running

    async def _ready(self, running: _Running) -> None:
        try:
            await running.ready(_START if made(self._cache) else _START + _MAKE)
        except TimeoutError:
            await running.end()
            raise _Died from None
