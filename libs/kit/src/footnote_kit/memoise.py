"""A memoising cache bounded by bytes and age instead of entries.

A cache that counts entries holds whatever the longest texts produce and fills as long as new texts arrive. A service
under constant load would grow for hours.
"""

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)

SECONDS = 900.0
"""Seconds that an unused result stays; its source may be deleted meanwhile."""
_ENTRY = 300  # bytes of an entry besides its texts and its result


class Memoised(Generic[P, R]):
    """A memoised function that keeps its most recently used results; thread-safe.

    The arguments are hashable and alone determine the result, which callers must not modify. A result larger than the
    bound is not kept.
    """

    def __init__(self, work: Callable[P, R], most: int, size: Callable[[R], int]) -> None:
        update_wrapper(self, work)
        self._work = work
        self.most = most
        self.taken = 0
        """Estimated bytes in use."""
        self._size = size
        self._found: OrderedDict[Hashable, tuple[R, int, float]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result, from the cache if it is there."""
        key: Hashable = (args, *kwargs.items()) if kwargs else args
        now = time.monotonic()
        with self._lock:
            held = self._found.get(key)
            if held is not None:
                self._found[key] = (held[0], held[1], now)
                self._found.move_to_end(key)
                return held[0]
        answer = self._work(*args, **kwargs)
        texts = sum(sys.getsizeof(one) for one in (*args, *kwargs.values()) if isinstance(one, str))
        self._keep(key, answer, _ENTRY + texts + self._size(answer), now)
        return answer

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._found)

    def cache_clear(self) -> None:
        """Remove all results."""
        with self._lock:
            self._found.clear()
            self.taken = 0

    def _keep(self, key: Hashable, answer: R, size: int, now: float) -> None:
        with self._lock:
            if size > self.most or key in self._found:
                return
            self._found[key] = (answer, size, now)
            self.taken += size
            while self.taken > self.most or next(iter(self._found.values()))[2] < now - SECONDS:
                _, (_, freed, _) = self._found.popitem(last=False)
                self.taken -= freed


def memoised(most: int, size: Callable[[Any], int] = sys.getsizeof) -> Callable[[Callable[P, R]], Memoised[P, R]]:
    """Return a decorator that caches a function's results in at most `most` bytes; `size` estimates one result."""
    return lambda work: Memoised(work, most, size)


class MemoDict(dict[K, R]):
    """A memoising cache for many short arguments: `memo[argument]` takes one look-up, without a call of Python code.

    A full one is emptied, which costs less than keeping the order of use.
    """

    def __init__(self, work: Callable[[K], R], most: int, keeps: Callable[[K], bool]) -> None:
        """Hold at most `most` results of `work`, those of arguments for which `keeps` is true."""
        super().__init__()
        self._work = work
        self._most = most
        self._keeps = keeps

    def __missing__(self, argument: K) -> R:
        """Return the result of an argument that is not held."""
        result = self._work(argument)
        if self._keeps(argument):
            if len(self) >= self._most:
                self.clear()
            self[argument] = result
        return result

    cache_clear = dict.clear


def memo_dict(most: int, keeps: Callable[[K], bool]) -> Callable[[Callable[[K], R]], MemoDict[K, R]]:
    """Return a decorator that makes a function a `MemoDict` of at most `most` results."""
    return lambda work: MemoDict(work, most, keeps)
