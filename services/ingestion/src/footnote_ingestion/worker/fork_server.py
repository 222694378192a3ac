"""The fork server of workers: it loads everything that they need, and never sees a file.

Run as `python -m footnote_ingestion.worker.fork_server`, with a socket as standard input. Each request is one JSON
line, a plan, with two descriptors, the worker's jobs and answers. The reply is the worker's process id, with a pidfd
if the system supports it. The line "ended" with a process id asks how that worker ended. The line "run" with a
program forks a process of another service, which has no sandbox, as it reads no file. The process exits when the socket
closes, or with its parent.

A fresh worker costs a fork instead of a second of loading, so that two tenants never share one. What checks of files do
not need, and what only questions about tables need, is loaded before the first worker for these is forked.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NoReturn

from footnote_ingestion.worker import child, sandbox
from footnote_ingestion.worker.plan import RUN, Plan, Program

NICENESS = 10
"""Niceness of workers: searches and answers take precedence."""
ENDED = "ended "
"""First word of a request for the exit code of a worker, followed by its process id."""
RUNNING, UNKNOWN = "running", "unknown"
"""Replies about a worker that has no exit code, or whose exit code is forgotten."""
_LINE = 65_536
# Exit codes kept; the supervisor asks at once.
_MOST_ENDS = 256


def main() -> None:
    """Load, then fork a worker per request until the socket closes."""
    parent = int(sys.argv[1])
    sandbox.die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl+C, and ends us by closing our socket
    ends = Ends()
    signal.signal(signal.SIGCHLD, lambda number, frame: ends.reap())
    warnings.simplefilter("ignore")
    logging.disable()  # parsers log much about broken files
    requests = socket.socket(fileno=0)
    _load(child.load)
    load_engine, load_tables = cache(partial(_load, child.load_engine)), cache(partial(_load, child.load_tables))
    load_program = cache(_load_program)
    requests.sendall(b"ready\n")
    while request := _receive(requests):
        line, descriptors = request
        if line.startswith(ENDED):
            requests.sendall(f"{ends.of(int(line.removeprefix(ENDED)))}\n".encode())
            continue
        if line.startswith(RUN):
            program = Program.from_line(line)
            load_program(program.module)
            serve = partial(_serve_program, program)
        else:
            plan = Plan.from_line(line)
            if plan.work != "inspect":
                load_engine()
            if plan.work == "tables":
                load_tables()
            serve = partial(_serve_worker, plan)
        jobs, answers = descriptors
        pid = os.fork()
        if not pid:
            _become(requests, serve, jobs, answers)
        os.close(jobs)
        os.close(answers)
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        socket.send_fds(requests, [f"{pid}\n".encode()], [handle] if handle >= 0 else [])
        if handle >= 0:
            os.close(handle)


def _load(modules: Callable[[], object]) -> None:
    """Load modules, so that workers have them when they are forked."""
    gc.disable()  # nothing loaded is to be freed
    try:
        modules()
        # Python caches the listing of its path's folders, which a sandboxed parser may be unable to list later.
        PathFinder.find_spec("footnote_nothing")
    finally:
        gc.freeze()  # loaded objects stay unchanged, in pages that all workers share
        gc.enable()


def _load_program(module: str) -> None:
    with suppress(Exception):  # its own process fails then, and not this one
        _load(partial(import_module, module))


class Ends:
    """Exit codes of the workers that ended last, negative signal numbers as `subprocess` gives them."""

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def reap(self) -> None:
        """Take the exit codes of all workers that have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])
        while len(self._codes) > _MOST_ENDS:
            self._codes.pop(next(iter(self._codes)))

    def of(self, pid: int) -> int | str:
        """Return and forget the exit code of a worker; RUNNING or UNKNOWN if there is none."""
        self.reap()
        if (code := self._codes.pop(pid, None)) is not None:
            return code
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return UNKNOWN
        except PermissionError:
            pass
        return RUNNING


def _receive(requests: socket.socket) -> tuple[str, list[int]] | None:
    """Return the next request with its descriptors, None at the end."""
    data = b""
    descriptors: list[int] = []
    while not data.endswith(b"\n"):
        part, given, _, _ = socket.recv_fds(requests, _LINE, 2)
        if not part:
            return None
        data += part
        descriptors += given
    return data.decode(), descriptors


def _become(requests: socket.socket, serve: Callable[[int, int], None], jobs: int, answers: int) -> NoReturn:
    """Serve until the process exits, whatever happens."""
    fork_server = os.getppid()
    with suppress(BaseException):
        os.setsid()  # its own process group, so that programs it starts die with it
        _step_back()
        requests.detach()
        os.dup2(jobs, 0)
        os.close(jobs)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        serve(fork_server, answers)
    os._exit(0)


def _serve_worker(plan: Plan, fork_server: int, answers: int) -> None:
    sandbox.die_with(fork_server)
    os.dup2(2, 1)  # library output must not mix with the frames
    child.serve(plan, fork_server, os.fdopen(0, "rb"), os.fdopen(answers, "wb"))


def _serve_program(program: Program, _: int, answers: int) -> None:
    # It outlives the fork server, whose end is no failure of what it works at, and exits at the end of its input.
    os.dup2(answers, 1)
    os.close(answers)
    os.environ.update(program.environment)
    import_module(program.module).main()


def _step_back() -> None:
    """Lower the priority below searches and answers: Linux weighs niceness within a session, and each has its own."""
    os.nice(NICENESS)
    with suppress(OSError):  # a kernel that does not group processes by session has no such file
        Path("/proc/self/autogroup").write_text(str(NICENESS))


if __name__ == "__main__":
    main()
