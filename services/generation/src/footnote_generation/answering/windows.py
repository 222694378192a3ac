"""Models' window sizes by epoch: a model's refusal may reveal another size than was reported before."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from footnote_kit.epochs import Epoch

from footnote_generation.ports import ModelProvider
from footnote_generation.registry import Providers

_MOST_TOLD = 1024


class Windows:
    """Reports window sizes, and starts a new epoch when one differs from the reported size."""

    def __init__(self, providers: Providers, epoch: Epoch) -> None:
        self._providers = providers
        self._epoch = epoch
        self._told: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def of(self, provider: ModelProvider, model: str) -> tuple[int, int, str]:
        """Return a model's window in tokens, 0 if unknown, its room for reasoning, and the epoch's name."""
        window = self._providers.window(provider, model)
        self._told[provider.id, model] = window
        self._told.move_to_end((provider.id, model))
        if len(self._told) > _MOST_TOLD:  # later changes of its window would go unnoticed
            self._told.popitem(last=False)
            self._epoch.advance()
        return *window, self._epoch.name

    @contextmanager
    def asking(self, provider: ModelProvider, model: str) -> Iterator[None]:
        """After a call to a model, check whether its window size has changed."""
        try:
            yield
        finally:
            told = self._told.get((provider.id, model))
            if told is not None and told != self._providers.window(provider, model):
                del self._told[provider.id, model]
                self._epoch.advance()
