"""Embeddings over the OpenAI HTTP interface: OpenAI, Ollama, Gemini, vLLM, text-embeddings-inference and their like."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.patience import retry_after
from footnote_kit.redact import redact, register
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI, omit
from pydantic import BaseModel, ConfigDict, Field

from footnote_providers.base import Health, Vectors, normalized
from footnote_providers.outbound import http_client
from footnote_providers.resilience import Gate, Transient

_RETRIED = frozenset({408, 409, 429})

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
SHORTENED_BY_REQUEST = ("text-embedding-3-", "gemini-embedding-")


class Settings(BaseModel):
    """What a collection may set. Addresses and keys belong to the deployment's environment, never to a collection."""

    model_config = ConfigDict(extra="forbid")

    document_prefix: str = Field(
        "", max_length=200, description="Put before each passage, as some models were trained."
    )
    query_prefix: str = Field(
        default="", max_length=200, description="Put before each question, as some models were trained."
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is and how it may be called; the key is kept out of every text we make."""

    provider: str
    base_url: str
    api_key: str
    timeout: float
    max_batch: int
    max_in_flight: int


class OpenAICompatibleEmbeddings:
    """Calls `POST {base_url}/embeddings`; order is restored by each result's index, dimensions are checked."""

    # As measured with all-MiniLM; larger models bear more, set on the collection.
    recommended_dense_weight = 0.5

    def __init__(self, endpoint: Endpoint, gate: Gate, model: str, dimensions: int, settings: Settings) -> None:
        self.id = endpoint.provider
        self.model = model
        self.max_batch = endpoint.max_batch
        self.max_in_flight = endpoint.max_in_flight
        self._dimensions = dimensions or KNOWN_DIMENSIONS.get(model, 0)
        self._ask_for_dimensions = dimensions if model.startswith(SHORTENED_BY_REQUEST) else 0
        self._endpoint = endpoint
        self._gate = gate
        self._settings = settings
        register(endpoint.api_key)
        self._client = AsyncOpenAI(
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            http_client=http_client(endpoint.base_url),
            max_retries=0,  # the gate counts attempts and shares pauses between all workers
        )

    @property
    def dimensions(self) -> int:
        """Length of the vectors; 0 until the first answer when the model is not a known one."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (n, dimensions), in the order given."""
        return await self._embed([self._settings.document_prefix + text for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        row: Vectors = (await self._embed([self._settings.query_prefix + text]))[0]
        return row

    async def health(self) -> Health:
        """Embed one word and say how that went."""
        details = {"model": self.model, "base_url": self._endpoint.base_url}
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
        return await self._gate.call(lambda: self._attempt(texts))

    async def _attempt(self, texts: list[str]) -> Vectors:
        try:
            response = await self._client.embeddings.create(
                input=texts, model=self.model, dimensions=self._ask_for_dimensions or omit
            )
        except APITimeoutError as error:
            raise Transient(f"no answer within {self._endpoint.timeout:g} s") from error
        except APIConnectionError as error:
            raise Transient(f"connection failed: {error.__cause__ or error}") from error
        except APIStatusError as error:
            message = f"HTTP {error.status_code}: {_words(error)}"
            if error.status_code in _RETRIED or error.status_code >= 500:
                throttled = error.status_code == 429
                raise Transient(message, retry_after(error.response.headers), throttled) from error
            raise self._refused(message) from error
        except (APIError, ValueError, AttributeError, TypeError) as error:
            # Not JSON, or not what was asked for: a proxy's page makes the SDK stumble over a missing attribute.
            raise Transient(f"unreadable answer: {type(error).__name__}") from error
        try:
            rows = {item.index: item.embedding for item in response.data or ()}
        except (AttributeError, TypeError) as error:
            raise Transient(f"unreadable answer: {type(error).__name__}") from error
        if sorted(rows) != list(range(len(texts))):
            raise Transient(f"{len(rows)} vectors came back for {len(texts)} texts")
        lengths = {len(row) for row in rows.values()}
        expected = self._dimensions or next(iter(lengths))
        if lengths != {expected}:
            got = ", ".join(map(str, sorted(lengths)))
            raise self._refused(f"model {self.model!r} returned vectors of {got} dimensions, expected {expected}")
        vectors = np.array([rows[index] for index in range(len(texts))], dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise Transient("vectors with values that are no finite numbers came back")
        self._dimensions = expected
        return normalized(vectors)

    def _refused(self, message: str) -> Unavailable:
        return Unavailable(f"{self._gate.name} refused: {message}", reason="PROVIDER_FAILED")


def _words(error: APIStatusError) -> str:
    """Return the provider's own message, cut to a length fit for a sentence."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    # Cleaned before it is cut: the half of a key is not found any more.
    return redact(str(message or error.message)[:10_000])[:300]
