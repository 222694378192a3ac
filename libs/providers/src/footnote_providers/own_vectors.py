"""The provider "none", for a collection with its own vectors: it never embeds a text."""

from collections.abc import Sequence

from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import InvalidArgument
from pydantic import BaseModel, ConfigDict

from footnote_providers.base import Health, Vectors

PROVIDER = "none"
REASON = "OWN_VECTORS"
DENSE_WEIGHT = 0.7
"""Callers' own vectors usually come from a semantic model, as those of the remote providers do."""


def brings_own(settings: EmbeddingSettings) -> bool:
    """Return whether a collection with these settings brings its own vectors."""
    return settings.provider == PROVIDER


def no_query(collection: str) -> InvalidArgument:
    """Return the error for a search in such a collection by text alone."""
    return InvalidArgument(
        f"Collection '{collection}' brings its own vectors: give query_vector, or search it by words alone with the "
        "strategy FULLTEXT",
        reason=REASON,
        metadata={"collection": collection},
        violations=[("query_vector", f"is required to search '{collection}'")],
    )


def no_document(collection: str) -> InvalidArgument:
    """Return the error for a document added to such a collection."""
    return InvalidArgument(
        f"Collection '{collection}' brings its own vectors: it takes rows by AddVectors, and no documents. Put "
        "them into another collection",
        reason=REASON,
        metadata={"collection": collection},
        violations=[("collection", "brings its own vectors")],
    )


class Settings(BaseModel):
    """The provider has no settings."""

    model_config = ConfigDict(extra="forbid")


class OwnVectors:
    """Takes the place of a provider and refuses every text."""

    id = PROVIDER
    recommended_dense_weight = DENSE_WEIGHT
    max_batch = 1
    max_in_flight = 1

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Raise InvalidArgument(OWN_VECTORS)."""
        raise _no_text()

    async def embed_query(self, text: str) -> Vectors:
        """Raise InvalidArgument(OWN_VECTORS)."""
        raise _no_text()

    async def health(self) -> Health:
        """Report that it is healthy; it has no dependencies."""
        return Health(True, details={"model": self.model, "dimensions": self.dimensions})

    async def close(self) -> None:
        """Do nothing, because there is nothing to free."""


def _no_text() -> InvalidArgument:
    return InvalidArgument(f"The embedding provider {PROVIDER!r} embeds no text: vectors are brought", reason=REASON)
