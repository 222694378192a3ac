"""Which embedding providers there are, and how to get one.

A third party adds one by an entry point in the group `footnote.embedding_providers` that names a `Registration`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from threading import Lock
from typing import Any

from footnote.types.v1 import collection_pb2, provider_pb2
from footnote_kit.errors import InvalidArgument
from google.protobuf import json_format
from pydantic import BaseModel, ValidationError

from footnote_providers.base import EmbeddingProvider
from footnote_providers.settings import DefaultSettings

ENTRY_POINT_GROUP = "footnote.embedding_providers"
MAX_DIMENSIONS = 32768


@dataclass(frozen=True, slots=True)
class Registration:
    """A provider as the registry knows it: what it can do, what may be set, and how to make one."""

    id: str
    display_name: str
    settings: type[BaseModel]
    make: Callable[[str, int, BaseModel], EmbeddingProvider]
    default_model: str = ""
    recommended_dense_weight: float = 0.5
    max_batch: int = 100
    capabilities: tuple[str, ...] = ("embeddings",)

    def descriptor(self) -> provider_pb2.Provider:
        """Return the public description."""
        provider = provider_pb2.Provider(
            kind=provider_pb2.PROVIDER_KIND_EMBEDDING,
            id=self.id,
            display_name=self.display_name,
            capabilities=self.capabilities,
            default_model=self.default_model,
            recommended_dense_weight=self.recommended_dense_weight,
            max_batch=self.max_batch,
        )
        json_format.ParseDict(self.settings.model_json_schema(), provider.settings_schema)
        return provider


@cache
def registrations() -> Mapping[str, Registration]:
    """Return every provider registered here by id, ours first; a third party cannot replace one of ours."""
    from footnote_providers.catalogue import CATALOGUE

    found = {registration.id: registration for registration in CATALOGUE}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        registration = entry.load()
        if isinstance(registration, Registration):
            found.setdefault(registration.id, registration)
    return found


def descriptors() -> list[provider_pb2.Provider]:
    """Return the public descriptions of all providers."""
    return [registration.descriptor() for registration in registrations().values()]


def validate(provider_id: str, settings: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a provider's settings, a sentence each; nothing is called."""
    registration = registrations().get(provider_id)
    if registration is None:
        return [_unknown(provider_id)]
    try:
        registration.settings.model_validate(dict(settings))
    except ValidationError as error:
        return [_sentence(problem["loc"], problem["msg"]) for problem in error.errors()]
    return []


def with_defaults(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None
) -> collection_pb2.EmbeddingSettings:
    """Return settings with provider and model filled in; dimensions stay as they are."""
    chosen = collection_pb2.EmbeddingSettings()
    chosen.CopyFrom(settings)
    if not chosen.provider:
        defaults = defaults or DefaultSettings()
        chosen.provider = defaults.provider
        chosen.model = chosen.model or defaults.model
        chosen.dimensions = chosen.dimensions or defaults.dimensions
    registration = registrations().get(chosen.provider)
    if registration is not None and not chosen.model:
        chosen.model = registration.default_model
    return chosen


_made: dict[tuple[int, bytes], EmbeddingProvider] = {}
_making = Lock()


def create(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None, *, loop_id: int | None = None
) -> EmbeddingProvider:
    """Return the provider for these settings, the same one for the same settings on the same event loop.

    Raises InvalidArgument(PROVIDER_INVALID) with what is wrong. It may read a model from disk: on an event loop use
    `acreate`.
    """
    chosen = with_defaults(settings, defaults)
    problems = validate(chosen.provider, json_format.MessageToDict(chosen.settings))
    if not 0 <= chosen.dimensions <= MAX_DIMENSIONS:
        problems.append(f"dimensions must be between 1 and {MAX_DIMENSIONS}, or 0 for the model's own.")
    if problems:
        raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
    key = (_loop_id() if loop_id is None else loop_id, chosen.SerializeToString(deterministic=True))
    with _making:
        if key not in _made:
            _made[key] = _make(chosen)
        return _made[key]


async def acreate(
    settings: collection_pb2.EmbeddingSettings, defaults: DefaultSettings | None = None
) -> EmbeddingProvider:
    """Do what `create` does without holding up the event loop."""
    return await asyncio.to_thread(create, settings, defaults, loop_id=_loop_id())


def _make(chosen: collection_pb2.EmbeddingSettings) -> EmbeddingProvider:
    registration = registrations()[chosen.provider]
    settings = registration.settings.model_validate(json_format.MessageToDict(chosen.settings))
    provider = registration.make(chosen.model, chosen.dimensions, settings)
    if chosen.dimensions and provider.dimensions and provider.dimensions != chosen.dimensions:
        raise InvalidArgument(
            f"{chosen.provider} model {provider.model!r} makes vectors of {provider.dimensions} dimensions, "
            f"not {chosen.dimensions}.",
            reason="PROVIDER_INVALID",
        )
    return provider


async def close_all() -> None:
    """Close every provider made on this event loop."""
    loop = _loop_id()
    for key in [key for key in _made if key[0] == loop]:
        await _made.pop(key).close()


def _loop_id() -> int:
    """Tell event loops apart: connections belong to the loop that opened them."""
    try:
        return id(asyncio.get_running_loop())
    except RuntimeError:
        return 0


def _unknown(provider_id: str) -> str:
    return f"No embedding provider {provider_id!r} is registered; there are {', '.join(sorted(registrations()))}."


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in location)
    return f"{where}: {message}." if where else f"{message}."
