"""The registered rerankers, and a cache of their instances."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from footnote.types.v1.provider_pb2 import Provider
from footnote_kit.registration import Kind, Registration, Registry
from footnote_providers.egress import policy
from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.uses import use
from footnote_providers.pool import Pool

from footnote_augmentation.adapters import cosine, cross_encoder, http, lexical, mmr
from footnote_augmentation.ports import Reranker
from footnote_augmentation.settings import Settings

_MAX_OPEN = 8
_CAPABILITIES = ("reranking",)


def registrations(settings: Settings) -> Registry[Reranker]:
    """Return this deployment's kinds of rerankers; other packages register in the group `footnote.rerankers`."""
    by_words = Registration(
        kind=Kind.RERANKER,
        id="lexical",
        display_name="Words of the question, built in",
        settings=lexical.Settings,
        make=lexical.create,
        capabilities=_CAPABILITIES,
        local=True,
        builtin=True,
    )
    varied = Registration(
        kind=Kind.RERANKER,
        id="mmr",
        display_name="Maximal marginal relevance, built in",
        settings=mmr.Settings,
        make=mmr.create,
        capabilities=_CAPABILITIES,
        local=True,
        builtin=True,
    )
    by_embeddings = Registration(
        kind=Kind.RERANKER,
        id="cosine",
        display_name="Cosine of embeddings",
        settings=cosine.Settings,
        make=cosine.create,
        capabilities=_CAPABILITIES,
    )
    onnx = Registration(
        kind=Kind.RERANKER,
        id="onnx",
        display_name="Cross-encoder on this machine",
        settings=cross_encoder.Settings,
        make=cross_encoder.creator(settings.rerank_model),
        default_model=settings.rerank_model,
        capabilities=_CAPABILITIES,
        local=True,
    )
    remote = Registration(
        kind=Kind.RERANKER,
        id="http",
        display_name="A /rerank endpoint",
        settings=http.Settings,
        make=http.creator(settings.rerank_url, settings.rerank_api_key, settings.rerank_timeout),
        default_model=settings.rerank_model,
        capabilities=_CAPABILITIES,
        max_batch=1000,
        address=lambda: settings.rerank_url,
    )
    return Registry(Kind.RERANKER, [by_words, varied, by_embeddings, onnx, remote])


class Rerankers:
    """Rerankers by id, model and settings; each is created once, and the least recently used are closed."""

    def __init__(self, settings: Settings) -> None:
        self._registry = registrations(settings)
        self._open: Pool[Reranker] = Pool(_MAX_OPEN)

    def descriptions(self) -> Sequence[Provider]:
        """Return the public descriptions of the registered kinds."""
        return self._registry.descriptions()

    def problems(self, id: str, settings: Mapping[str, object]) -> list[str]:
        """Return the problems of an id or its settings."""
        return self._registry.problems(id, settings)

    def require(self, id: str, settings: Mapping[str, object]) -> None:
        """Raise InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings."""
        self._registry.require(id, settings)

    def model(self, id: str, model: str) -> str:
        """Return the model used for `model`: itself, or the deployment's default."""
        registration = self._registry.get(id)
        return model or (registration.default_model if registration else "")

    def use(self, id: str, model: str, egress: Egress) -> Use:
        """Return what the policy needs of a reranker and its model, filled in; nothing is called or created."""
        return use(policy.Kind.RERANKER, id, self.model(id, model), self._registry.get(id), egress)

    @asynccontextmanager
    async def lease(self, id: str, model: str, settings: Mapping[str, object]) -> AsyncIterator[Reranker]:
        """Yield the reranker; the first use creates it on a thread, since loading a model takes time.

        Raises InvalidArgument(PROVIDER_INVALID) for an unknown id or wrong settings.
        """
        registration = self._registry.require(id, settings)
        key = (id, self.model(id, model), json.dumps(dict(settings), sort_keys=True))
        async with self._open.lease(key, lambda: registration.build(key[1], settings)) as reranker:
            yield reranker

    async def close(self) -> None:
        """Close all of them."""
        await self._open.close()
