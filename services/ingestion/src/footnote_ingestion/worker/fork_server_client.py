"""The service's end of the fork server (`fork_server`): starts it, requests workers, restarts it when it has died."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping

from footnote_kit.app import Forked

from footnote_ingestion.worker.plan import Plan, Program

_START_SECONDS = 60.0
_END_SECONDS = 2.0
_PART = 65_536
# The environment variables that workers need; secrets are not among them.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "TESSDATA_PREFIX")


class Starter:
    """Starts worker processes; `module` runs as the fork server. Close it after all of its workers."""

    def __init__(self, module: str = "footnote_ingestion.worker.fork_server") -> None:
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._lock = asyncio.Lock()
        self._unwanted: set[asyncio.Task[None]] = set()
        self._asking: set[asyncio.Task[str]] = set()
        self._closed = False

    @property
    def fork_server(self) -> int:
        """Process id of the running fork server, 0 for none."""
        process = self._process
        return 0 if process is None or process.returncode is not None else process.pid

    async def start(self, plan: Plan) -> Forked:
        """Return a fresh worker process for a plan; raises `RuntimeError` when none can be started."""
        return await self._forked(plan.line())

    async def fork(self, module: str, environment: Mapping[str, str]) -> Forked:
        """Return a fresh process for another service of ours, as `footnote_kit.app` says; it has no sandbox."""
        return await self._forked(Program(module, environment).line())

    async def _forked(self, line: str) -> Forked:
        await self._lock.acquire()
        # A separate task, which releases the lock itself: cancelling a waiting caller must not interrupt the exchange
        # with the fork server, on which all workers depend.
        starting = asyncio.create_task(self._start(line))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            ending = asyncio.create_task(_end_unwanted(starting))
            self._unwanted.add(ending)
            ending.add_done_callback(self._unwanted.discard)
            raise

    async def ended(self, pid: int) -> str:
        """Return the exit code of a worker, "running" without one, and "unknown" also when the fork server has died."""
        asking = asyncio.create_task(self._ended(pid))  # not cancelled with its caller, as in `start`
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """End the fork server, and with it every remaining worker."""
        self._closed = True
        async with self._lock:
            await self._end()
        await asyncio.gather(*self._unwanted, *self._asking)

    async def _ended(self, pid: int) -> str:
        async with self._lock:
            if self._socket is None or not self.fork_server:
                return "unknown"
            try:
                return await asyncio.to_thread(_ask_end, self._socket, pid)
            except OSError:
                await self._end()
                return "unknown"

    async def _start(self, line: str) -> Forked:
        try:
            with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
                jobs_end, jobs = _pipe(closing=(theirs, ours))
                answers, answers_end = _pipe(closing=(ours, theirs))
                pid, handle = await self._ask(line, jobs_end, answers_end)
                ours.pop_all()  # a worker without a caller exits at the end of its input
        except OSError as error:  # no descriptors left
            raise RuntimeError("a parser process did not start") from error
        finally:
            self._lock.release()
        return Forked(pid, handle, await _writer(jobs), await _reader(answers))

    async def _ask(self, line: str, jobs: int, answers: int) -> tuple[int, int]:
        if self._closed:
            raise RuntimeError("no more parser processes are started")
        channel = await self._alive()
        try:
            # Shielded: otherwise the next request could receive this request's answer.
            return await asyncio.shield(asyncio.to_thread(_exchange, channel, line, jobs, answers))
        except BaseException:
            await asyncio.shield(self._end())
            raise

    async def _alive(self) -> socket.socket:
        """Return the socket of a running fork server."""
        if self._socket is not None and self.fork_server:
            return self._socket
        await self._end()
        ours, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", self._module, str(os.getpid()),
                stdin=theirs.fileno(), stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,  # libraries quote the document there
                env=environment, start_new_session=True,
            )  # fmt: skip
            self._socket = ours
            ours.settimeout(_START_SECONDS)
            if await asyncio.shield(asyncio.to_thread(ours.recv, 16)) != b"ready\n":
                raise RuntimeError("parser processes cannot be started here")
        except BaseException:
            ours.close()
            await asyncio.shield(self._end())
            raise
        finally:
            theirs.close()
        return ours

    async def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            await process.wait()


async def _end_unwanted(starting: asyncio.Task[Forked]) -> None:
    """End a worker whose caller was cancelled during its start, if it did start."""
    try:
        started = await starting
    except (Exception, asyncio.CancelledError):
        return
    if started.handle >= 0:
        os.close(started.handle)
    started.jobs.close()  # it exits at the end of its input, and its answers end with it
    while await started.answers.read(_PART):
        pass


def _pipe(closing: tuple[contextlib.ExitStack, contextlib.ExitStack]) -> tuple[int, int]:
    """Return a pipe's read and write ends, each closed with its stack; raises `OSError`."""
    ends = os.pipe()
    for stack, end in zip(closing, ends, strict=True):
        stack.callback(os.close, end)
    return ends


def _exchange(channel: socket.socket, line: str, jobs: int, answers: int) -> tuple[int, int]:
    """Send one request and return the reply; raises `OSError` when the fork server does not answer."""
    socket.send_fds(channel, [line.encode() + b"\n"], [jobs, answers])
    reply, handles, _, _ = socket.recv_fds(channel, 64, 1)
    if not reply.endswith(b"\n"):
        raise ConnectionError("the fork server has ended")
    return int(reply), handles[0] if handles else -1


def _ask_end(channel: socket.socket, pid: int) -> str:
    """Return the fork server's reply to how a worker ended; raises `OSError` when it does not answer."""
    channel.sendall(f"ended {pid}\n".encode())
    reply = channel.recv(64)
    if not reply.endswith(b"\n"):
        raise ConnectionError("the fork server has ended")
    return reply.decode().strip()


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0))
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(descriptor, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
