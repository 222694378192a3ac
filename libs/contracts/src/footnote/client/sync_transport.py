"""The transport of the client for threads; `async_transport.py` has the same names for an event loop."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from contextlib import closing as closed
from typing import Any, ParamSpec, Self, TypeVar

import grpc

from footnote.client.connection import Connection
from footnote.client.failures import Closed

Item = TypeVar("Item")
Result = TypeVar("Result")
Given = ParamSpec("Given")

CallError = grpc.RpcError
"""The exception of a failed call."""
pause = time.sleep


def opened(connection: Connection) -> grpc.Channel:
    """Return a channel for threads."""
    return connection.open()


def closing(events: Iterator[Item]) -> AbstractContextManager[Iterator[Item]]:
    """Return a context manager that ends a stream of this client's channel on exit."""
    return closed(events)  # type: ignore[type-var]  # a generator of ours


def off_the_loop(function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return the result of a function that reads files."""
    return function(*args, **kwargs)


def each_off_the_loop(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, each of which reads a file."""
    yield from items


class Requests:
    """The requests of a streamed call; keeps what making them raised, which gRPC turns into a status of its own."""

    def __init__(self, given: Iterable[Any]) -> None:
        self._given = given
        self.error: Exception | None = None

    def each(self) -> Iterator[Any]:
        """Yield them."""
        try:
            yield from self._given
        except Exception as error:
            self.error = error
            raise


def response(plain: Callable[..., Any], request: Any, timeout: float, metadata: Any) -> Any:
    """Return the response of one call; raises CallError, Closed, or what making `Requests` raised."""
    requests = request if isinstance(request, Requests) else None
    try:
        return _begun(plain, request if requests is None else requests.each(), timeout, metadata)
    except CallError:
        if requests is None or requests.error is None:
            raise
        raise requests.error from None


class Ending:
    """What ends a streamed call from outside. Its responses know this and not their `Stream`, whose loss ends them."""

    def __init__(self) -> None:
        self._ended = threading.Event()
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

    def pause(self, seconds: float) -> None:
        """Wait, and no longer than until a cancellation."""
        self._ended.wait(seconds)

    def cancel(self) -> None:
        """End the call, at once and for good."""
        self._ended.set()
        if self._rpc is not None:
            self._rpc.cancel()


class Stream:
    """The responses of a streamed call. Another thread may `cancel` it: then the loop over it ends."""

    def __init__(self, items: Iterator[Any], ending: Ending) -> None:
        self._items: Any = items
        self.cancel = ending.cancel

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def close(self) -> None:
        """End the call; from the thread that reads it."""
        self._items.close()


def responses(
    plain: Callable[..., Any], request: Any, timeout: float, metadata: Any, began: Callable[[Any], None]
) -> Iterator[Any]:
    """Yield the responses of a streamed call, and cancel it at the end; raises CallError or Closed."""
    rpc = _begun(plain, request, timeout, metadata)
    began(rpc)
    try:
        yield from rpc
    finally:
        rpc.cancel()


def _begun(plain: Callable[..., Any], request: Any, timeout: float, metadata: Any) -> Any:
    try:
        return plain(request, timeout=timeout, metadata=metadata)
    except ValueError as error:
        if "closed" not in str(error).lower():
            raise
        raise Closed from None


class Transport(grpc.Channel):
    """A channel that delegates the connection to a plain one."""

    def __init__(self, plain: grpc.Channel, wiring: Connection) -> None:
        self._plain = plain
        self._wiring = wiring

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subscribe(self, callback: Callable[..., Any], try_to_connect: bool = False) -> None:
        """Call `callback` with each state of the connection."""
        self._plain.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Callable[..., Any]) -> None:
        """Stop these callbacks."""
        self._plain.unsubscribe(callback)

    def close(self) -> None:
        """End the connection."""
        self._plain.close()
