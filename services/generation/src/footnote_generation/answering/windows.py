"""Models' window sizes by epoch: a model's refusal may reveal another size than was reported before."""

from collections.abc import Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from footnote_kit.epochs import Epoch

from footnote_generation.ports import ModelProvider
from footnote_generation.registry import Providers

_MOST_REPORTED = 1024


class Windows:
    """Reports window sizes, and starts a new epoch when one differs from the reported size."""

    def __init__(self, providers: Providers, epoch: Epoch) -> None:
        self._providers = providers
        self._epoch = epoch
        self._reported: LRUCache[tuple[str, str], tuple[int, int]] = LRUCache(_MOST_REPORTED)

    def of(self, provider: ModelProvider, model: str) -> tuple[int, int, str]:
        """Return a model's window in tokens, 0 if unknown, its room for reasoning, and the epoch's name."""
        window = self._providers.window(provider, model)
        if (provider.id, model) not in self._reported and len(self._reported) == _MOST_REPORTED:
            self._epoch.advance()  # the oldest size is evicted, and later changes of it would go unnoticed
        self._reported[provider.id, model] = window
        return *window, self._epoch.name

    @contextmanager
    def asking(self, provider: ModelProvider, model: str) -> Iterator[None]:
        """After a call to a model, check whether its window size has changed."""
        try:
            yield
        finally:
            reported = self._reported.get((provider.id, model))
            if reported is not None and reported != self._providers.window(provider, model):
                del self._reported[provider.id, model]
                self._epoch.advance()
