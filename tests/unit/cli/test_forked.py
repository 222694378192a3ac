"""Parts forked from a launch: a process each, with nothing of the launch's but what it has loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, fcntl, os, sys
from footnote_cli import forked, service_process
from footnote_kit import telemetry

def serve():
    os.read(0, 1)
    held = [one for one in os.listdir("/proc/self/fd") if int(one) > 2 and os.path.exists(f"/proc/self/fd/{one}")]
    print(telemetry.resource("edge").attributes["service.instance.id"], os.getsid(0) == os.getpid(), held, flush=True)
    if os.read(0, 1) == b"x":
        sys.exit(3)

async def main(waiting):
    ids = set()
    for one, last in zip(waiting, (b"x", b"")):
        await one.attach(1000)
        one.stdin.write(b"1")
        name, own, held = (await one.stdout.readline()).decode().split(maxsplit=2)
        assert own == "True" and held.strip() == "[]", (own, held)
        ids.add(name)
        if last:
            one.stdin.write(last)
        else:
            one.kill()
    assert [await one.wait() for one in waiting] == [3, -9]
    assert len(ids | {telemetry.resource("edge").attributes["service.instance.id"]}) == 3

lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
service_process.main = serve
assert forked.can_fork()
asyncio.run(main(forked.fork(2)))
"""


@pytest.mark.slow
def test_a_forked_part_has_its_own_identity_no_lock_of_the_launch_and_its_own_end(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "lock")],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nothing_is_forked_beside_a_thread() -> None:
    program = """
import threading
from footnote_cli import forked
threading.Thread(target=threading.Event().wait, daemon=True).start()
assert not forked.can_fork()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
