"""How busy services are, as others on the machine read it."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from footnote_kit.admission import loop_lag, process_load
from footnote_kit.admission.process_load import ProcessLoads
from footnote_kit.settings import STAGES
from footnote_kit.testing import serve_app
from support.doubles.services import SampleService

WRITER = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from footnote_kit.admission.process_load import LoadFile
file = LoadFile(Path(sys.argv[1]), "indexing")
file.write(SimpleNamespace(average=0.2, worst=0.7))
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
print("written", flush=True)
sys.stdin.read()
"""


class Clock:
    """A clock whose every look is a new one."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        self.ahead += 1e-3 + process_load._FRESH_SECONDS
        return time.monotonic() + self.ahead


@pytest.mark.slow
async def test_what_holds_up_a_service_is_read_by_others_while_it_does_and_a_minute_later(tmp_path: Path) -> None:
    reader = ProcessLoads(tmp_path, STAGES)
    assert reader.lag() == 0.0
    assert reader.of("retrieval") is None
    async with serve_app(SampleService().app("retrieval"), data_dir=tmp_path):
        await asyncio.sleep(0.3)
        calm = reader.of("retrieval")
        assert calm is not None
        assert calm.process == os.getpid()
        time.sleep(0.6)  # noqa: ASYNC251  (what must not happen)
        assert reader.lag() > 0.3, "it is held up right now"
        await asyncio.sleep(1.5)
        after = reader.of("retrieval")
        assert after is not None
        assert after.average < 0.3
        assert after.worst > 0.4
    await asyncio.sleep(0.05)
    assert reader.of("retrieval") is None, "it has gone"
    await reader.close()


async def test_the_processor_time_is_as_old_as_the_loads(tmp_path: Path) -> None:
    now = 0.0
    reader = ProcessLoads(tmp_path, STAGES, clock=lambda: now)
    reader.processor()
    end = time.process_time() + 0.02
    while time.process_time() < end:
        pass
    assert reader.processor() == 0.0
    now += 2 * process_load._FRESH_SECONDS
    assert reader.processor() >= 0.02
    assert reader.lag() == 0.0, "no service writes"
    await reader.close()


def test_another_process_and_its_processor_time(tmp_path: Path) -> None:
    reader = ProcessLoads(tmp_path, STAGES, clock=Clock())
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as writer:  # fmt: skip
        assert writer.stdout is not None
        before, own = reader.processor(), time.process_time()
        assert writer.stdout.readline() == b"written\n"
        load = reader.of("indexing")
        assert load is not None
        assert (load.process, load.average, load.worst) == (writer.pid, max(load.average, 0.2), max(load.worst, 0.7))
        first = reader.processor()
        assert first - before <= time.process_time() - own + 0.05, "what it took before it was seen is nobody's"
        writer.kill()
        writer.wait()
        assert reader.processor() >= first, "it never goes back"
    time.sleep(process_load._SILENT_SECONDS)
    assert reader.of("indexing") is None, "a process that has died is not one that is held up"


def test_files_of_others_and_of_other_sizes_are_not_believed(tmp_path: Path) -> None:
    path = process_load.path_of(tmp_path, "edge")
    path.parent.mkdir()
    reader = ProcessLoads(tmp_path, ["edge", "retrieval"])
    path.write_bytes(b"short")
    process_load.path_of(tmp_path, "retrieval").symlink_to(path)
    assert reader.lag() == 0.0


async def test_the_worst_of_a_minute_is_forgotten_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "histogram", lambda name: SimpleNamespace(record=lambda value: None))
    now = 1000.0
    loop: Any = SimpleNamespace(
        time=lambda: now, call_at=lambda at, call: SimpleNamespace(cancel=lambda: None), call_soon=lambda *_: None
    )
    lag = loop_lag.LoopLag(loop)
    seen: list[float] = []
    lag.listeners.append(lambda one: seen.append(one.worst))
    now += loop_lag.EVERY + 0.5
    lag._look()
    assert lag.worst == pytest.approx(0.5)
    for _ in range(round(loop_lag.WINDOW / loop_lag.EVERY) - 10):
        now += loop_lag.EVERY
        lag._look()
    assert lag.worst == pytest.approx(0.5)
    for _ in range(round(loop_lag.WINDOW / 3 / loop_lag.EVERY)):
        now += loop_lag.EVERY
        lag._look()
    assert lag.worst < 0.01
    assert seen[-1] == lag.worst


@pytest.mark.slow
async def test_an_iteration_counts_by_what_the_loop_itself_has_to_do() -> None:
    loop = asyncio.get_running_loop()

    def work() -> None:
        spin = time.thread_time() + 0.005
        while time.thread_time() < spin:
            pass
        if working:
            loop.call_soon(work)

    loop_lag.watch()
    try:
        working = True
        work()
        await asyncio.sleep(1.0)
        assert 0.003 < loop_lag.iteration() < 0.05
        working = False
        await asyncio.sleep(1.0)
        assert loop_lag.iteration() < 0.002
    finally:
        loop_lag.unwatch()
