"""The provider "none": a collection that brings its own vectors, for which no text is ever embedded."""

from collections.abc import Sequence

from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import InvalidArgument
from pydantic import BaseModel, ConfigDict

from footnote_providers.base import Health, Vectors

PROVIDER = "none"
REASON = "OWN_VECTORS"
DENSE_WEIGHT = 0.7
"""Vectors that somebody takes the trouble to bring come from a model that knows meaning, as the remote ones do."""


def brings_own(settings: EmbeddingSettings) -> bool:
    """Tell whether a collection with these settings brings its own vectors."""
    return settings.provider == PROVIDER


def no_query(collection: str) -> InvalidArgument:
    """Return the error for a search by a text alone in such a collection."""
    return InvalidArgument(
        f"Collection '{collection}' brings its own vectors: give query_vector, or search it by words alone with the "
        "strategy FULLTEXT",
        reason=REASON,
        metadata={"collection": collection},
        violations=[("query_vector", f"is required to search '{collection}'")],
    )


def no_document(collection: str) -> InvalidArgument:
    """Return the error for a document that is put into such a collection."""
    return InvalidArgument(
        f"Collection '{collection}' brings its own vectors: it takes rows by AddVectors, and no documents. Put "
        "them into another collection",
        reason=REASON,
        metadata={"collection": collection},
        violations=[("collection", "brings its own vectors")],
    )


class Settings(BaseModel):
    """There is nothing to set."""

    model_config = ConfigDict(extra="forbid")


class OwnVectors:
    """Stands where a provider would; refuses every text."""

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
        """Report that it is there; it depends on nothing."""
        return Health(True, details={"model": self.model, "dimensions": self.dimensions})

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""


def _no_text() -> InvalidArgument:
    return InvalidArgument(f"The embedding provider {PROVIDER!r} embeds no text: vectors are brought", reason=REASON)
