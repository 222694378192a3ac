"""Runs text analysis without blocking the event loop: short texts inline, long ones on a small thread pool.

A busy thread releases the interpreter only every millisecond (`process.py`). Each additional busy thread delays the
event loop by that much, so the pool is small and further work queues. Threads only keep the loop responsive. Linear
patterns and bounded inputs must keep the work itself short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SHORT = 1000
"""Characters analysed in less than about a millisecond, which a switch to a thread and back would cost too."""
_THREADS = 2
_threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="texts")


async def off_loop(characters: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args)`. Above SHORT characters it runs on a thread with a copy of the context variables."""
    if characters <= SHORT:
        return work(*args, **kwargs)
    call = partial(copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_threads, call)
