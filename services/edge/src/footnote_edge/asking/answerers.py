"""What answers questions, a model or the built-in answerer, cached for generation's current epoch."""

from __future__ import annotations

from typing import NamedTuple

from footnote.generation.v1 import generation_service_pb2 as generation
from footnote_kit.caches import EpochCache
from footnote_kit.epochs import EpochReader, received

from footnote_edge.ports import Stages

_MOST_KEPT = 1024


class Answerer(NamedTuple):
    """What answers by some settings: its context window and its maximum answer, in tokens; 0 where unknown."""

    context_window: int = 0
    answer_tokens: int = 0
    is_model: bool = False
    """Whether a model answers, so that it can write queries over tables."""
    reads_tables: bool = False
    """Whether generation reads questions over tables by meaning where no model answers."""


class Answerers:
    """Asks generation once per epoch for the same settings, bounds and caller.

    An epoch begins when generation starts, or when a model reports a new window.
    """

    def __init__(self, stages: Stages, epochs: EpochReader) -> None:
        self._generation = stages.generation
        self._cached: EpochCache[bytes, Answerer] = EpochCache(epochs, _MOST_KEPT)

    async def of(self, request: generation.ResolveSettingsRequest, timeout: float) -> Answerer:
        """Return what answers by a request's settings; raises a refusal's error."""
        key = request.SerializeToString(deterministic=True)
        if (cached := self._cached.get(key)) is not None:
            return cached
        response, epochs = await received(self._generation.ResolveSettings(request, timeout=timeout))
        answerer = Answerer(
            int(response.context_window), int(response.answer_tokens), not response.without_model, response.reads_tables
        )
        self._cached.keep(key, epochs.epoch, answerer)
        return answerer
