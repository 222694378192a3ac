"""The registry of embedding providers, leases of them, and the default of new collections.

Third parties add providers by an entry point in the group `footnote.embedding_providers` that names a `Registration`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary

from footnote.stages.v1 import text_bounds_pb2
from footnote.types.v1 import collection_pb2, provider_pb2
from footnote_kit.errors import InvalidArgument
from footnote_kit.registration import Kind as Registered
from footnote_kit.registration import Registry
from google.protobuf import json_format

from footnote_providers import builtin
from footnote_providers.base import EmbeddingProvider
from footnote_providers.e5 import files
from footnote_providers.e5.provider import MODEL
from footnote_providers.egress.egress import Egress, Use, use
from footnote_providers.egress.policy import Kind
from footnote_providers.pool import Pool
from footnote_providers.settings import AUTO, DefaultSettings

MAX_DIMENSIONS = 32768
_BUILTIN = "builtin"
_MOST_KEPT = 16
"""The most providers kept open, with their models in memory; others are recreated on demand."""


@cache
def registrations() -> Registry[EmbeddingProvider]:
    """Return every registered provider by id, built-in ones first; third parties cannot replace those."""
    from footnote_providers.catalogue import CATALOGUE  # imported with its libraries on first use

    return Registry(Registered.EMBEDDING, CATALOGUE, taken=(AUTO,))


def descriptors() -> list[provider_pb2.Provider]:
    """Return the public descriptions of all providers."""
    return registrations().descriptions()


def validate(provider_id: str, settings: Mapping[str, object]) -> list[str]:
    """Return what is wrong with a provider's settings, a sentence each, without calling the provider."""
    return registrations().problems(provider_id, settings)


def with_defaults(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None
) -> collection_pb2.EmbeddingSettings:
    """Return settings with provider and model filled in; dimensions stay as they are.

    The automatic choice applies to new collections only (`automatic`). Settings of older collections, or of none,
    mean the built-in provider here, whatever was installed since.
    """
    chosen = collection_pb2.EmbeddingSettings()
    chosen.CopyFrom(settings)
    if not chosen.provider:
        defaults = defaults or DefaultSettings()
        chosen.provider = _BUILTIN if defaults.provider == AUTO else defaults.provider
        chosen.model = chosen.model or defaults.model
        chosen.dimensions = chosen.dimensions or defaults.dimensions
    registration = registrations().get(chosen.provider)
    if registration is not None and not chosen.model:
        chosen.model = registration.default_model
    return chosen


def meaning(choice: text_bounds_pb2.ProviderChoice) -> tuple[str, str]:
    """Return the provider and model that a collection's setting resolves to."""
    chosen = with_defaults(collection_pb2.EmbeddingSettings(provider=choice.provider, model=choice.model))
    return chosen.provider, chosen.model


def use_of(chosen: collection_pb2.EmbeddingSettings, egress: Egress) -> Use:
    """Return the policy's view of a provider with complete settings; it is neither called nor created."""
    return use(Kind.EMBEDDING, chosen.provider, chosen.model, registrations().get(chosen.provider), egress)


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool[EmbeddingProvider]] = WeakKeyDictionary()
"""One pool per event loop, because connections belong to the loop that opened them."""


def check(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None
) -> collection_pb2.EmbeddingSettings:
    """Return complete settings; raises InvalidArgument(PROVIDER_INVALID) that explains what is wrong with them."""
    chosen = with_defaults(settings, defaults)
    problems = validate(chosen.provider, json_format.MessageToDict(chosen.settings))
    if not 0 <= chosen.dimensions <= MAX_DIMENSIONS:
        problems.append(f"dimensions must be between 1 and {MAX_DIMENSIONS}, or 0 for the model's own.")
    if problems:
        raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
    return chosen


@asynccontextmanager
async def lease(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None
) -> AsyncIterator[EmbeddingProvider]:
    """Lend the provider for these settings; the same settings share a provider within an event loop.

    A thread creates it, because it may read a model from disk. It may be closed when it is no longer lent and others
    were used since, so hold it for a few calls only. Raises InvalidArgument(PROVIDER_INVALID) for invalid settings.
    """
    chosen = with_defaults(settings, defaults)
    wanted = collection_pb2.EmbeddingSettings()
    wanted.CopyFrom(chosen)
    registration = registrations().get(chosen.provider)
    if registration is not None and registration.one_length:
        wanted.dimensions = 0  # a collection sets dimensions, a warm-up does not: the same model must not load twice
    pool = _pools.setdefault(asyncio.get_running_loop(), Pool(_MOST_KEPT))
    key = wanted.SerializeToString(deterministic=True)
    if key not in pool:  # the settings of an existing one have been checked
        check(chosen, defaults)
    async with pool.lease(key, lambda: make(wanted)) as provider:
        _check_length(provider, chosen)
        yield provider


def make(chosen: collection_pb2.EmbeddingSettings) -> EmbeddingProvider:
    """Return a new provider for checked settings; it may read a model from disk, so never call it on an event loop."""
    values = json_format.MessageToDict(chosen.settings)
    provider = registrations()[chosen.provider].build(chosen.model, values, chosen.dimensions)
    _check_length(provider, chosen)
    return provider


def _check_length(provider: EmbeddingProvider, chosen: collection_pb2.EmbeddingSettings) -> None:
    if chosen.dimensions and provider.dimensions and provider.dimensions != chosen.dimensions:
        raise InvalidArgument(
            f"{chosen.provider} model {provider.model!r} makes vectors of {provider.dimensions} dimensions, "
            f"not {chosen.dimensions}.",
            reason="PROVIDER_INVALID",
        )


async def close_all() -> None:
    """Close every provider created on this event loop."""
    pool = _pools.pop(asyncio.get_running_loop(), None)
    if pool is not None:
        await pool.close()


E5 = "e5"
BUILTIN = builtin.BuiltinEmbeddings.id
_WORDS = "New collections are searched with the built-in vectors, which know words and not meaning"


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder's id, and a sentence about the choice, without a full stop."""

    provider: str
    words: str


def choose(defaults: DefaultSettings, may_use: Callable[[str], bool] = lambda _: True) -> Choice:
    """Return the default of new collections; `may_use` returns whether the operator's policy allows an id."""
    if defaults.provider != AUTO:
        if defaults.provider == BUILTIN:
            return Choice(BUILTIN, f"{_WORDS}, as FOOTNOTE_EMBEDDING_PROVIDER says")
        words = f"New collections are embedded by {defaults.provider}, as FOOTNOTE_EMBEDDING_PROVIDER says"
        return Choice(defaults.provider, words)
    if defaults.model or defaults.dimensions:
        return Choice(BUILTIN, f"{_WORDS}: a model or its dimensions are set and no provider")
    if not files.installed():
        return Choice(BUILTIN, f"{_WORDS}: pip install 'footnote[e5]' brings a model that does")
    if not may_use(E5):
        return Choice(BUILTIN, f"{_WORDS}: the operator's policy does not allow e5")
    return Choice(E5, f"New collections are searched by meaning in about 100 languages: {MODEL}, on this machine")
