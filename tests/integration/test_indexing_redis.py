"""The embedding cache in a real Redis, as the service uses it; and the service when Redis goes away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from structlog.testing import capture_logs
from support import redis_server as redis_support
from support.blocks import article
from support.indexing import Client
from support.redis_server import RedisServer

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(redis_support.why_not() is not None, reason=redis_support.why_not() or ""),
]


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A real Redis that keeps indexing's embedding cache."""
    with redis_support.redis_server() as server:
        monkeypatch.setenv("FOOTNOTE_INDEXING_CACHE_URL", server.url)
        yield server


@asynccontextmanager
async def replica(uri: str) -> AsyncIterator[Client]:
    """A service with a data folder of its own: all that it shares with another one is Redis and the engine."""
    async with serve_app(build, vector_store_uri=uri) as served:
        yield Client(served.channel)


async def test_what_one_replica_embedded_another_need_not(uri: str, redis: RedisServer) -> None:
    async with replica(uri) as first, replica(uri) as second:
        here, there = await first.create("here"), await second.create("there")
        made = await first.index(here.id, "redis-1", article(seed="Shared"))
        again = await second.index(there.id, "redis-2", article(seed="Shared"))
        assert (made.embedded, again.embedded) == (made.chunks_stored, 0)
        assert again.cache_hits == again.chunks_stored
        stats = (await second.stats("there"))[1]
        assert (stats.cache_hits, stats.embedding_calls) == (again.chunks_stored, 0)
        assert stats.cache_entries == made.chunks_stored


async def test_documents_are_indexed_whatever_becomes_of_redis(uri: str, redis: RedisServer) -> None:
    async with replica(uri) as client:
        collection = await client.create("without")
        first = await client.index(collection.id, "without-1", article(seed="Without"))
        assert redis.command("FLUSHALL") == b"+OK\r\n"
        flushed = await client.index(collection.id, "without-2", article(seed="Without"))
        assert flushed.embedded == flushed.chunks_stored == first.chunks_stored
        redis.freeze()
        with capture_logs() as said:
            try:
                for number in range(3, 6):
                    hung = await client.index(collection.id, f"without-{number}", article(seed="Without"))
                    assert hung.embedded == hung.chunks_stored == first.chunks_stored
            finally:
                redis.thaw()
        assert [line["event"] for line in said].count("embedding_cache_lost") == 1
        assert (await client.get("without")).document_count == 5


async def test_redis_may_be_down_from_the_start(uri: str, redis: RedisServer) -> None:
    redis.stop()
    async with replica(uri) as client:
        collection = await client.create("down")
        result = await client.index(collection.id, "down-1", article(seed="Down"))
        assert result.chunks_stored == result.chunks_expected == result.embedded
        assert (await client.stats("down"))[1].cache_entries == 0
