"""The embedded vector engine: the Milvus Lite C++ core as a supervised child process on a Unix socket.

It does not authenticate callers. The socket's folder, which only this user may enter, keeps out the machine's other
users. Processes of the same user can read the database's files anyway.

The `milvus_lite` package is located, not imported: its `__init__` needs a module that Python no longer ships, and
only the binary is needed. When started with an address, the engine takes no lock on its file. The launcher therefore
takes one and the child inherits it, so the lock is free only when both processes have ended.

The engine leaves deleted rows in free pages of its SQLite file, so the file is compacted while the engine is stopped.
It must not run meanwhile: it treats a write to a locked file as done. For the same reason no other process may even
read the file while the engine runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib.util
import math
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

from footnote_database.parts import Parts
from footnote_kit.backoff import Backoff
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.private import child_environment

from footnote_store import folder_check
from footnote_store.endpoint import Endpoint, Loopback, Socket

_log = get_logger("footnote.store.engine")

_START_TIMEOUT = 60.0  # seconds; loading 70 000 rows takes about 2.4
_STOP_GRACE = 5.0
_LOCK_WAIT = 10.0  # an engine orphaned by kill -9 needs a moment to die
_BACKOFF = Backoff(first=0.25, longest=12.5, least=0.6)
_STABLE_AFTER = 60.0
_LOG_LIMIT = 10 * 1024 * 1024
_SMALL = 64 * 1024 * 1024  # bytes; compaction takes well under a second

# A bare interpreter runs this in the child before it becomes the engine. It asks the kernel to kill the child when
# the parent dies (PR_SET_PDEATHSIG = 1, SIGKILL = 9; it survives exec), and exits if the parent has died already. The
# engine's library folder is set only here, because with it the interpreter itself would load the wrong C library.
_TRAMPOLINE = (
    "import ctypes,os,sys\n"
    "if sys.platform=='linux':\n"
    "    ctypes.CDLL(None).prctl(1,9,0,0,0)\n"
    "    if os.getppid()!=int(sys.argv[1]): sys.exit(0)\n"
    "os.umask(0o77)\n"
    "os.environ.update(LD_LIBRARY_PATH=sys.argv[2],DYLD_LIBRARY_PATH=sys.argv[2])\n"
    "os.execv(sys.argv[3],sys.argv[3:])\n"
)


def engine_folder() -> Path | None:
    """Return the folder with the engine's binary and libraries; None when it is not installed."""
    spec = importlib.util.find_spec("milvus_lite")
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "lib"
        if (folder / "milvus").is_file():
            return folder
    return None


class EmbeddedEngine:
    """One engine process for one folder: restarted when it crashes, ended when this process ends.

    A small file that was written to is compacted at start and stop. Any written file is also compacted
    `compact_after` seconds after the last time. That happens at a start, or in between, which stops the engine for a
    moment. 0 means at every start and never in between.

    `data_dir` holds the database and the socket, whose address stays the same. With a `port` the engine listens on
    loopback, where every process of this machine can read and change its data; 0 picks a free port. With `parts`, a
    missing file that existed before is an error.
    """

    def __init__(
        self, data_dir: Path, port: int | None = None, compact_after: float = 0.0, parts: Parts | None = None
    ) -> None:
        self._dir = data_dir
        self._database = data_dir / "vectors.db"
        self._compact_after = compact_after
        self._parts = parts
        self._wanted_port = port
        self._endpoint: Endpoint = Socket(data_dir) if port is None else Loopback(port)
        self._lock_fd: int | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._stopping = False
        self.restarts = 0

    @property
    def uri(self) -> str:
        """The engine's address in pymilvus's form."""
        return self._endpoint.uri

    @property
    def pid(self) -> int | None:
        """Process id of the running engine; None when it is not running."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self) -> str:
        """Start the engine, wait until it serves, and return its address.

        Raises FailedPrecondition when another process uses the folder, or when the file is damaged, missing or
        another installation's. Raises Unavailable when the engine does not start.
        """
        folder = engine_folder()
        if folder is None:
            raise FailedPrecondition("the embedded vector engine (milvus-lite 2.5.1) is not installed here")
        self._dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._take_lock()
        try:
            if self._wanted_port is not None:
                _log.warning("vector_engine_open", hint="every process of this machine can read and change its data")
            await asyncio.to_thread(folder_check.check, self._dir, self._database, self._parts)
            if self._is_small() or age(self._database) >= self._compact_after:
                await asyncio.to_thread(compact, self._database)
            for attempt in range(3):
                self._endpoint = Socket(self._dir) if self._wanted_port is None else Loopback(self._wanted_port)
                try:
                    await self._spawn(folder)
                    break
                except Unavailable:
                    # Another process may have taken the free port first; a requested port is never replaced.
                    if self._wanted_port != 0 or attempt == 2:
                        raise
            if self._parts is not None and self._database.exists():
                await asyncio.to_thread(self._parts.note, folder_check.PART)
        except BaseException:
            await self.stop()
            raise
        self._supervisor = asyncio.create_task(self._supervise(folder), name="vector-engine-supervisor")
        return self.uri

    async def stop(self) -> None:
        """Stop the engine and release the folder. Safe to call twice."""
        self._stopping = True
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)  # the lock must be released whatever it met
            self._supervisor = None
        await self._end_process()
        if self._lock_fd is not None:
            if self._is_small():
                await asyncio.to_thread(compact, self._database)
            os.close(self._lock_fd)
            self._lock_fd = None
        self._stopping = False

    async def _take_lock(self) -> None:
        fd = os.open(self._dir / "engine.lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + _LOCK_WAIT
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(fd)
                    raise FailedPrecondition(
                        f"another process is using the vector database in {self._dir}; "
                        "stop it, or give this one another data folder"
                    ) from None
                await asyncio.sleep(0.1)
            except BaseException:
                os.close(fd)
                raise
            else:
                self._lock_fd = fd
                return

    def _open_log(self) -> int:
        path = self._dir / "engine.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            flags |= os.O_TRUNC
        return os.open(path, flags, 0o600)

    async def _spawn(self, folder: Path) -> None:
        """Start the process and wait until it accepts connections; raises Unavailable."""
        try:
            self._process = process = await self._fork(folder)
        except OSError as error:  # no memory, process, descriptor or space is left at the moment
            raise self._unavailable(f"cannot be started ({error.strerror or error})") from error
        try:
            await self._wait_ready(process)
        except BaseException:
            await self._end_process()
            raise

    async def _fork(self, folder: Path) -> asyncio.subprocess.Process:
        assert self._lock_fd is not None
        self._endpoint.prepare()
        log = self._open_log()
        try:
            # Its own session, because Ctrl-C reaches the whole process group, and the services must drain before the
            # engine ends.
            return await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _TRAMPOLINE, str(os.getpid()), str(folder),
                str(folder / "milvus"), str(self._database), self._endpoint.listen, "ERROR",
                cwd=self._dir, env=child_environment(), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(self._lock_fd,), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(log)

    async def _wait_ready(self, process: asyncio.subprocess.Process) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline:
            if process.returncode is not None:
                raise self._unavailable(f"ended with code {process.returncode} while starting")
            try:
                async with asyncio.timeout(1.0):
                    _, writer = await self._endpoint.connect()
            except (OSError, TimeoutError):
                await asyncio.sleep(0.02)
                continue
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            # Another program on the port would respond too; in that case the child is about to exit.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await process.wait()
            if process.returncode is None:
                return
        raise self._unavailable(f"does not answer after {_START_TIMEOUT:.0f} s")

    def _unavailable(self, problem: str) -> Unavailable:
        return Unavailable(f"the vector engine {problem}; see {self._dir / 'engine.log'}", reason="STORE_UNAVAILABLE")

    async def _supervise(self, folder: Path) -> None:
        """Wait for the process to end and restart it at the same address, with backoff."""
        failures = 0
        while True:
            process = self._process
            started = time.monotonic()
            if process is not None:
                try:
                    async with asyncio.timeout(self._compact_after or None):
                        await process.wait()
                except TimeoutError:
                    if needs_compaction(self._database):
                        await self._pause(folder)
                    continue
                if time.monotonic() - started > _STABLE_AFTER:
                    failures = 0
                _log.error("vector_engine_ended", returncode=process.returncode, restarts=self.restarts)
            failures += 1
            await asyncio.sleep(_BACKOFF.pause(failures))
            self.restarts += 1
            try:
                await self._spawn(folder)
            except Unavailable as error:
                _log.error("vector_engine_restart_failed", error=error.message)
                self._process = None
            else:
                _log.info("vector_engine_restarted", address=self.uri)

    def _is_small(self) -> bool:
        return self._database.exists() and self._database.stat().st_size <= _SMALL

    async def _pause(self, folder: Path) -> None:
        """Stop the engine, compact its file, and restart it; the supervisor handles a failed start."""
        began = time.monotonic()
        await self._end_process()
        await asyncio.to_thread(compact, self._database)
        try:
            await self._spawn(folder)
        except Unavailable as error:
            _log.error("vector_engine_restart_failed", error=error.message)
        else:
            _log.info("vector_engine_compacted", seconds=round(time.monotonic() - began, 3))

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        for sig, grace in ((signal.SIGTERM, _STOP_GRACE), (signal.SIGKILL, _STOP_GRACE)):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(sig)
            try:
                async with asyncio.timeout(grace):
                    await process.wait()
            except TimeoutError:
                continue
            return


def needs_compaction(database: Path) -> bool:
    """Return whether the file was written since its last compaction."""
    try:
        written = database.stat().st_mtime_ns
    except OSError:
        return False
    try:
        return _marker(database).stat().st_mtime_ns < written
    except OSError:
        return True


def age(database: Path) -> float:
    """Return the seconds since the last compaction; infinity when there was none."""
    try:
        return time.time() - _marker(database).stat().st_mtime
    except OSError:
        return math.inf


def compact(database: Path) -> bool:
    """Compact the file if it was written since the last time; return whether that happened.

    The engine must not be running. After a failure the file stays as it is.
    """
    if not needs_compaction(database):
        return False
    try:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("VACUUM")
        _marker(database).touch()
    except (sqlite3.Error, OSError) as error:
        _log.warning("store_not_compacted", error=type(error).__name__)
        return False
    return True


def _marker(database: Path) -> Path:
    return database.with_name("compacted")
