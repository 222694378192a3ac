"""The registered rerankers, and a cache of their instances."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from footnote.types.v1.provider_pb2 import Provider
from footnote_kit.registration import Registry
from footnote_providers.egress import policy
from footnote_providers.egress.egress import Egress, Use, use
from footnote_providers.pool import Pool

from footnote_augmentation.ports import Reranker

_MAX_OPEN = 8


class Rerankers:
    """Rerankers by id, model and settings; each is created once, and the least recently used are closed."""

    def __init__(self, registry: Registry[Reranker]) -> None:
        self._registry = registry
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
