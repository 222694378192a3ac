"""What generation needs from others: something that writes an answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from footnote.types.v1.answer_pb2 import ChatMessage, Source
from footnote_providers.failures import RetryableFailure as RetryableFailure
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
    """JSON Schema that the answer should follow; a provider that cannot hold a model to one leaves it out."""


@dataclass(frozen=True, slots=True)
class Words:
    """The next words."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thinks before or between its words: a sign of life, and paid for, but no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The regular end of an answer; tokens are None when the provider does not say.

    `left_out` names what was asked for and the model does not take.
    """

    stop: Stop = Stop.COMPLETE
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    refusal: bool = False
    left_out: Sequence[str] = ()


ModelEvent = Words | Thought | Finished


class ModelProvider(Protocol):
    """Writes answers. Calls may run side by side."""

    id: str
    default_model: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Write an answer: words and thoughts as they come, then one Finished; closing ends the provider's work.

        Raises RetryableFailure for what may be tried again, FootnoteError for the rest; a stream that ends without
        Finished was cut.
        """
        ...

    def require(self) -> None:
        """Raise FailedPrecondition(PROVIDER_UNCONFIGURED) for want of what the deployment must give it."""
        ...

    async def health(self) -> Mapping[str, Any]:
        """Call the provider and return what it says of itself; raises FootnoteError when it does not answer."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model thinks of a statement beside a passage, each from 0 to 1.

    `spans` are the stretches of the passage that it rests on, the weightiest first, offsets from 0; none for all of it.
    `heard` is False for none at all: the model was not asked, or not about this.
    """

    supports: float
    contradicts: float = 0.0
    spans: tuple[tuple[int, int], ...] = ()
    heard: bool = True


Asked = tuple[str, Sequence[str]]
"""A statement, and the passages to read it beside."""


class SecondOpinion(Protocol):
    """A model that reads statements beside their sources. Calls may run side by side.

    `enough` is the support from which it counts, `sees_contradictions` whether it tells a contrary from a likeness: one
    that does not changes no verdict, only the score of what is not confirmed. `most_passages` is how many passages of a
    source it should be given with a statement, 0 for all sources whole, as one. `timeout` is the seconds that one call
    may take.
    """

    enough: float
    sees_contradictions: bool
    most_passages: int
    timeout: float

    async def ask(self, asked: Sequence[Asked]) -> Sequence[Sequence[Opinion]]:
        """Return for each statement an opinion per passage, in order, of all statements in one call.

        Raises FootnoteError when the model does not answer, or not in a form that can be read.
        """
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...


class OpinionSettings(BaseModel):
    """What a deployment sets of a second opinion; those of other packages may add to it, each with a default."""

    model_config = ConfigDict(extra="forbid")

    threshold: float = Field(default=0.0, ge=0, le=1, description="Support from which it counts; 0 for its own.")
    timeout: float = Field(default=5.0, gt=0, description="Seconds that one answer may take.")
