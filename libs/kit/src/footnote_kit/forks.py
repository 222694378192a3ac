"""Processes forked from one that has loaded their code, which one service of a process offers to the others.

A fork costs a few milliseconds, and shares the pages of what is loaded. A service that runs without such a neighbour
starts its processes by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Forked:
    """A forked process: its id, its pidfd (-1 for none; its holder closes it), and the pipes from and to it."""

    pid: int
    handle: int
    jobs: asyncio.StreamWriter
    """To its standard input. It exits when this closes."""
    answers: asyncio.StreamReader
    """What it writes, until its end."""


class Forks(Protocol):
    """Forks processes. They hold no credentials, as the process that they are forked from."""

    async def fork(self, module: str, environment: Mapping[str, str]) -> Forked:
        """Return a process that runs a module's `main` between two pipes, with these variables besides.

        The module is loaded before the first such fork. Raises `RuntimeError` when none can be started.
        """
