"""What an embedding provider is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Float32 array, one row a text: shape (n, dimensions); of one text: shape (dimensions,)."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a provider answered when it was asked."""

    healthy: bool
    error: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


class Cosines(NamedTuple):
    """What cosines of a model mean: the mean of a question to unrelated passages, and to those that answer it.

    `floor` is the score below which the best passage of a search answers nothing, 0 where none was measured.
    """

    unrelated: float
    related: float
    floor: float = 0.0


@runtime_checkable
class KnowsItsCosines(Protocol):
    """An embedder that says what its cosines mean, measured; of others a cosine counts as it is."""

    @property
    def cosines(self) -> Cosines:
        """Return what they mean."""
        ...


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors of length 1, so that their inner product is the cosine.

    Calls may run side by side. A failure is `Unavailable(reason="PROVIDER_FAILED")` with the provider's own words.
    """

    @property
    def id(self) -> str:
        """The id it is registered under."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of its vectors; 0 while only a first call can tell."""
        ...

    @property
    def recommended_dense_weight(self) -> float:
        """Weight of the dense channel in fusion that suits it, 0 to 1."""
        ...

    @property
    def max_batch(self) -> int:
        """Largest number of texts in one call."""
        ...

    @property
    def max_in_flight(self) -> int:
        """Number of calls worth having under way at once."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, at most `max_batch`: shape (n, dimensions), in the order given."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        ...

    async def health(self) -> Health:
        """Call the provider and say how it is; never raises."""
        ...

    async def close(self) -> None:
        """Free connections and threads."""
        ...


@runtime_checkable
class WeighsQuestions(Protocol):
    """A provider that can tell from a question's words how well its model will understand it."""

    def dense_weight_for(self, text: str) -> float:
        """Weight of the dense channel in fusion that suits this question, 0 to 1."""
        ...


@runtime_checkable
class HoldsItsWeight(Protocol):
    """A provider whose weight is a given of its model, and does not lean to the channel that is surer of a question."""

    @property
    def holds_weight(self) -> bool:
        """Tell whether it is."""
        ...


def normalized(vectors: Vectors) -> Vectors:
    """Scale each row to length 1; rows of zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return scaled
