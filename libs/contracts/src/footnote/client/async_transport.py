"""The transport of the client for an event loop; `sync_transport.py` has the same names for threads."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, ParamSpec, Self, TypeVar

import grpc
import grpc.aio
from footnote_kit.status import FinalStatus

from footnote.client.connection import Connection
from footnote.client.failures import Closed

Item = TypeVar("Item")
Result = TypeVar("Result")
Given = ParamSpec("Given")

CallError = grpc.aio.AioRpcError
"""The exception of a failed call."""
pause = asyncio.sleep


def opened(connection: Connection) -> grpc.aio.Channel:
    """Return a channel for the running event loop."""
    return connection.open_aio()


def closing(events: AsyncIterable[Item]) -> AbstractAsyncContextManager[AsyncIterable[Item]]:
    """Return a context manager that ends a stream of this client's channel on exit."""
    return aclosing(events)  # type: ignore[type-var]  # a generator of ours


async def off_the_loop(function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return the result of a function that reads files."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def each_off_the_loop(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield items, each of which reads a file."""
    iterator, nothing = iter(items), object()
    while (item := await asyncio.to_thread(next, iterator, nothing)) is not nothing:
        yield item  # type: ignore[misc]


class Requests:
    """The requests of a streamed call; keeps what making them raised, which gRPC turns into a bare cancellation."""

    def __init__(self, given: AsyncIterable[Any] | Iterable[Any]) -> None:
        self._given = given
        self.error: Exception | None = None

    async def each(self) -> AsyncIterator[Any]:
        """Yield them."""
        try:
            if isinstance(self._given, AsyncIterable):
                async for one in self._given:
                    yield one
            else:
                for one in self._given:
                    yield one
        except Exception as error:
            self.error = error
            raise


async def response(plain: Callable[..., Any], request: Any, timeout: float, metadata: Any) -> Any:
    """Return the response of one call.

    Raises CallError with the peer's status, Closed, or what making `Requests` raised.
    """
    requests = request if isinstance(request, Requests) else None
    rpc = _begun(plain, request if requests is None else requests.each(), timeout, metadata)
    ending = FinalStatus(rpc)
    try:
        return await rpc
    except asyncio.CancelledError:
        if requests is not None and requests.error is not None:
            raise requests.error from None
        if _is_cancelled():
            raise
        raise Closed from None
    except CallError as error:
        raise await ending.of(error) from None


class Ending:
    """What ends a streamed call from outside. Its responses know this and not their `Stream`, whose loss ends them."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()
        self._rpc: Any = None

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._ended.is_set()

    def began(self, rpc: Any) -> None:
        """Note the call under way, which a cancellation ends."""
        self._rpc = rpc
        if self.cancelled:
            rpc.cancel()

    async def pause(self, seconds: float) -> None:
        """Wait, and no longer than until a cancellation."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()

    def cancel(self) -> None:
        """End the call, at once and for good."""
        self._ended.set()
        if self._rpc is not None:
            self._rpc.cancel()


class Stream:
    """The responses of a streamed call. Another task may `cancel` it: then the loop over it ends."""

    def __init__(self, items: AsyncIterator[Any], ending: Ending) -> None:
        self._items: Any = items
        self.cancel = ending.cancel

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._items)

    async def aclose(self) -> None:
        """End the call; from the task that reads it."""
        await self._items.aclose()


async def responses(
    plain: Callable[..., Any], request: Any, timeout: float, metadata: Any, began: Callable[[Any], None]
) -> AsyncIterator[Any]:
    """Yield the responses of a streamed call, and cancel it at the end; raises CallError or Closed."""
    rpc = _begun(plain, request, timeout, metadata)
    began(rpc)
    try:
        async for item in rpc:
            yield item
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        raise Closed from None
    finally:
        rpc.cancel()


def _begun(plain: Callable[..., Any], request: Any, timeout: float, metadata: Any) -> Any:
    try:
        return plain(request, timeout=timeout, metadata=metadata)
    except grpc.aio.UsageError:
        raise Closed from None


def _is_cancelled() -> bool:
    """Whether the caller's task is cancelled; closing a channel also ends calls in flight with CancelledError."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class Transport(grpc.aio.Channel):
    """A channel that delegates the connection to a plain one."""

    def __init__(self, plain: grpc.aio.Channel, wiring: Connection) -> None:
        self._plain = plain
        self._wiring = wiring

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """End the connection; calls in flight get `grace` seconds."""
        await self._plain.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return the state of the connection."""
        return self._plain.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the connection is in another state."""
        await self._plain.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until the channel is connected."""
        await self._plain.channel_ready()
