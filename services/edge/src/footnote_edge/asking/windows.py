"""Context windows of models, cached for generation's current epoch."""

from __future__ import annotations

from typing import NamedTuple

from footnote.generation.v1 import generation_service_pb2 as generation
from footnote_kit.caches import EpochCache
from footnote_kit.epochs import EpochReader, received

from footnote_edge.ports import Stages

_MOST_KEPT = 1024


class Window(NamedTuple):
    """A model's context window and its maximum answer, in tokens; 0 where unknown."""

    total: int = 0
    answer: int = 0
    is_model: bool = False
    """Whether a model answers, so that it can write queries over tables."""
    reads_tables: bool = False
    """Whether generation reads questions over tables by meaning where no model answers."""


class Windows:
    """Asks generation once per epoch for the same settings, bounds and caller.

    An epoch begins when generation starts, or when a model reports a new window.
    """

    def __init__(self, stages: Stages, epochs: EpochReader) -> None:
        self._generation = stages.generation
        self._cached: EpochCache[bytes, Window] = EpochCache(epochs, _MOST_KEPT)

    async def of(self, request: generation.ResolveSettingsRequest, timeout: float) -> Window:
        """Return a model's window; raises a refusal's error."""
        key = request.SerializeToString(deterministic=True)
        if (cached := self._cached.get(key)) is not None:
            return cached
        answer, epochs = await received(self._generation.ResolveSettings(request, timeout=timeout))
        window = Window(
            int(answer.context_window), int(answer.answer_tokens), not answer.without_model, answer.reads_tables
        )
        self._cached.keep(key, epochs.epoch, window)
        return window
