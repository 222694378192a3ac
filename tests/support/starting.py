"""Starts `footnote` commands as forks of one process that has loaded their code, so that a start costs no imports.

A start by itself loads the same code for seconds of a core, which a round of the harness would pay thirty times. What
a fork does from there on is what `footnote` does: arguments, environment, session, output and exit code are its own.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import psutil

from support import base_environment

_SET_PDEATHSIG = 1
PAUSE = 0.005
"""Seconds between two looks at whether a process has ended."""


class Started:
    """A started command, with the part of `subprocess.Popen` that deployments use."""

    def __init__(self, starter: Starter, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._starter = starter

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._starter.ask(poll=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code; raises subprocess.TimeoutExpired."""
        ends = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if ends is not None and time.monotonic() > ends:
                raise subprocess.TimeoutExpired("footnote", timeout or 0.0)
            time.sleep(PAUSE)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended; it cannot be another process's, whose id is kept until `poll` says so."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Starter:
    """The process that is forked. Use it as a context manager; it may be shared by threads."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {**base_environment.inherited(), "PYTHONPATH": os.pathsep.join(sys.path)}
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        self._socket = ours
        self._lines = ours.makefile("rw", encoding="utf-8")
        self._lock = threading.Lock()

    def __enter__(self) -> Starter:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()
        self._process.wait()

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        output: Path = Path(os.devnull),
        program: str = "footnote_cli.main",
    ) -> Started:
        """Start `footnote`, or another module's `run`, with these arguments.

        What it says on stderr is appended to `log`, and on stdout to `output`.
        """
        named = {"log": str(log), "output": str(output), "program": program}
        return Started(self, self.ask(arguments=list(arguments), environment=dict(environment), **named))

    def processor_seconds(self) -> float:
        """Return what it and the forks that have ended have used, 0 once it has ended itself."""
        with suppress(psutil.NoSuchProcess):
            return sum(psutil.Process(self._process.pid).cpu_times()[:4])
        return 0.0

    def ask(self, **what: Any) -> Any:
        """Return the answer to a request."""
        with self._lock:
            self._lines.write(json.dumps(what) + "\n")
            self._lines.flush()
            if not (line := self._lines.readline()):
                raise RuntimeError(f"the process that is forked has ended with {self._process.wait()}")
        return json.loads(line)


@cache
def shared() -> Starter:
    """Return the one of this test run, which the first caller starts; it ends when the run's process does."""
    starter = Starter()
    atexit.register(starter.__exit__)
    return starter


def shared_processor_seconds() -> float:
    """Return what the one of this test run has used."""
    return shared().processor_seconds() if shared.cache_info().currsize else 0.0


def _serve(descriptor: int) -> None:
    """Fork on request, and report how forks ended, until the peer disconnects."""
    ended: dict[int, int] = {}
    with socket.socket(fileno=descriptor) as ours, ours.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if "poll" in message:
                pid = message["poll"]
                if pid not in ended and (found := os.waitpid(pid, os.WNOHANG))[0]:
                    ended[pid] = os.waitstatus_to_exitcode(found[1])
                answer = ended.get(pid)
            else:
                answer = _fork(message)
                ended.pop(answer, None)  # ids of processes come again within a long run
            lines.write(json.dumps(answer) + "\n")
            lines.flush()


def _fork(message: Mapping[str, Any]) -> int:
    pid = os.fork()
    if not pid:
        _become(message)
    return pid


def _become(message: Mapping[str, Any]) -> NoReturn:
    """Run the command line until the process exits, whatever happens."""
    code = 1
    try:
        os.setsid()
        if sys.platform == "linux":  # as its parser's and engine's processes end with it, it ends with the tests
            ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDWR)
        appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        output, log = (os.open(message[name], appending, 0o666) for name in ("output", "log"))
        for descriptor, place in ((nothing, 0), (output, 1), (log, 2)):
            os.dup2(descriptor, place)
        os.closerange(3, max(int(one.name) for one in Path("/proc/self/fd").iterdir()) + 1)
        os.environ.clear()
        os.environ.update(message["environment"])
        sys.argv = ["footnote", *message["arguments"]]
        import_module(message["program"]).run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Load everything, and be forked."""
    from alembic import command as _migrations  # noqa: F401  # a new folder is migrated by each of its processes
    from footnote_cli import forked
    from footnote_cli import main as command  # loaded here, or each fork would load it
    from footnote_kit.settings import STAGES

    assert command.app
    forked.load(STAGES)
    assert forked.can_fork(), "a library has started a thread while it was loaded"
    _serve(int(sys.argv[1]))


if __name__ == "__main__":
    main()
