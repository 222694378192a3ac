"""The platform's caches, on cachetools: bounded by entries and sizes, by age, or by another service's epoch.

`BoundedCache` evicts what was used longest ago, `AgedCache` also what is too old, and `EpochCache` holds responses of a
service until its epoch changes. Where the number of entries is the only bound, `cachetools.LRUCache` is enough. Results
of functions are in `memoise`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from cachetools import LRUCache, TLRUCache

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class BoundedCache(LRUCache[Key, Value]):
    """An LRU cache of at most `most` entries with a sum of sizes of at most `most_size`; not thread-safe.

    `size` returns the size of one value. A value larger than `most_size` is not kept.
    """

    def __init__(self, most: int, most_size: int, size: Callable[[Value], int]) -> None:
        super().__init__(most_size, getsizeof=size)
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        self.pop(key, None)
        if self.getsizeof(value) > self.maxsize:
            return
        while len(self) >= self._most:
            self.popitem()
        super().__setitem__(key, value)


class AgedCache(TLRUCache[Key, Value]):
    """A `BoundedCache` whose entries also expire, at the time on `clock` that `until` returns for their value."""

    def __init__(
        self,
        most: int,
        most_size: int,
        size: Callable[[Value], int],
        until: Callable[[Value], float],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(most_size, ttu=lambda _key, value, _now: until(value), timer=clock, getsizeof=size)
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        self.pop(key, None)
        if self.getsizeof(value) > self.maxsize:
            return
        while len(self) >= self._most:
            self.popitem()
        super().__setitem__(key, value)


class CurrentEpoch(Protocol):
    """The epoch that cached responses are compared with; see `footnote_kit.epochs.EpochReader`."""

    def current(self) -> str | None:
        """Return the current epoch; None when it is unknown."""


class EpochCache(Generic[Key, Value]):
    """An LRU cache of responses, each with its epoch.

    `most` bounds the number of responses; `most_parts` bounds the sum of their sizes, which `parts` returns for each.
    """

    def __init__(
        self,
        epochs: CurrentEpoch,
        most: int,
        *,
        most_parts: int | None = None,
        parts: Callable[[Value], int] = _one,
    ) -> None:
        self._epochs = epochs
        self._responses: BoundedCache[Key, tuple[str, Value]] = BoundedCache(
            most, most if most_parts is None else most_parts, lambda held: parts(held[1])
        )

    def __len__(self) -> int:
        """Return the number of cached responses, valid or not."""
        return len(self._responses)

    def get(self, key: Key) -> Value | None:
        """Return the response cached in the current epoch; None when the caller has to ask the service."""
        held = self._responses.get(key)
        return None if held is None or held[0] != self._epochs.current() else held[1]

    def keep(self, key: Key, epoch: str, value: Value) -> None:
        """Cache a response, unless its epoch has ended or cannot be read on this machine.

        A service that moved to another machine may leave an old epoch file behind, whose epoch differs from its
        responses.
        """
        self._responses.pop(key, None)
        if epoch and epoch == self._epochs.current():
            self._responses[key] = (epoch, value)

    async def get_or_ask(self, key: Key, ask: Callable[[], Awaitable[tuple[str, Value]]]) -> Value:
        """Return the response of the current epoch, else the one that `ask` returns with its epoch, and cache that."""
        if (held := self.get(key)) is not None:
            return held
        epoch, value = await ask()
        self.keep(key, epoch, value)
        return value
