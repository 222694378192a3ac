"""A frozen engine (SIGSTOP): callers get an error long before their own deadlines."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from footnote_indexing.app import build
from footnote_kit.errors import Unavailable
from footnote_kit.testing import serve_app
from footnote_store.connection import _ANSWER_SECONDS, _SLOW_SECONDS, StoreFrozen
from footnote_store.engine import EmbeddedEngine
from footnote_store.store import VectorStore
from support.blocks import article
from support.indexing import Client

pytestmark = pytest.mark.full

SAID_WITHIN = 20.0
"""Seconds after which a caller knows."""


@contextmanager
def stopped(engine: EmbeddedEngine) -> Iterator[None]:
    """The engine's process, stopped for as long as the block runs."""
    assert engine._process is not None
    os.kill(engine._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(engine._process.pid, signal.SIGCONT)


def test_a_frozen_engine_is_noticed_within_the_time_promised() -> None:
    assert _SLOW_SECONDS + _ANSWER_SECONDS <= 0.75 * SAID_WITHIN


async def test_a_document_is_refused_soon_while_the_engine_stands_still_and_is_stored_afterwards(
    tmp_path: Path,
) -> None:
    engine = EmbeddedEngine(tmp_path / "engine")
    uri = await engine.start()
    try:
        async with serve_app(build, data_dir=tmp_path / "data", vector_store_uri=uri) as served:
            client = Client(served.channel)
            made = await client.create("frozen")
            assert (await client.index(made.id, "before", article())).chunks_stored
            with stopped(engine), pytest.raises(Unavailable, match="hangs") as refused:
                await client.index(made.id, "during", article())
            assert refused.value.reason == "STORE_UNAVAILABLE"
            assert (await client.index(made.id, "during", article())).chunks_stored
    finally:
        await engine.stop()


async def test_one_that_is_slow_but_answers_is_waited_for(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path / "engine")
    store = VectorStore(await engine.start())
    try:
        await store.ensure_space(8)

        async def slow(client: object) -> str:
            await asyncio.sleep(2 * _SLOW_SECONDS)
            return "done"

        assert await store._call("query", "", 60.0, slow) == "done"
        with stopped(engine), pytest.raises(StoreFrozen):
            await store._call("query", "", 60.0, lambda client: asyncio.sleep(60))
    finally:
        await store.close()
        await engine.stop()
