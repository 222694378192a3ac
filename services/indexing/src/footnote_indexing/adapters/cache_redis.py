"""The embedding cache in Redis, shared by all replicas; the URL decides on TLS (`rediss://…?ssl_ca_certs=…`)."""

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from footnote_kit.breaker import Breaker
from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger
from footnote_providers.base import Vectors
from redis.asyncio import Redis
from redis.asyncio.connection import SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

_log = get_logger("footnote.indexing.cache")
T = TypeVar("T")
_PREFIX = "footnote:embedding:"
_HUNG_UP = (ConnectionResetError, BrokenPipeError)
"""How a TLS 1.3 refusal appears when our first bytes cross it: the server has closed, and its alert is lost."""


class RedisCache:
    """Vectors by key; Redis expires them.

    If Redis does not answer within `timeout` seconds, the cache counts as empty and is not called for `pause` seconds:
    a hanging server must not delay every batch. If it refuses to write, only writes pause. Each outage and each
    recovery is logged once. Raises FailedPrecondition for an invalid URL, or one that names unusable files.
    """

    def __init__(self, url: str, ttl: float, timeout: float = 2.0, pause: float = 15.0) -> None:
        self._ttl_ms = max(1, int(ttl * 1000))
        # Retry once, immediately, on a connection that the server had closed, as after a restart. A silent server gets
        # no retry.
        retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
        try:
            self._redis = Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry)
            connection = self._redis.connection_pool.make_connection()  # type: ignore[no-untyped-call]
            self._secured = isinstance(connection, SSLConnection)
            if isinstance(connection, SSLConnection):
                connection.ssl_context.get()
        except (TypeError, ValueError, RedisError, OSError) as error:
            raise FailedPrecondition(_wrong(error)) from error
        self._pause = pause
        self._breaker, self._writes = Breaker(1, pause), Breaker(1, pause)

    async def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the cached vectors."""
        if not keys:
            return {}
        nothing: list[bytes | str | None] = [None] * len(keys)
        values = await self._ask(lambda: self._redis.mget([_PREFIX + key for key in keys]), nothing)
        pairs = zip(keys, values, strict=True)
        return {key: np.frombuffer(value, dtype=np.float32) for key, value in pairs if isinstance(value, bytes)}

    async def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors."""
        if not vectors or self._writes.rest:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for key, vector in vectors.items():
            pipeline.set(_PREFIX + key, np.ascontiguousarray(vector, dtype=np.float32).tobytes(), px=self._ttl_ms)
        if await self._ask(pipeline.execute, [], writes=True) and self._writes.answered():
            _log.info("embedding_cache_takes_again")

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete vectors."""
        if keys:
            await self._ask(lambda: self._redis.delete(*(_PREFIX + key for key in keys)), 0, writes=True)

    async def count(self) -> int:
        """Return the number of keys in the database, an upper bound."""
        return int(await self._ask(self._redis.dbsize, 0))

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def _ask(self, question: Callable[[], Awaitable[T]], otherwise: T, *, writes: bool = False) -> T:
        """Return Redis's answer, or `otherwise` if Redis does not answer, or refuses to write."""
        if self._breaker.rest:
            return otherwise
        try:
            answer = await question()
        except (RedisError, OSError) as error:
            if writes and isinstance(error, ResponseError):
                await self._refused(error)
            elif self._breaker.failed():
                kind, why = type(error).__name__, _not_trusted(error) if self._secured else ""
                _log.warning("embedding_cache_lost", error=kind, reason=why, asked_again_after=self._pause)
            return otherwise
        if self._breaker.answered():
            _log.info("embedding_cache_back")
        return answer

    async def _refused(self, error: ResponseError) -> None:
        """Pause writes that Redis refuses, as a full one does; reads go on."""
        if self._writes.failed():
            _log.warning("embedding_cache_not_written", error=type(error).__name__, asked_again_after=self._pause)
        if isinstance(error, ReadOnlyError):
            # After a failover, connections to the former primary stay open: the next one asks for the address again.
            with suppress(RedisError, OSError):
                await self._redis.connection_pool.disconnect(inuse_connections=False)


def _wrong(error: Exception) -> str:
    """Return what is wrong with a URL; a TypeError means an option that only `rediss://` supports."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        why = f"{error.filename or 'a certificate'}: {error.strerror}"
    elif isinstance(error, TypeError):
        why = f"it does not know {str(error).rpartition(' ')[2]} (certificates need rediss://)"
    else:
        why = str(getattr(error, "reason", "") or error)
    return f"FOOTNOTE_INDEXING_CACHE_URL is no good: {why}"


def _not_trusted(error: BaseException | None) -> str:
    """Return why the TLS handshake failed; "" if the error is not about TLS."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"it refuses this certificate, or that there is none: {error.reason or 'it hangs up'}"
        if isinstance(error, _HUNG_UP):
            return "it refuses this certificate, or that there is none: it hangs up"
        error = error.__cause__ or error.__context__
    return ""
