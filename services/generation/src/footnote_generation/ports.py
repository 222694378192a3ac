"""What generation needs from others: something that writes an answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from footnote.types.v1.answer_pb2 import ChatMessage, Source


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
    without_sources: bool = False
    documents_unavailable: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """The next words."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The regular end of an answer; tokens are None when the provider does not say."""

    stop: Stop = Stop.COMPLETE
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    refusal: bool = False


ModelEvent = Words | Finished


class ModelProvider(Protocol):
    """Writes answers. Calls may run side by side."""

    id: str
    default_model: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Write an answer: words as they come, then one Finished. Closing the generator ends the provider's work.

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


class RetryableFailure(Exception):
    """A provider failed in a way that may pass: 429, 5xx, a refused or cut connection, a time-out."""

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.status = status


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A registered provider as it is shown."""

    id: str
    display_name: str
    capabilities: Sequence[str]
    default_model: str
    schema: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}, "additionalProperties": False}
    )


@dataclass(frozen=True, slots=True)
class ModelRegistration:
    """A model provider of another package: how it is shown, and how it is made when the service starts.

    It reads its own address and key from the environment; a `base_url` attribute that is on this machine lets it have
    texts that must stay here.
    """

    descriptor: Descriptor
    make: Callable[[], ModelProvider]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model thinks of a statement beside a passage, each from 0 to 1."""

    supports: float
    contradicts: float = 0.0


class SecondOpinion(Protocol):
    """A model that is asked about statements beside the rules. Calls may run side by side.

    `enough` is the support from which it counts, `most_passages` how many passages it should be given at once,
    `timeout` the seconds that one answer may take, `sees_contradictions` whether it tells a contrary from a likeness.
    """

    enough: float
    sees_contradictions: bool
    most_passages: int
    timeout: float

    async def ask(self, statement: str, passages: Sequence[str]) -> Sequence[Opinion]:
        """Return an opinion per passage, in order; raises FootnoteError when the model does not answer."""
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierRegistration:
    """A second opinion of another package: `FOOTNOTE_GENERATION_VERIFIER=<id>:<model>` asks for it.

    `make` gets the model's name, the support from which it counts (0 for its own) and the seconds for one answer.
    """

    id: str
    make: Callable[[str, float, float], SecondOpinion]
