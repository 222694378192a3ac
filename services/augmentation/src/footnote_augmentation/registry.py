"""The rerankers there are, their settings, and the ones made so far."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from footnote_kit import plugins, provider_calls
from footnote_kit.errors import InvalidArgument
from footnote_providers.pool import Pool

from footnote_augmentation.adapters import cosine, cross_encoder, http, lexical, mmr
from footnote_augmentation.ports import Descriptor, Reranker
from footnote_augmentation.settings import Settings

ENTRY_POINT_GROUP = "footnote.rerankers"
"""Where other packages register a `Descriptor` of theirs."""

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
            cross_encoder.creator(settings.rerank_model),
            _schema(
                max_length={"type": "integer", "minimum": 16, "maximum": 8192},
                threads={"type": "integer", "minimum": 0, "maximum": 256},
            ),
            default_model=settings.rerank_model,
            needs="model: a folder with model.onnx and tokenizer.json below FOOTNOTE_ONNX_MODELS_DIR",
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
    """Rerankers by id, model and settings; each is made once, the least recently used are closed."""

    def __init__(self, settings: Settings) -> None:
        ours = {item.id: item for item in descriptors(settings)}
        self._descriptors = ours | plugins.installed(ENTRY_POINT_GROUP, Descriptor, lambda item: item.id, ours)
        self._open: Pool[Reranker] = Pool(_MAX_OPEN)

    def all(self) -> Sequence[Descriptor]:
        """Return the registered kinds."""
        return list(self._descriptors.values())

    def problems(self, id: str, settings: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with an id or its settings."""
        descriptor = self._descriptors.get(id)
        if descriptor is None:
            return [f"There is no reranker {id!r}; there are {', '.join(self._descriptors)}."]
        return provider_calls.problems(descriptor.schema, settings)

    def require(self, id: str, settings: Mapping[str, Any]) -> None:
        """Raise InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings."""
        problems = self.problems(id, settings)
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")

    def model(self, id: str, model: str) -> str:
        """Return the model that is used where `model` is asked for: it, or the one that the deployment sets."""
        descriptor = self._descriptors.get(id)
        return model or (descriptor.default_model if descriptor else "")

    @asynccontextmanager
    async def lease(self, id: str, model: str, settings: Mapping[str, Any]) -> AsyncIterator[Reranker]:
        """Give the reranker, made on a thread at its first use since loading a model takes time.

        Raises InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings.
        """
        self.require(id, settings)
        create = self._descriptors[id].create
        key = (id, self.model(id, model), json.dumps(dict(settings), sort_keys=True))
        async with self._open.lease(key, lambda: create(key[1], settings)) as reranker:
            yield reranker

    async def close(self) -> None:
        """Close all of them."""
        await self._open.close()
