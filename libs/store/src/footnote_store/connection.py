"""The connection to the vector database: opened on demand; each call has a deadline, a span and typed errors."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import grpc
from footnote_kit import names
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.telemetry import histogram, in_trace, span
from opentelemetry.trace import SpanKind

from footnote_store import tls
from footnote_store.milvus import Milvus, MilvusError

_CONNECT_TIMEOUT = 5.0
_SLOW_SECONDS = 4.0
"""Time after which a call makes its connection ask whether the engine answers at all."""
_ANSWER_SECONDS = 8.0
"""Time limit for that answer. gRPC's threads give it, also while the engine is at work; a crowded machine is slow."""


class SpaceMissing(Unavailable):
    """This physical collection was never written, so a reader finds no rows."""

    default_reason = "STORE_UNAVAILABLE"


class StoreFrozen(Unavailable):
    """The engine's process stands still: its connections stay open, and nothing is answered."""

    default_reason = "STORE_UNAVAILABLE"


class Connection:
    """A client of the database that connects at the first call, after a break, and after a change of certificates.

    Raises FailedPrecondition for an address with unusable TLS parameters.
    """

    def __init__(self, uri: str, token: str = "") -> None:
        self._address = tls.address(uri)
        self._token = token
        self._client: Milvus | None = None
        self._calls: Counter[Milvus] = Counter()
        self._embedded = True
        self._connecting = asyncio.Lock()
        self._spaces: set[str] = set()

    async def health(self, timeout: float = 3.0) -> dict[str, Any]:
        """Return the store's collections and their sizes; raises Unavailable when it does not respond."""

        async def look(client: Milvus) -> dict[str, int]:
            return {name: await client.row_count(name, timeout) for name in await client.collections(timeout)}

        started = time.perf_counter()
        rows = await self._call("health", "", timeout, look)
        return {
            "healthy": True,
            "engine": "embedded" if self._embedded else "server",
            "collections": len(rows),
            "rows": rows,
            "latency_ms": round((time.perf_counter() - started) * 1000, 1),
        }

    async def close(self) -> None:
        """Close the connection, and older ones with calls in flight."""
        left = {*self._calls, *([self._client] if self._client is not None else ())}
        self._client = None
        self._calls.clear()
        for client in left:
            await client.close()

    async def _connected(self) -> Milvus:
        if self._client is not None and self._address.renewed():
            old, self._client = self._client, None
            await self._close_unused(old)
        if self._client is None:
            async with self._connecting:
                if self._client is None:
                    # gRPC does not report the reason.
                    if why := await self._address.refusal():
                        raise _unavailable(f"the vector store is not reached: {why}")
                    client = Milvus(self._address, self._token)
                    try:
                        self._embedded = await self._is_embedded(client)
                    except BaseException:
                        await client.close()
                        raise
                    self._client = client
        return self._client

    @staticmethod
    async def _is_embedded(client: Milvus) -> bool:
        """Return whether the embedded engine answers, which knows no version; raises grpc.RpcError where none does."""
        try:
            await client.version(_CONNECT_TIMEOUT)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNIMPLEMENTED:
                raise
            await client.collections(_CONNECT_TIMEOUT)  # a gateway without a route does not know this either
            return True
        return False

    async def _close_unused(self, client: Milvus) -> None:
        """Close a replaced client, unless it has calls in flight: the last of them closes it."""
        if client is not self._client and not self._calls[client]:
            self._calls.pop(client, None)
            await client.close()

    async def _run(self, function: Callable[[Milvus], Awaitable[Any]]) -> Any:
        client = await self._connected()
        self._calls[client] += 1
        try:
            return await function(client)
        finally:
            self._calls[client] -= 1
            await self._close_unused(client)

    async def _read(
        self, operation: str, space: str, timeout: float, function: Callable[[Milvus], Awaitable[Any]],
        channel: str = "", empty: Any = (),
    ) -> Any:  # fmt: skip
        """Run a call that returns `empty` when the space was never written."""
        try:
            return await self._call(operation, space, timeout, function, channel)
        except SpaceMissing:
            return empty

    async def _call(
        self,
        operation: str,
        space: str,
        timeout: float,
        function: Callable[[Milvus], Awaitable[Any]],
        channel: str = "",
    ) -> Any:
        """Run one call of the client with a deadline, a span and typed errors; StoreFrozen well before a long one."""
        attributes = {names.DB_SYSTEM: "milvus", names.DB_OPERATION: operation, names.DB_COLLECTION: space}
        label = f"milvus {operation} {channel}".rstrip()
        started = time.perf_counter()
        watch = _FreezeWatch(self._answers)
        # The health checks of readiness belong to no call: each would be a trace of its own.
        traced = in_trace() or operation != "health"
        with span(label, attributes, kind=SpanKind.CLIENT) if traced else nullcontext():
            try:
                async with asyncio.timeout(timeout) as limit:
                    with watch.over(limit):
                        return await self._run(function)
            except FootnoteError:
                raise
            except TimeoutError:
                if watch.frozen:
                    said = f"the vector store hangs: no response for {_ANSWER_SECONDS:g} s"
                    raise StoreFrozen(said) from None
                raise _unavailable(f"the vector store did not answer {operation} within {timeout:g} s") from None
            except MilvusError as error:
                raise self._translate(operation, error) from error
            except grpc.RpcError as error:
                raise _unavailable(f"the vector store does not answer: {error.code().name}") from error
            finally:
                histogram("footnote.store.duration").record(
                    time.perf_counter() - started, {names.DB_OPERATION: operation}
                )

    async def _answers(self) -> bool:
        """Return whether the engine answers anything at all on the present connection."""
        if (client := self._client) is None:
            return True  # the attempt to connect has a time limit of its own
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await client.version(_ANSWER_SECONDS)
        except TimeoutError:
            return False
        except grpc.RpcError as error:
            # The embedded engine does not know the call, and says so. A broken connection fails the call by itself.
            return bool(error.code() != grpc.StatusCode.DEADLINE_EXCEEDED)
        except Exception:  # a connection that is closed at this moment: the call fails by itself
            return True
        return True

    def _translate(self, operation: str, error: MilvusError) -> FootnoteError:
        lowered = error.message.lower()
        if "not found" in lowered and "collection" in lowered:
            # The next writer creates it again; a reader sees an empty store.
            self._spaces.clear()
            return SpaceMissing("the vector store does not have this collection")
        if operation == "search" and "invalid sparse row" in lowered:
            # Before the first row, the embedded engine has no statistics for BM25.
            return SpaceMissing("the vector store holds no text yet")
        return _unavailable(f"the vector store failed at {operation}: {error.message.splitlines()[0][:200]}")


class _FreezeWatch:
    """Ends a call at once where the engine turns out to stand still; costs a timer while calls are quick."""

    def __init__(self, answers: Callable[[], Awaitable[bool]]) -> None:
        self._answers = answers
        self._asking: asyncio.Task[None] | None = None
        self.frozen = False

    @contextmanager
    def over(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Watch the call inside the block, whose time `limit` ends it."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_SLOW_SECONDS, self._ask, limit)
        try:
            yield
        finally:
            timer.cancel()
            if self._asking is not None:
                self._asking.cancel()

    def _ask(self, limit: asyncio.Timeout) -> None:
        self._asking = asyncio.get_running_loop().create_task(self._end_if_frozen(limit))

    async def _end_if_frozen(self, limit: asyncio.Timeout) -> None:
        answers = await self._answers()
        while answers:
            await asyncio.sleep(_SLOW_SECONDS)
            answers = await self._answers()
        if not limit.expired():
            self.frozen = True
            limit.reschedule(asyncio.get_running_loop().time())


def _unavailable(message: str) -> Unavailable:
    return Unavailable(message, reason="STORE_UNAVAILABLE")
