"""The embedding caches."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from footnote_indexing.adapters.cache_redis import RedisCache
from footnote_indexing.adapters.cache_sqlite import SqliteCache
from footnote_indexing.ports import EmbeddingCache


@pytest.fixture(params=["sqlite", "redis"])
async def cache(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EmbeddingCache]:
    made: EmbeddingCache
    if request.param == "redis":
        url = os.environ.get("FOOTNOTE_TEST_REDIS_URL")
        if not url:
            pytest.skip("FOOTNOTE_TEST_REDIS_URL names no Redis server")
        made = RedisCache(url, ttl=60)
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
    monkeypatch.setattr("footnote_indexing.adapters.cache_sqlite._PRUNE_EVERY", 10)
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


async def test_a_broken_file_is_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database" * 1000)
    cache = SqliteCache(tmp_path / "cache.db", ttl=60)
    await cache.put({"a": np.ones(2, dtype=np.float32)})
    assert await cache.get(["a"]) == {}
    await cache.close()


async def test_redis_that_is_down_is_an_empty_cache() -> None:
    cache = RedisCache("redis://127.0.0.1:1/0", ttl=60, timeout=0.2)
    await cache.put({"a": np.ones(2, dtype=np.float32)})
    assert await cache.get(["a"]) == {}
    assert await cache.count() == 0
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
