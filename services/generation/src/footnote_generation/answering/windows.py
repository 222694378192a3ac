"""What is known of models' windows, and since when: a model's refusal may teach another one than was told before."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from footnote_kit.epochs import Epoch

from footnote_generation.ports import ModelProvider
from footnote_generation.registry import Providers

_MOST_TOLD = 1024


class Windows:
    """Tells windows, and begins another epoch as soon as one of them is another than was told."""

    def __init__(self, providers: Providers, epoch: Epoch) -> None:
        self._providers = providers
        self._epoch = epoch
        self._told: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def of(self, provider: ModelProvider, model: str) -> tuple[int, int, str]:
        """Return the tokens of a model's window, 0 where not known, its room for thoughts, and for which epoch."""
        window = self._providers.window(provider, model)
        self._told[provider.id, model] = window
        self._told.move_to_end((provider.id, model))
        if len(self._told) > _MOST_TOLD:  # what was told of it is never asked after again
            self._told.popitem(last=False)
            self._epoch.advance()
        return *window, self._epoch.name

    @contextmanager
    def asking(self, provider: ModelProvider, model: str) -> Iterator[None]:
        """Look, once a model was asked, whether it has told more of itself."""
        try:
            yield
        finally:
            told = self._told.get((provider.id, model))
            if told is not None and told != self._providers.window(provider, model):
                del self._told[provider.id, model]
                self._epoch.advance()
