"""Work on texts beside the event loop: short ones at once, long ones on a thread of its own kind.

A thread hands the interpreter over only every millisecond (`process.py`), and each further busy one makes the event
loop wait that long again: so there are few of them, and what waits for one waits in line. Threads only keep others
moving; that no text takes longer than its length warrants is for linear patterns and bounded inputs to see to.
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
"""Characters that take less than about a millisecond of analysis, which going to a thread and back would cost too."""
_THREADS = 2
_threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="texts")


async def beside(characters: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args)`, done on a thread when it is about more than SHORT characters; context variables follow."""
    if characters <= SHORT:
        return work(*args, **kwargs)
    call = partial(copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_threads, call)
