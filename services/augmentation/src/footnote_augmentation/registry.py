"""The rerankers there are, their settings, and the ones made so far."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from footnote_kit import provider_calls
from footnote_kit.errors import InvalidArgument

from footnote_augmentation.adapters import cosine, cross_encoder, http, lexical, mmr
from footnote_augmentation.ports import Descriptor, Reranker
from footnote_augmentation.settings import Settings

_MAX_OPEN = 8


def _schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def descriptors(settings: Settings) -> tuple[Descriptor, ...]:
    """Return every kind of reranker of this deployment."""
    share = {"type": "number", "minimum": 0, "maximum": 1}
    return (
        Descriptor("lexical", "Words of the question, built in", lexical.create, _schema(weight=share)),
        Descriptor("mmr", "Maximal marginal relevance, built in", mmr.create, _schema(balance=share)),
        Descriptor("cosine", "Cosine of embeddings", cosine.create, _schema(provider={"type": "string"})),
        Descriptor(
            "onnx",
            "Cross-encoder on this machine",
            cross_encoder.create,
            _schema(
                max_length={"type": "integer", "minimum": 16, "maximum": 8192},
                threads={"type": "integer", "minimum": 0, "maximum": 256},
            ),
            default_model=settings.rerank_model,
            needs="model: a folder with model.onnx and tokenizer.json",
        ),
        Descriptor(
            "http",
            "A /rerank endpoint",
            http.creator(settings.rerank_url, settings.rerank_api_key, settings.rerank_timeout),
            _schema(form={"type": "string", "enum": ["cohere", "tei"]}),
            default_model=settings.rerank_model,
            max_batch=1000,
            needs="FOOTNOTE_AUGMENTATION_RERANK_URL",
        ),
    )


class Rerankers:
    """Rerankers by id, model and settings; each is made once and kept, the least recently used is closed."""

    def __init__(self, settings: Settings) -> None:
        self._descriptors = {item.id: item for item in descriptors(settings)}
        self._open: dict[tuple[str, str, str], Reranker] = {}
        self._lock = asyncio.Lock()

    def all(self) -> Sequence[Descriptor]:
        """Return the registered kinds."""
        return list(self._descriptors.values())

    def problems(self, id: str, settings: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with an id or its settings."""
        descriptor = self._descriptors.get(id)
        if descriptor is None:
            return [f"There is no reranker {id!r}; there are {', '.join(self._descriptors)}."]
        return provider_calls.problems(descriptor.schema, settings)

    async def get(self, id: str, model: str, settings: Mapping[str, Any]) -> Reranker:
        """Return the reranker, made in a thread at its first use since loading a model takes time.

        Raises InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings.
        """
        problems = self.problems(id, settings)
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        descriptor = self._descriptors[id]
        key = (id, model or descriptor.default_model, json.dumps(dict(settings), sort_keys=True))
        async with self._lock:
            found = self._open.pop(key, None)
            if found is None:
                found = await asyncio.to_thread(descriptor.create, key[1], settings)
                while len(self._open) >= _MAX_OPEN:
                    await self._open.pop(next(iter(self._open))).close()
            self._open[key] = found
            return found

    async def close(self) -> None:
        """Close all of them."""
        while self._open:
            await self._open.popitem()[1].close()
