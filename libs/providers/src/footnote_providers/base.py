"""The interface of embedding providers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Float32 array with one row per text: shape (n, dimensions); for one text: shape (dimensions,)."""


@dataclass(frozen=True, slots=True)
class Health:
    """The result of a provider's health check."""

    healthy: bool
    error: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


class Cosines(NamedTuple):
    """A model's typical cosines: the means between questions and unrelated passages, and passages that answer them.

    `floor` is the score below which the best passage of a search does not answer; 0 when not measured.
    """

    unrelated: float
    related: float
    floor: float = 0.0


@runtime_checkable
class KnowsItsCosines(Protocol):
    """An embedder with measured typical cosines; those of other embedders are used as they are."""

    @property
    def cosines(self) -> Cosines:
        """Return the typical cosines."""
        ...


@runtime_checkable
class EmbedsSentences(Protocol):
    """An embedder that gives texts that a caller waits for precedence over passages that are being indexed."""

    async def embed_sentences(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as `embed_documents` embeds passages: shape (n, dimensions)."""
        ...


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors of length 1, so that their inner product is the cosine.

    Calls may run concurrently. A failure is `Unavailable(reason="PROVIDER_FAILED")` with the provider's own message.
    """

    @property
    def id(self) -> str:
        """The id under which it is registered."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors; 0 while unknown before the first call."""
        ...

    @property
    def recommended_dense_weight(self) -> float:
        """The recommended weight of the dense channel in fusion, 0 to 1."""
        ...

    @property
    def max_batch(self) -> int:
        """The most texts in one call."""
        ...

    @property
    def max_in_flight(self) -> int:
        """The number of concurrent calls that is worthwhile."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, at most `max_batch`: shape (n, dimensions), in the order given."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        ...

    async def health(self) -> Health:
        """Call the provider and report its state; never raises."""
        ...

    async def close(self) -> None:
        """Free connections and threads."""
        ...


@runtime_checkable
class WeighsQuestions(Protocol):
    """A provider that can estimate from a question's words how well its model understands it."""

    def dense_weight_for(self, text: str) -> float:
        """Return the dense channel's weight in fusion for this question, 0 to 1."""
        ...


@runtime_checkable
class HoldsItsWeight(Protocol):
    """A provider whose weight is fixed by its model, and does not adapt to the more certain channel."""

    @property
    def holds_weight(self) -> bool:
        """Return whether the weight is fixed."""
        ...


async def embed_waited_for(provider: EmbeddingProvider, texts: Sequence[str]) -> Vectors:
    """Embed passages, at most `max_batch`, before those of indexing where the provider separates them."""
    embed = provider.embed_sentences if isinstance(provider, EmbedsSentences) else provider.embed_documents
    return await embed(texts)


def normalized(vectors: Vectors) -> Vectors:
    """Scale each row to length 1; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return scaled
