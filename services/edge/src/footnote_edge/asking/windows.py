"""How much the model of a question reads, as generation said in its current epoch."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from footnote.generation.v1 import generation_service_pb2 as generation
from footnote_kit.epochs import EpochReader

from footnote_edge.adapters.stages import Stages

_MOST_KEPT = 1024

_Room: TypeAlias = tuple[int, int]


class Windows:
    """Asks generation, unless it has said so of the same settings, bounds and caller in its current epoch.

    A launch of generation begins an epoch, and so does a model that tells of another window than it was known to have.
    """

    def __init__(self, stages: Stages, epochs: EpochReader) -> None:
        self._generation = stages.generation
        self._epochs = epochs
        self._kept: OrderedDict[bytes, tuple[str, _Room]] = OrderedDict()

    async def of(self, request: generation.ResolveSettingsRequest, timeout: float) -> tuple[int, int]:
        """Return a model's tokens altogether and those of its answer, 0 where not known; raises what it is refused."""
        key = request.SerializeToString(deterministic=True)
        epoch, room = self._kept.get(key, ("", (0, 0)))
        if epoch and epoch == self._epochs.current():
            self._kept.move_to_end(key)
            return room
        told = await self._generation.ResolveSettings(request, timeout=timeout)
        room = (int(told.context_window), int(told.answer_tokens))
        # A file that a service left here which is elsewhere now names another epoch than the answer.
        if told.epoch and told.epoch == self._epochs.current():
            self._kept[key] = (told.epoch, room)
            self._kept.move_to_end(key)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return room
