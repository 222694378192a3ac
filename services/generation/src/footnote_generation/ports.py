"""Generation's outside dependencies, as protocols: model providers and verifiers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from footnote.stages.v1.table_reading_pb2 import TableReading
from footnote.types.v1.answer_pb2 import ChatMessage, Source
from footnote.types.v1.table_pb2 import TableDescription
from footnote_providers.base import Cosines, Vectors
from footnote_providers.resilience import RetryableFailure as RetryableFailure
from pydantic import BaseModel, ConfigDict, Field


class Stop(Enum):
    """Why a model stopped."""

    COMPLETE = "stop"
    LENGTH = "length"
    FILTERED = "content_filter"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One answer to write. Chat models read `messages`; the extractive one reads the question and the sources."""

    messages: Sequence[ChatMessage]
    question: str
    sources: Sequence[Source]
    locale: str
    model: str = ""
    temperature: float = 0.1
    max_tokens: int = 1024
    stop: Sequence[str] = ()
    seed: int | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    without_sources: bool = False
    documents_unavailable: bool = False
    schema: Mapping[str, Any] | None = None
    """JSON Schema for the answer; ignored by providers that cannot enforce one."""
    own_instructions: Sequence[str] = ()
    """The caller's own part of the system message, which an answer may repeat."""


@dataclass(frozen=True, slots=True)
class Words:
    """The next words."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reasoning before or between its words: a sign of life, and billed, but no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The regular end of an answer; tokens are None when the provider does not say.

    `left_out` names requested settings that the model does not take. `by_words`: the built-in answerer did without the
    embedding model that it has, for some sentences or for all.
    """

    stop: Stop = Stop.COMPLETE
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    refusal: bool = False
    left_out: Sequence[str] = ()
    by_words: bool = False


ModelEvent = Words | Thought | Finished


class ModelProvider(Protocol):
    """Writes answers. Calls may run concurrently, and beside those of providers made with other settings."""

    id: str
    default_model: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Write an answer: words and thoughts as they arrive, then one Finished; closing stops the provider's work.

        Raises RetryableFailure for retryable errors, FootnoteError for others; a stream without Finished is incomplete.
        """
        ...

    def require(self) -> None:
        """Raise FailedPrecondition(PROVIDER_UNCONFIGURED) if the deployment lacks a required setting."""
        ...

    async def health(self) -> Mapping[str, Any]:
        """Call the provider and return its description of itself; raises FootnoteError when it does not answer."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verifier's opinion of a statement given a passage, each figure from 0 to 1.

    `spans` are the supporting stretches of the passage, strongest first, offsets from 0; none means all of it. `heard`
    is False without an opinion: the verifier was not asked, or not about this.
    """

    supports: float
    contradicts: float = 0.0
    spans: tuple[tuple[int, int], ...] = ()
    heard: bool = True


Asked = tuple[str, Sequence[str]]
"""A statement, and the passages to compare it with."""


class Verifier(Protocol):
    """A model that judges statements by their sources, after the rules. Calls may run concurrently.

    `enough` is the support from which it counts. `sees_contradictions` is whether it can distinguish a contradiction
    from similarity; without that it changes no verdict, only the score of unconfirmed statements. `most_passages` is
    how many passages of a source to pass with a statement, 0 for all sources whole, as one. `timeout` is the seconds
    that one call may take.
    """

    enough: float
    sees_contradictions: bool
    most_passages: int
    timeout: float

    async def ask(self, asked: Sequence[Asked]) -> Sequence[Sequence[Opinion]]:
        """Return an opinion per passage for each statement, in order, all in one call.

        Raises FootnoteError when it does not answer, or its answer cannot be parsed.
        """
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...


class Likeness(Protocol):
    """Compares a question with sentences in meaning. Calls may run concurrently."""

    async def of(self, question: str, texts: Sequence[str]) -> Sequence[float] | None:
        """Return for the first texts the share of the way from unrelated, 0, to answering, 1; it may lie beyond both.

        As many as the time allows. Returns None where no model is installed, or it had time for none; never raises
        FootnoteError.
        """
        ...

    @property
    def provider(self) -> str:
        """The id of the embedder that is used, "" for none."""
        ...

    async def vectors(self, question: str, texts: Sequence[str], seconds: float = 0.0) -> Compared | None:
        """Return the vectors of both, within about `seconds`, 0 for the usual time; None as `of` does."""
        ...


@dataclass(frozen=True, slots=True)
class Compared:
    """The vectors of a question, shape (dimensions,), and of texts, a row each, by the embedder `provider`."""

    provider: str
    question: Vectors
    texts: Vectors
    cosines: Cosines


@runtime_checkable
class ReadsTables(Protocol):
    """A model provider that says, without a model, what a question asks of tables."""

    @property
    def reads_tables(self) -> bool:
        """Whether the embedding model that it needs is installed."""
        ...

    async def read_tables(self, question: str, tables: Sequence[TableDescription]) -> TableReading | None:
        """Return what it says, None where no embedding model is installed or it did not answer in time."""
        ...


class VerifierSettings(BaseModel):
    """A deployment's settings of a verifier; other packages may add theirs, each with a default."""

    model_config = ConfigDict(extra="forbid")

    threshold: float = Field(default=0.0, ge=0, le=1, description="Support from which it counts; 0 for its own.")
    timeout: float = Field(default=5.0, gt=0, description="Seconds that one answer may take.")
