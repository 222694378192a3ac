"""The harness's faults of parsers, which ingestion starts on demand: waited for only while there are steps."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.deployment import Deployment
from support.harness import faults
from support.harness.faults import Faults
from support.harness.modes import Ground
from support.harness.plan import Fault
from support.harness.reference_model import ReferenceModel
from support.harness.tables import Tables

Start = Callable[[], subprocess.Popen[bytes]]


class Idle(Deployment):
    """A deployment whose launcher is this process: it runs what the test starts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.processes["all"] = SimpleNamespace(pid=os.getpid(), poll=lambda: None)  # type: ignore[assignment]

    def wait(self, seconds: float | None = None) -> None:
        """It is always ready."""


@pytest.fixture
def parsers() -> Iterator[Start]:
    """Starts what looks like the fork server of parsers."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        code = "import time; time.sleep(60)"
        started.append(subprocess.Popen([sys.executable, "-c", code, "footnote_ingestion.worker.fork_server"]))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def fault(kind: str) -> Fault:
    return Fault(kind, ("parsers",), after=0, delay=0, hold=0.1)


async def struck(folder: Path, one: Fault, ended: Callable[[], bool]) -> ReferenceModel:
    world = ReferenceModel()
    await Faults(Idle(folder), world, Ground(), Tables(folder, "")).strike((one,), lambda: 0, ended)
    return world


@pytest.mark.parametrize("kind", ["kill", "stop"])
async def test_a_fault_of_parsers_that_nobody_needs_ends(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "APPEARS", 1.0)
    world = await struck(tmp_path, fault(kind), lambda: True)
    assert world.counts["faults of absent parsers"] == 1


async def test_parsers_that_are_there_are_killed_after_all_steps_too(tmp_path: Path, parsers: Start) -> None:
    running = parsers()
    world = await struck(tmp_path, fault("kill"), lambda: True)
    assert running.poll() is not None
    assert not world.counts["faults of absent parsers"]


async def test_a_fault_waits_for_parsers_while_there_are_steps(tmp_path: Path, parsers: Start) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def ended() -> bool:
        if not started:
            started.append(parsers())
        return False

    await struck(tmp_path, fault("kill"), ended)
    assert started[0].poll() is not None
