"""An LRU pool of expensive objects: the least recently used is closed, but never while it is in use."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """An object that holds connections, threads or a model."""

    async def close(self) -> None:
        """Free its resources."""
        ...


T = TypeVar("T", bound=Closable)


class _Entry(Generic[T]):
    """One object, finished or in creation, with its number of users."""

    __slots__ = ("made", "users")

    def __init__(self, made: "asyncio.Task[T]") -> None:
        self.made = made
        self.users = 0


class Pool(Generic[T]):
    """At most `size` objects by key, for one event loop; more only while that many are in use at once.

    Each object is created once, on a thread, even for concurrent requests; a failure is not kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    @asynccontextmanager
    async def lease(self, key: Hashable, make: Callable[[], T]) -> AsyncIterator[T]:
        """Lend the object for a key, which stays open for the block; `make` creates it at its first use."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(asyncio.ensure_future(asyncio.to_thread(make)))
        self._entries.move_to_end(key)
        entry.users += 1
        try:
            # Shielded, because other callers wait for the object too if this one is cancelled.
            yield await asyncio.shield(entry.made)
        except BaseException:
            if entry.made.done() and (entry.made.cancelled() or entry.made.exception() is not None):
                self._forget(key, entry)
            raise
        finally:
            entry.users -= 1
            await self._shrink()

    async def close(self) -> None:
        """Close all objects."""
        while self._entries:
            _, entry = self._entries.popitem()
            await _close(entry)

    def _forget(self, key: Hashable, entry: _Entry[T]) -> None:
        if self._entries.get(key) is entry:
            del self._entries[key]

    async def _shrink(self) -> None:
        idle = [(key, entry) for key, entry in self._entries.items() if not entry.users and entry.made.done()]
        for key, entry in idle[: max(0, len(self._entries) - self._size)]:
            self._forget(key, entry)
            await _close(entry)


async def _close(entry: _Entry[T]) -> None:
    await asyncio.wait([entry.made])
    if not entry.made.cancelled() and entry.made.exception() is None:
        await entry.made.result().close()
