"""Embeddings over OpenAI's HTTP API: OpenAI, Ollama, Gemini, vLLM, text-embeddings-inference and similar services."""

from collections.abc import Sequence
from itertools import count

import numpy as np
from footnote_kit import names, transient_errors
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.telemetry import span
from opentelemetry.trace import SpanKind
from pydantic import BaseModel, ConfigDict, Field

from footnote_providers.base import Health, Vectors, normalized
from footnote_providers.endpoints import Endpoint
from footnote_providers.openai_client import OpenAIClient
from footnote_providers.resilience import EndpointLimiter, RetryableFailure

KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "gemini-embedding-001": 3072,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
}
# Unauthorized, payment required, forbidden: the caller is refused. Refused texts have another status.
_NOT_LET_IN = frozenset({"401", "402", "403"})
SHORTENED_BY_REQUEST = ("text-embedding-3-", "gemini-embedding-")


OPENAI_MODELS = "text-embedding-"
"""The prefix of OpenAI's own embedding models."""


class Settings(BaseModel):
    """The settings of a collection. Addresses and keys are the deployment's, from its environment only."""

    model_config = ConfigDict(extra="forbid")

    document_prefix: str = Field(
        "", max_length=200, description="Put before each passage, as some models were trained."
    )
    query_prefix: str = Field(
        default="", max_length=200, description="Put before each question, as some models were trained."
    )


class OpenAICompatibleEmbeddings:
    """Embeds through the shared client, with the endpoint's retries and rate limit; checks the dimensions."""

    # Measured with all-MiniLM; larger models deserve more, which a collection can set.
    recommended_dense_weight = 0.5
    openai_dense_weight = 0.7
    """The weight for OpenAI's own models."""

    def __init__(
        self, endpoint: Endpoint, gate: EndpointLimiter, model: str, dimensions: int, settings: Settings
    ) -> None:
        self.id = endpoint.service.id
        self.model = model
        self.holds_weight = model.startswith(OPENAI_MODELS)
        if self.holds_weight:
            self.recommended_dense_weight = self.openai_dense_weight
        self.max_batch = endpoint.settings.max_batch
        self.max_in_flight = endpoint.settings.max_in_flight
        self._dimensions = dimensions or KNOWN_DIMENSIONS.get(model, 0)
        self._ask_for_dimensions = dimensions if model.startswith(SHORTENED_BY_REQUEST) else 0
        self._gate = gate
        self._settings = settings
        self._client = OpenAIClient(endpoint, gate.name, timeout=endpoint.settings.timeout)

    @property
    def dimensions(self) -> int:
        """The length of the vectors; 0 until the first response of an unknown model."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (n, dimensions), in the order given."""
        return await self._embed([self._settings.document_prefix + text for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        row: Vectors = (await self._embed([self._settings.query_prefix + text]))[0]
        return row

    async def health(self) -> Health:
        """Embed one word and report the result."""
        details = {"model": self.model, "base_url": self._client.base_url}
        try:
            vector = await self.embed_query("health")
        except FootnoteError as error:
            return Health(False, error.message, details)
        return Health(True, details={**details, "dimensions": len(vector)})

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _embed(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        try:
            tries = count(1)
            return await self._gate.call(lambda: self._attempt(texts, next(tries)))
        except Unavailable as error:
            if error.metadata.get("status") in _NOT_LET_IN:
                error.metadata.setdefault(transient_errors.WAITING, transient_errors.PROVIDER_REFUSED)
            raise

    async def _attempt(self, texts: list[str], number: int) -> Vectors:
        attributes = {names.GEN_AI_OPERATION: "embeddings", names.GEN_AI_REQUEST_MODEL: self.model}
        with span(f"attempt {number}", {**attributes, names.ATTEMPT: number}, SpanKind.CLIENT):
            rows = await self._client.embed(texts, self.model, self._ask_for_dimensions)
        lengths = {len(row) for row in rows}
        expected = self._dimensions or next(iter(lengths))
        if lengths != {expected}:
            got = ", ".join(map(str, sorted(lengths)))
            raise self._client.refused(
                f"model {self.model!r} returned vectors of {got} dimensions, expected {expected}"
            )
        vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise RetryableFailure("vectors with values that are no finite numbers came back")
        self._dimensions = expected
        return normalized(vectors)
