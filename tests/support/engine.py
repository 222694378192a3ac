"""A real vector engine for tests: one process for many tests, whatever event loops they run on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from footnote_store.engine import EmbeddedEngine

GIVEN = os.environ.get("FOOTNOTE_TEST_STORE_URI", "")
"""Address of a Milvus that `make test-store` names; "" for an embedded engine."""
TOKEN = os.environ.get("FOOTNOTE_TEST_STORE_TOKEN", "")


@contextmanager
def given_or_running(folder: Path) -> Iterator[str]:
    """Yield the address of the Milvus that was named, or run an engine over a folder."""
    if GIVEN:
        yield GIVEN
        return
    with running_engine(folder) as address:
        yield address


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
