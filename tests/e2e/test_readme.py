"""Every command of README and the guides, verbatim, one after the other, in one shell beside the sample documents."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from support.base_environment import NAMED
from support.doubles.model_chat import Finish, Say, serve_model
from support.readme import commands

ROOT = Path(__file__).resolve().parents[2]
PORTS = (7100, 7101, 7102, 7103, 7104, 7105, 7180)
WITH_REASON = {
    r"make (demo|test|lint|protos-lint|polyglot|bench)\b|\.ci/run": "is what runs this, or runs beside it",
    r"python3 -m venv|pip install": "the environment of these tests was made so; it needs a package index",
    r"export OPENAI_API_KEY=": "a key of the reader's own; here a scripted model stands behind the same variables",
    r"footnote sources add web": "an example's address; tests/e2e/test_sources.py runs the lines on a site of its own",
    r"buf generate": "its plugins come from a registry; `make polyglot` generates with those that are here",
}
"""Commands that are not run here, and why."""
COMMANDS = commands()
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
_END = "end-of-command"
# All commands are run before the first test, each within three minutes: two minutes on two idle cores.
pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command."""

    code: int
    output: str
    skipped: str = ""


class Shell:
    """A bash that keeps its variables from command to command; a service that is started runs on behind it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._log = folder / "serve.log"
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=folder, env=environment, start_new_session=True, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, line: str) -> Outcome:
        """Type a command, and wait for it."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{line}\necho; echo {_END} $?\n")
        self._bash.stdin.flush()
        limit = threading.Timer(180, os.killpg, (self._bash.pid, signal.SIGKILL))
        limit.start()
        try:
            output = []
            while not (text := self._bash.stdout.readline()).startswith(_END):
                output.append(text)
                if not text:
                    return Outcome(1, "".join(output) + "It did not end.")
        finally:
            limit.cancel()
        return Outcome(int(text.split()[1]), "".join(output))

    def serve(self, line: str) -> Outcome:
        """Start services in place of those that ran."""
        self.stop()
        self.run(f"{line.split('#')[0].strip()} >serve.log 2>&1 &")
        end = time.monotonic() + 120
        while not self._answers(line):
            if time.monotonic() > end:
                return Outcome(1, self._log.read_text())
            time.sleep(0.3)
        return Outcome(0, "")

    def _answers(self, line: str) -> bool:
        if "all" in line:
            return _listening(7100) and self.run("footnote health").code == 0
        return _listening(7104)

    def stop(self) -> None:
        """End what is served, as Ctrl-C does."""
        self.run("kill -INT %% 2>/dev/null; wait")

    def close(self) -> None:
        """End it all."""
        self.stop()
        self._bash.communicate("exit\n", timeout=60)


def _listening(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _missing(line: str) -> str:
    """Return why a command cannot run here; empty when it can."""
    for pattern, reason in WITH_REASON.items():
        if re.match(pattern, line):
            return reason
    tool = line.split()[0]
    here = tool not in ("grpcurl", "curl", "buf") or shutil.which(tool, path=PATH)
    return "" if here else f"{tool} is not installed here"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """Run them all."""
    if busy := [port for port in PORTS if _listening(port)]:
        pytest.skip(f"something listens on {busy}, where the commands go")
    folder = tmp_path_factory.mktemp("readme")
    for part in ("deploy/samples", "protos", "tests/polyglot"):
        shutil.copytree(ROOT / part, folder / part)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serve_model()) as model:
        model.script([Say(["Firmware 3.2 came [1]."]), Finish()])
        environment = {
            "PATH": PATH, "HOME": str(folder),
            "LANG": "C.UTF-8", **NAMED, "OPENAI_API_KEY": "sk-readme", "OPENAI_BASE_URL": model.url,
        }  # fmt: skip
        with contextlib.closing(Shell(folder, environment)) as shell:
            return [_outcome(shell, command.line) for command in COMMANDS]


def _outcome(shell: Shell, line: str) -> Outcome:
    if reason := _missing(line):
        return Outcome(0, "", reason)
    return shell.serve(line) if re.search(r"\bfootnote serve\b", line) else shell.run(line)


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=lambda n: COMMANDS[n].line[:60])
def test_a_command_of_the_guides_works_as_it_stands(story: list[Outcome], number: int) -> None:
    outcome, command = story[number], COMMANDS[number]
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.code == 0, outcome.output
    # The place of each footnote; its number depends on which of two equals came first.
    for place in re.findall(r"^\[\d\] (.*?)(?= —|\n)", command.output, flags=re.MULTILINE):
        assert f"] {place}" in outcome.output, outcome.output


def test_most_commands_are_run() -> None:
    assert len(COMMANDS) > 30
    assert sum(not _missing(command.line) for command in COMMANDS) > 0.6 * len(COMMANDS)
