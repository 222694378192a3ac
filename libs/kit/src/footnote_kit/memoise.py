"""Answers kept for who asks the same again: bounded by what they take, not by how many they are, and by age.

Caches that count entries hold what the longest texts make of them, and fill for as long as new texts come: a service
under an even load would grow for hours.
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

SECONDS = 900.0
"""How long an answer stays that nobody asks for; what it was made of may be deleted meanwhile."""
_ENTRY = 300  # bytes of an entry besides its texts and its answer


class Memo(Generic[P, R]):
    """A function that keeps its answers, those asked for last; safe to use from threads.

    Its arguments are hashable and alone decide the answer, which nobody changes. What does not fit is not kept.
    """

    def __init__(self, work: Callable[P, R], most: int, size: Callable[[R], int]) -> None:
        update_wrapper(self, work)
        self._work = work
        self.most = most
        self.taken = 0
        """Bytes, by estimate."""
        self._size = size
        self._found: OrderedDict[Hashable, tuple[R, int, float]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the answer, of before if it is still there."""
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
        """Return how many answers are kept."""
        return len(self._found)

    def cache_clear(self) -> None:
        """Forget all of them."""
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


def kept(most: int, size: Callable[[Any], int] = sys.getsizeof) -> Callable[[Callable[P, R]], Memo[P, R]]:
    """Have a function keep its answers in at most so many bytes; `size` estimates those of an answer."""
    return lambda work: Memo(work, most, size)
