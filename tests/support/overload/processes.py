"""Starts the processes of a crowd, lets them begin together, and collects their results."""

import asyncio
import json
import os
import sys
from typing import Any

from support.overload.crowd import Outcome

_LINE_BYTES = 1 << 24
_NICE = 10
"""Of those whose times are not measured: they let what they call, and the probe, go first on the machine they share."""


async def together(address: str, callers: int, processes: int, probe: dict[str, float]) -> list[list[Outcome]]:
    """Return the results of a probe, and those of the crowd, which is divided among some processes."""
    parts = [callers // processes + (one < callers % processes) for one in range(processes)]
    told: list[dict[str, Any]] = [{"probe": {"address": address, **probe}}]
    told += [{"crowd": {"address": address, "callers": part}} for part in parts]
    begun = [await _begin(one) for one in told]
    for process in begun:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"here\n"
    for process in begun:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
    return [_outcomes(*await process.communicate()) for process in begun]


async def _begin(told: dict[str, Any]) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *([] if "probe" in told else ["nice", "-n", str(_NICE)]), sys.executable, "-m", "support.overload.crowd",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_BYTES,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(told).encode() + b"\n")
    return process


def _outcomes(out: bytes, _: bytes) -> list[Outcome]:
    return [Outcome(**one) for one in json.loads(out)]
