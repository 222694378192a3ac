"""Describes and checks the embedding providers and the vector store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from footnote.stages.v1 import scope_pb2, text_bounds_pb2
from footnote.types.v1 import collection_pb2, provider_pb2
from footnote_kit.errors import FailedPrecondition, FootnoteError, InvalidArgument, PermissionDenied
from footnote_kit.registration import Registration
from footnote_providers import registry
from google.protobuf import json_format
from pydantic import BaseModel

from footnote_indexing.collections.collections import Collections
from footnote_indexing.ports import ChunkStore, Ledger
from footnote_indexing.writing.permitted import Permitted

_OF_NOBODY = ("healthy", "engine", "latency_ms")
_BYTES = 4  # bytes per number in a vector


@dataclass(frozen=True, slots=True)
class Checked:
    """A provider's answer to a check; `latency` in seconds."""

    healthy: bool
    error: str
    latency: float
    details: Mapping[str, Any] = field(default_factory=dict)


class Providers:
    """Lists, validates and checks providers."""

    def __init__(
        self,
        store: ChunkStore,
        registration: Registration[BaseModel, object],
        collections: Collections,
        ledger: Ledger,
        permitted: Permitted,
    ) -> None:
        self._store = store
        self._registration = registration
        self._collections = collections
        self._ledger = ledger
        self._permitted = permitted

    def descriptors(self, scope: scope_pb2.Scope) -> list[provider_pb2.Provider]:
        """Return the registered embedding providers and the store in use."""
        embedders = registry.descriptors()
        begun = self._permitted.for_new(scope, text_bounds_pb2.TextBounds())
        for one in embedders:
            if one.id == begun.provider:
                one.is_default, one.note = True, begun.words
        return [*embedders, self._registration.description()]

    def validate(self, kind: int, provider_id: str, settings: Mapping[str, Any]) -> list[str]:
        """Return the problems of settings, one sentence each; nothing is called."""
        if kind == provider_pb2.PROVIDER_KIND_STORE:
            if provider_id != self._registration.id:
                return [f"No vector store {provider_id!r} is in use here; there is {self._registration.id}."]
            return ["The vector store is set for the deployment; it takes no settings here."] if settings else []
        self._check_kind(kind)
        model, dimensions, rest = _split(settings)
        problems = registry.validate(provider_id, rest)
        if not isinstance(model, str):
            problems.append("model: must be a text.")
        if not isinstance(dimensions, int) or not 0 <= dimensions <= registry.MAX_DIMENSIONS:
            problems.append(f"dimensions: must be a whole number from 0 to {registry.MAX_DIMENSIONS}.")
        return problems

    async def check(self, scope: scope_pb2.Scope, kind: int, provider_id: str, settings: Mapping[str, Any]) -> Checked:
        """Call a provider; the result reports failures. Store figures cover the caller's own collections only."""
        problems = self.validate(kind, provider_id, settings)
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        started = monotonic()
        try:
            if kind == provider_pb2.PROVIDER_KIND_STORE:
                health_of_all = await self._store.health()
                latency = monotonic() - started
                own = {key: health_of_all[key] for key in _OF_NOBODY if key in health_of_all}
                return Checked(True, "", latency, {**own, **await self._holdings(scope)})
            model, dimensions, rest = _split(settings)
            chosen = collection_pb2.EmbeddingSettings(provider=provider_id, model=model, dimensions=dimensions)
            json_format.ParseDict(dict(rest), chosen.settings)
            self._permitted.check_embedding(scope, chosen, text_bounds_pb2.TextBounds())
            async with registry.lease(chosen) as provider:
                health = await provider.health()
        except FootnoteError as error:
            if isinstance(error, PermissionDenied | FailedPrecondition) and error.reason != "PROVIDER_UNCONFIGURED":
                raise
            return Checked(False, error.message, monotonic() - started)
        return Checked(health.healthy, health.error, monotonic() - started, health.details)

    async def _holdings(self, scope: scope_pb2.Scope) -> Mapping[str, Any]:
        """Count the store's rows of the collections that the caller may see; others are not revealed."""
        found = await self._collections.find_many(scope, [])
        totals = await self._ledger.totals([(item.collection.id, item.index_version.number) for item in found])
        sizes = [
            totals[item.collection.id].chunks * item.index_version.embedding.dimensions * _BYTES
            + 2 * totals[item.collection.id].characters
            for item in found
        ]
        return {
            "collections": len(found),
            "documents": sum(total.documents for total in totals.values()),
            "chunks": sum(total.chunks for total in totals.values()),
            "bytes": sum(sizes),
        }

    @staticmethod
    def _check_kind(kind: int) -> None:
        if kind != provider_pb2.PROVIDER_KIND_EMBEDDING:
            raise InvalidArgument.field("kind", "must be EMBEDDING or STORE here")


def _split(settings: Mapping[str, Any]) -> tuple[Any, Any, Mapping[str, Any]]:
    """Separate model and dimensions, which every provider has, from its settings."""
    rest = dict(settings)
    model = rest.pop("model", "")
    dimensions = rest.pop("dimensions", 0)
    if isinstance(dimensions, float) and dimensions.is_integer():
        dimensions = int(dimensions)
    return model, dimensions, rest
