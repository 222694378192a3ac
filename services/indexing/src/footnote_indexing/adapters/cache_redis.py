"""The embedding cache in Redis, shared by all replicas."""

from collections.abc import Mapping, Sequence

import numpy as np
from footnote_kit.logs import get_logger
from footnote_providers.base import Vectors
from redis.asyncio import Redis
from redis.exceptions import RedisError

_log = get_logger("footnote.indexing.cache")
_PREFIX = "footnote:embedding:"


class RedisCache:
    """Vectors by key; Redis lets them expire. When it does not answer, the cache counts as empty."""

    def __init__(self, url: str, ttl: float, timeout: float = 2.0) -> None:
        self._ttl_ms = max(1, int(ttl * 1000))
        self._redis = Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)

    async def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the vectors that are there."""
        if not keys:
            return {}
        try:
            values = await self._redis.mget([_PREFIX + key for key in keys])
        except RedisError as error:
            _log.warning("embedding_cache_failed", error=type(error).__name__)
            return {}
        pairs = zip(keys, values, strict=True)
        return {key: np.frombuffer(value, dtype=np.float32) for key, value in pairs if isinstance(value, bytes)}

    async def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors."""
        if not vectors:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for key, vector in vectors.items():
            pipeline.set(_PREFIX + key, np.ascontiguousarray(vector, dtype=np.float32).tobytes(), px=self._ttl_ms)
        try:
            await pipeline.execute()
        except RedisError as error:
            _log.warning("embedding_cache_failed", error=type(error).__name__)

    async def delete(self, keys: Sequence[str]) -> None:
        """Forget vectors."""
        try:
            if keys:
                await self._redis.delete(*(_PREFIX + key for key in keys))
        except RedisError as error:
            _log.warning("embedding_cache_failed", error=type(error).__name__)

    async def count(self) -> int:
        """Return the number of keys in the database, an upper bound."""
        try:
            return int(await self._redis.dbsize())
        except RedisError:
            return 0

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
