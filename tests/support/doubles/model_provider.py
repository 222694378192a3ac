"""A `ModelProvider` in this process: writes the given words, in place of a language model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from footnote_generation.ports import Finished, ModelEvent, ModelRequest, Words


class ScriptedModel:
    """Streams its parts, one event each, whatever the request."""

    id = "scripted"
    default_model = "scripted-1"

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = parts

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for part in self._parts:
            yield Words(part)
        yield Finished(prompt_tokens=1, completion_tokens=1)

    async def health(self) -> Mapping[str, Any]:
        return {}

    async def close(self) -> None:
        return None
