"""Turns texts into vectors: a collection's provider behind the cache and a concurrency limit."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cachetools import LRUCache
from footnote.types.v1 import collection_pb2
from footnote_kit import names
from footnote_kit.errors import InvalidArgument
from footnote_kit.telemetry import counter, span
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider, Vectors
from footnote_providers.own_vectors import brings_own
from footnote_providers.registry import Choice, choose
from footnote_providers.settings import AUTO, DefaultSettings

from footnote_indexing.model import Audience
from footnote_indexing.ports import EmbeddingCache

_MOST_KEPT = 256


@dataclass(slots=True)
class Counters:
    """Counts since the start."""

    cache_hits: int = 0
    cache_misses: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors in the order of the texts, and which rows were sent to the provider."""

    vectors: Vectors
    sent: Sequence[int]


class Vectorizer:
    """One provider with a collection's settings; created when the first text is embedded."""

    def __init__(self, settings: collection_pb2.EmbeddingSettings, cache: EmbeddingCache, counters: Counters) -> None:
        self.settings = settings
        self._cache = cache
        self._counters = counters
        self._turns: asyncio.Semaphore | None = None
        tag = (settings.provider, settings.model, str(settings.dimensions))
        self._prefix = sha256("\0".join(tag).encode() + settings.settings.SerializeToString(deterministic=True))

    def keys(self, audience: Audience, texts: Sequence[str]) -> list[str]:
        """Return the cache's keys: SHA-256 of provider, model, dimensions, settings, audience and text.

        The audience is part of it because a hit costs no tokens, which shows its caller that somebody has the text.
        """
        prefix = self._prefix.copy()
        prefix.update(sha256(repr(audience).encode("utf-8", "surrogatepass")).digest())
        keys = []
        for text in texts:
            digest = prefix.copy()
            digest.update(text.encode("utf-8", "surrogatepass"))
            keys.append(digest.hexdigest())
        return keys

    @property
    def slow(self) -> bool:
        """Whether the provider says that rows should not wait for it."""
        registration = registry.registrations().get(self.settings.provider)
        return registration is not None and registration.slow

    async def found(self, keys: Sequence[str], known: Mapping[str, Vectors]) -> Mapping[str, Vectors]:
        """Return the vectors that need no provider call: `known` ones and cached ones."""
        found = dict(known)
        asked = list({key for key in keys if key not in found})
        if asked:
            hits = await self._cache.get(asked)
            found.update((key, vector) for key, vector in hits.items() if len(vector) == self.settings.dimensions)
        self._count_lookups(len(asked), [key for key in asked if key in found])
        return found

    async def embed(self, keys: Sequence[str], texts: Sequence[str], known: Mapping[str, Vectors]) -> Embedded:
        """Embed texts with the given `keys`: from `known` vectors, else the cache, else the provider."""
        found = dict(await self.found(keys, known))
        missing: dict[str, int] = {}
        for row, key in enumerate(keys):
            if key not in found:
                missing.setdefault(key, row)
        if missing:
            made = await self._call([texts[row] for row in missing.values()])
            fresh = dict(zip(missing, made, strict=True))
            found.update(fresh)
            await self._cache.put(fresh)
        vectors = (
            np.stack([found[key] for key in keys]) if keys else np.zeros((0, self.settings.dimensions), np.float32)
        )
        return Embedded(vectors, list(missing.values()))

    async def _call(self, texts: Sequence[str]) -> Vectors:
        """Call the provider in batches of its size; several run concurrently, within the limit."""
        async with registry.lease(self.settings) as provider:
            self._turns = turns = self._turns or asyncio.Semaphore(provider.max_in_flight)
            size = provider.max_batch
            parts = [texts[start : start + size] for start in range(0, len(texts), size)]
            return np.concatenate(await asyncio.gather(*(self._call_once(provider, turns, part) for part in parts)))

    async def _call_once(self, provider: EmbeddingProvider, turns: asyncio.Semaphore, texts: Sequence[str]) -> Vectors:
        attributes = {
            names.GEN_AI_OPERATION: "embeddings",
            names.GEN_AI_PROVIDER: self.settings.provider,
            names.GEN_AI_REQUEST_MODEL: self.settings.model,
        }
        label = {names.GEN_AI_PROVIDER: self.settings.provider}
        outcome = "failed"
        async with turns:
            with span(f"embeddings {self.settings.model}", {**attributes, names.CHUNKS: len(texts)}):
                self._counters.calls += 1
                try:
                    vectors = await provider.embed_documents(texts)
                    outcome = "ok"
                finally:
                    counter("footnote.embedding.calls").add(1, {**label, "outcome": outcome})
        counter("footnote.embedding.texts").add(len(texts), label)
        return vectors

    async def forget(self, audience: Audience, texts: Sequence[str]) -> None:
        """Delete the vectors of texts from the cache."""
        await self._cache.delete(self.keys(audience, texts))

    def _count_lookups(self, asked: int, hits: Sequence[str]) -> None:
        self._counters.cache_hits += len(hits)
        self._counters.cache_misses += asked - len(hits)
        lookups = counter("footnote.embedding.cache")
        if hits:
            lookups.add(len(hits), {"outcome": "hit"})
        if asked > len(hits):
            lookups.add(asked - len(hits), {"outcome": "miss"})


class Vectorizers:
    """Creates one `Vectorizer` per embedding settings in use, and keeps the most recently used."""

    def __init__(self, cache: EmbeddingCache, defaults: DefaultSettings) -> None:
        self._cache = cache
        self._defaults = defaults
        self._made: LRUCache[bytes, Vectorizer] = LRUCache(_MOST_KEPT)
        self.counters = Counters()

    async def resolve(self, settings: collection_pb2.EmbeddingSettings) -> collection_pb2.EmbeddingSettings:
        """Return settings with provider, model and dimensions filled in; may call the provider for the dimensions.

        Raises InvalidArgument(PROVIDER_INVALID) for wrong settings, Unavailable(PROVIDER_FAILED) without an answer.
        """
        chosen = self.chosen(settings)
        if brings_own(chosen) and not chosen.dimensions:
            raise InvalidArgument.field("collection.settings.embedding.dimensions", "is required with provider none")
        async with registry.lease(chosen) as provider:
            if not provider.dimensions:
                await provider.embed_query("dimensions")
            chosen.dimensions = provider.dimensions
            chosen.model = provider.model
        return chosen

    def chosen(self, settings: collection_pb2.EmbeddingSettings) -> collection_pb2.EmbeddingSettings:
        """Return settings with provider and model filled in as far as possible without a call."""
        return registry.with_defaults(settings, self._defaults)

    @property
    def automatic(self) -> bool:
        """Whether new collections' embedder depends on what is installed here, because the operator chose none."""
        return self._defaults.provider == AUTO

    def for_new(self, may_use: Callable[[str], bool] = lambda _: True) -> Choice:
        """Return the embedding settings of a new collection if the request names no embedder."""
        return choose(self._defaults, may_use)

    async def get(self, settings: collection_pb2.EmbeddingSettings) -> Vectorizer:
        """Return the vectorizer for resolved settings."""
        key = settings.SerializeToString(deterministic=True)
        if key not in self._made:
            self._made[key] = Vectorizer(settings, self._cache, self.counters)
        return self._made[key]

    async def default(self) -> Vectorizer:
        """Return the deployment's own, for texts that belong to no collection."""
        return await self.get(await self.resolve(collection_pb2.EmbeddingSettings()))

    async def cache_entries(self) -> int:
        """Return the number of entries in the cache."""
        return await self._cache.count()
