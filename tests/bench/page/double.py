"""A model that gives 50 tokens a second, as a process of its own: `python -m bench.page.double` says its address."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
from support.doubles.model_chat import Finish, Say, Step, serve_model

TOKENS, A_SECOND = 50, 50
WAYS = [str(Path(__file__).resolve().parents[2])]
_SAID = (
    "The documents say so in their first part [1]. What they say there holds for all the cases that are named in it, "
    "and the second one tells the same in other words [2]. Nothing else is said about it in any of them [1]."
)


def parts(count: int = TOKENS) -> list[str]:
    """Return what it says, a token a part: sentences with footnotes, none of them borne out by a source."""
    pieces = re.findall(r"\S+\s*", " ".join([_SAID] * (count // 30 + 1)))[:count]
    return pieces


@dataclass(frozen=True)
class Double:
    """The running process."""

    url: str
    process: psutil.Process

    def spent(self) -> float:
        """Return its seconds of processor time so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def asked_alone(self) -> tuple[float, float]:
        """Ask it as Footnote does, with nothing between; return seconds to the first word and to the end."""
        body = {"model": "double", "stream": True, "messages": [{"role": "user", "content": "?"}]}
        began, first = time.perf_counter(), 0.0
        with httpx2.stream("POST", f"{self.url}/chat/completions", json=body, timeout=60) as answer:
            for line in answer.iter_lines():
                if not first and '"content": ' in line and '"content": ""' not in line:
                    first = time.perf_counter() - began
        return first, time.perf_counter() - began


@contextmanager
def running_double() -> Iterator[Double]:
    """Run the model, and end it."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*WAYS, *filter(None, sys.path)])}
    process = subprocess.Popen([sys.executable, "-m", "bench.page.double"], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("the model double did not start")
        yield Double(url, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


async def _serve() -> None:
    script: list[Step] = [Say(parts(), pause=1 / A_SECOND), Finish()]

    def answer(_: dict[str, Any]) -> list[Step]:
        server.seen.clear()  # nobody looks, and it would grow
        return script

    async with serve_model() as server:
        server.respond(answer)
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
