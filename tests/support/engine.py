"""A real vector engine for tests: one process for many tests, whatever event loops they run on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from footnote_store.engine import EmbeddedEngine


@contextmanager
def running_engine(folder: Path) -> Iterator[str]:
    """Run an engine over a folder on an event loop of its own and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="test-engine", daemon=True)
    thread.start()
    engine = EmbeddedEngine(folder)
    try:
        yield asyncio.run_coroutine_threadsafe(engine.start(), loop).result(60)
    finally:
        asyncio.run_coroutine_threadsafe(engine.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
