"""The embedding caches."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
from footnote_indexing.adapters.cache_redis import RedisCache
from footnote_indexing.adapters.cache_sqlite import SqliteCache
from footnote_indexing.ports import EmbeddingCache
from structlog.testing import capture_logs
from support import redis_server as redis_support
from support.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """A real Redis for this module."""
    if reason := redis_support.why_not():
        pytest.skip(reason)
    with redis_support.redis_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
async def cache(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EmbeddingCache]:
    """An embedding cache in SQLite, then in Redis."""
    made: EmbeddingCache
    if request.param == "redis":
        made = RedisCache(request.getfixturevalue("redis").url, ttl=60)
    else:
        made = SqliteCache(tmp_path / "cache.db", ttl=60)
    yield made
    await made.close()


async def test_vectors_come_back_exactly(cache: EmbeddingCache) -> None:
    vectors = {f"key{n}": np.random.default_rng(n).normal(size=8).astype(np.float32) for n in range(1200)}
    await cache.put(vectors)
    found = await cache.get([*vectors, "absent"])
    assert set(found) == set(vectors)
    for key, vector in vectors.items():
        np.testing.assert_array_equal(found[key], vector)
    assert await cache.count() >= 1200


async def test_entries_expire_and_the_oldest_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("footnote_indexing.adapters.cache_sqlite.time", lambda: now[0])
    monkeypatch.setattr("footnote_indexing.adapters.cache_sqlite._COUNT_EVERY", 10)
    cache = SqliteCache(tmp_path / "cache.db", ttl=60, max_entries=20)
    one = np.ones(2, dtype=np.float32)
    await cache.put({f"old{n}": one for n in range(15)})
    now[0] += 59
    assert len(await cache.get(["old0"])) == 1
    now[0] += 2
    assert await cache.get(["old0"]) == {}
    for n in range(30):
        now[0] += 0.1
        await cache.put({f"new{n}": one})
    assert await cache.count() == 20
    assert set(await cache.get([f"new{n}" for n in range(30)])) == {f"new{n}" for n in range(10, 30)}
    await cache.close()


@pytest.mark.parametrize(("expires", "most"), [(1.0, 500_000), (1e10, 5)], ids=["too old", "too many"])
async def test_what_is_too_old_or_too_much_goes_a_few_at_a_time_after_each_start(
    tmp_path: Path, expires: float, most: int
) -> None:
    file, one = tmp_path / "cache.db", np.ones(2, dtype=np.float32)
    before = SqliteCache(file, ttl=60)
    await before.put({})
    await before.close()
    with sqlite3.connect(file) as connection:
        rows = [(f"old{n}", one.tobytes(), expires) for n in range(3000)]
        connection.executemany("INSERT INTO vectors VALUES (?, ?, ?)", rows)
    connection.close()
    cache = SqliteCache(file, ttl=1e11, max_entries=most)
    counts = [await cache.count()]
    for number in range(10):
        await cache.put({f"new{number}": one})
        counts.append(await cache.count())
    assert all(earlier - later <= 502 for earlier, later in itertools.pairwise(counts)), counts
    assert counts[-1] <= 10
    assert list(await cache.get(["new9", *(f"old{n}" for n in range(3000))])) == ["new9"]
    await cache.close()


@pytest.mark.parametrize("from_byte", [0, 100], ids=["no database", "damaged pages"])
async def test_a_damaged_file_is_begun_anew(tmp_path: Path, from_byte: int) -> None:
    file = tmp_path / "cache.db"
    cache = SqliteCache(file, ttl=60)
    await cache.put({f"old{n}": np.ones(2, dtype=np.float32) for n in range(500)})
    await cache.close()
    file.write_bytes(file.read_bytes()[:from_byte] + b"this is no database" * 1000)
    cache = SqliteCache(file, ttl=60)
    with capture_logs() as said:
        assert await cache.get(["old0"]) == {}
        await cache.put({"a": np.ones(2, dtype=np.float32)})
        assert list(await cache.get(["a"])) == ["a"]
    await cache.close()
    assert [one["event"] for one in said] == ["embedding_cache_begun_anew"]


async def test_redis_lets_entries_expire_and_gives_the_rest_to_every_replica(redis: RedisServer) -> None:
    first, second = RedisCache(redis.url, ttl=60), RedisCache(redis.url, ttl=0.001)
    one = np.ones(2, dtype=np.float32)
    await first.put({"kept": one})
    await second.put({"gone": one})
    assert list(await second.get(["kept"])) == ["kept"]
    async with asyncio.timeout(10):
        while await first.get(["gone"]):
            pass
    await second.delete(["kept"])
    assert await first.get(["kept"]) == {}
    for cache in (first, second):
        await cache.close()


async def test_redis_that_was_flushed_is_an_empty_cache_and_fills_again(redis: RedisServer) -> None:
    cache = RedisCache(redis.url, ttl=60)
    vectors = {"a": np.ones(2, dtype=np.float32)}
    await cache.put(vectors)
    assert redis.command("FLUSHALL") == b"+OK\r\n"
    assert await cache.get(["a"]) == {}
    await cache.put(vectors)
    assert list(await cache.get(["a"])) == ["a"]
    await cache.close()


async def test_redis_that_is_down_is_an_empty_cache_and_said_to_be_once() -> None:
    cache = RedisCache("redis://127.0.0.1:1/0", ttl=60, timeout=0.2, pause=0)
    with capture_logs() as said:
        for _ in range(3):
            await cache.put({"a": np.ones(2, dtype=np.float32)})
            assert await cache.get(["a"]) == {}
        assert await cache.count() == 0
    assert [line["event"] for line in said] == ["embedding_cache_lost"]
    await cache.close()


async def test_redis_that_hangs_is_left_alone_for_a_while_and_taken_up_again(redis: RedisServer) -> None:
    at_once = RedisCache(redis.url, ttl=60, timeout=0.2, pause=0)
    later = RedisCache(redis.url, ttl=60, timeout=0.2, pause=3600)
    vectors = {"a": np.ones(2, dtype=np.float32)}
    for cache in (at_once, later):
        await cache.put(vectors)
    with capture_logs() as said:
        redis.freeze()
        try:
            for cache in (at_once, later):
                assert await cache.get(["a"]) == {}
        finally:
            redis.thaw()
        assert list(await at_once.get(["a"])) == ["a"]
        assert await later.get(["a"]) == {}, "it is left alone"
    warnings = [line["event"] for line in said if line["log_level"] == "warning"]
    assert warnings == ["embedding_cache_lost", "embedding_cache_lost"], "one each"
    for cache in (at_once, later):
        await cache.close()


async def test_redis_that_only_reads_since_a_failover_is_asked_on_and_found_anew(
    redis: RedisServer,
) -> None:
    cache = RedisCache(redis.url, ttl=60, pause=3600)
    one = {"a": np.ones(2, dtype=np.float32)}
    await cache.put(one)
    assert redis.command("REPLICAOF 127.0.0.1 1").startswith(b"+OK")
    try:
        with capture_logs() as said:
            for number in range(3):
                await cache.put({f"b{number}": np.ones(2, dtype=np.float32)})
                async with asyncio.timeout(60):
                    while number == 0 and redis.command("CLIENT LIST").count(b" addr=") > 1:  # beside the one that asks
                        await asyncio.to_thread(time.sleep, 0.01)
                assert list(await cache.get(["a"])) == ["a"], "it answers"
        assert [line["event"] for line in said] == ["embedding_cache_not_written"]
    finally:
        redis.command("REPLICAOF NO ONE")
    await cache.delete(["a"])
    assert await cache.get(["a"]) == {}, "what is to be forgotten does not wait"
    await cache.close()


async def test_redis_that_was_started_again_is_used_on_the_same_connections() -> None:
    if reason := redis_support.why_not():
        pytest.skip(reason)
    vectors = {"a": np.ones(2, dtype=np.float32)}
    with redis_support.redis_server() as server:
        cache = RedisCache(server.url, ttl=60, pause=3600)
        await cache.put(vectors)
        server.stop()
        server.start()
        with capture_logs() as said:
            assert await cache.get(["a"]) == {}
            await cache.put(vectors)
            assert list(await cache.get(["a"])) == ["a"]
        assert said == []
        await cache.close()


async def test_the_file_is_shared_by_two_processes_at_once(tmp_path: Path) -> None:
    first, second = SqliteCache(tmp_path / "cache.db", 60), SqliteCache(tmp_path / "cache.db", 60)
    await first.put({"a": np.ones(2, dtype=np.float32)})
    assert list(await second.get(["a"])) == ["a"]
    await first.close()
    await second.close()
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (1,)
    connection.close()
