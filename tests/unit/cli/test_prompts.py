"""What a command asks for on a terminal: Ctrl-C ends it at once, and the questions are no part of its output."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest
from support.base_environment import inherited
from support.doubles.scripted_edge import ScriptedEdge

pytestmark = pytest.mark.slow

_RUN = """
import fcntl, sys, termios
from footnote_cli.main import run


class Input:
    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        if name in ("read", "readline"):
            print("it reads", file=sys.stderr, flush=True)
        return getattr(self.stream, name)

    def __iter__(self):
        return iter(self.readline, "")


fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.stdin = Input(sys.stdin)
run()
"""
_READS = "it reads"
_DOCUMENT = 32 * "a"
_CTRL_C = b"\x03"


class Terminal:
    """A command whose standard input and errors are a terminal, and whose output is a pipe unless `screen`."""

    def __init__(self, address: str, *command: str, screen: bool = False, errors: bool = True) -> None:
        self.ours, theirs = pty.openpty()
        environment = {**inherited(), "FOOTNOTE_EDGE_ADDRESS": address, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _RUN, *command],
            env=environment,
            stdin=theirs,
            stdout=theirs if screen else subprocess.PIPE,
            stderr=theirs if errors else subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            if select.select([self.ours], [], [], 0.2)[0]:
                self.shown += os.read(self.ours, 65536).decode()

    def wait_until_it_sleeps(self) -> None:
        """Wait until the command sleeps in its read: a signal just before that call is seen only after it."""
        end, command = time.monotonic() + 60, psutil.Process(self.process.pid)
        seen = 0
        while seen < 3:
            assert time.monotonic() < end, command.status()
            seen = seen + 1 if command.status() == psutil.STATUS_SLEEPING else 0
            time.sleep(0.02)

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def end(self, seconds: float = 60) -> tuple[int, str]:
        """Return the exit code and the output of a command that ends by itself."""
        output = self.process.communicate(timeout=seconds)[0]
        with suppress(OSError):  # the terminal's other end is closed
            while part := os.read(self.ours, 65536):
                self.shown += part.decode()
        return self.process.returncode, (output or b"").decode()


@contextmanager
def terminal(address: str, *command: str, screen: bool = False, errors: bool = True) -> Iterator[Terminal]:
    opened = Terminal(address, *command, screen=screen, errors=errors)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.communicate()
        os.close(opened.ours)


@pytest.mark.parametrize(
    ("command", "prompt"),
    [
        (["documents", "delete", _DOCUMENT], _READS),
        (["sources", "add", "web", "https://e.example", "--secret", "password"], "password:"),
        (["ask", "-"], _READS),
        (["vectors", "add", "c", "-"], _READS),
        (["search", "q", "--vector", "-"], _READS),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_ctrl_c_ends_a_command_that_waits_for_input(
    command: list[str], prompt: str, address: str, edge: ScriptedEdge
) -> None:
    with terminal(address, *command) as opened:
        opened.wait_for(prompt)
        opened.wait_until_it_sleeps()
        opened.type(_CTRL_C)
        code, output = opened.end()
    assert (code, output) == (130, "")
    assert "Interrupted." in opened.shown
    assert "Traceback" not in opened.shown
    assert edge.requests == []


def test_a_question_is_no_part_of_the_output(address: str) -> None:
    with terminal(address, "collections", "delete", "default", "--json") as opened:
        opened.wait_for("[y/N]")
        opened.type(b"y\n")
        code, output = opened.end(60)
    assert code == 0
    assert json.loads(output)["state"] == "OPERATION_STATE_SUCCEEDED"


@pytest.mark.parametrize(("answer", "code"), [(b"\n", 1), (b"no\n", 1), (b"\x04", 1), (b"YES\n", 0)])
def test_only_yes_deletes(answer: bytes, code: int, address: str, edge: ScriptedEdge) -> None:
    with terminal(address, "documents", "delete", _DOCUMENT, screen=True) as opened:
        opened.wait_for("[y/N]")
        opened.type(answer)
        assert opened.end(60)[0] == code
    assert bool(edge.requests) == (code == 0)
    assert not re.search("Traceback|Error", opened.shown)


def test_a_question_that_nobody_sees_is_not_asked(address: str, edge: ScriptedEdge) -> None:
    with terminal(address, "documents", "delete", _DOCUMENT, errors=False) as opened:
        assert opened.end(60)[0] == 2
    assert edge.requests == []
