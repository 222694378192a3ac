"""The suite for models: any object with generation's `stream`, which yields text and then one final event."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_SYSTEM, MESSAGE_ROLE_USER, ChatMessage, Source

from footnote_providers.testing.asking import LONG, answered_or_typed, side_by_side

_TEXT = "Every employee has 27 days of paid leave a year."
_QUESTION = "How many days of paid leave do employees have?"
_SECONDS = 60.0


def _source() -> list[Source]:
    return [
        Source(number=1, chunk_id="d:000001:0000000", document_id="d", filename="handbook.md", text=_TEXT, score=0.9)
    ]


def _messages() -> list[ChatMessage]:
    return [
        ChatMessage(role=MESSAGE_ROLE_SYSTEM, text=f"Answer from this source only, and cite it as [1].\n\n[1] {_TEXT}"),
        ChatMessage(role=MESSAGE_ROLE_USER, text=_QUESTION),
    ]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to answer: a request as generation makes it, field by field."""

    messages: Sequence[ChatMessage] = field(default_factory=_messages)
    question: str = _QUESTION
    sources: Sequence[Source] = field(default_factory=_source)
    locale: str = "en"
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
    own_instructions: Sequence[str] = ()


async def _answered(provider: Any, question: Question) -> tuple[str, Any]:
    """Return the text and the final event of an answer."""
    words, end = [], None
    async with asyncio.timeout(_SECONDS):
        async for event in provider.stream(question):
            assert end is None, "something came after the answer had finished"
            if hasattr(event, "stop"):
                end = event
            else:
                assert isinstance(event.text, str), f"an event is {event}"
                words.append(event.text)
    assert end is not None, "the answer ended without saying that it has finished"
    return "".join(words), end


async def says_what_it_is(provider: Any) -> None:
    """Check its id and default model, and that its requirements are met here."""
    assert provider.id and isinstance(provider.default_model, str), (
        f"id '{provider.id}', model '{provider.default_model}'"
    )
    provider.require()


async def writes_words_and_finishes(provider: Any) -> None:
    """Check that text arrives, then exactly one final event, and that reported token counts are not negative."""
    text, end = await _answered(provider, Question())
    assert text.strip(), "no words came"
    for count in (end.prompt_tokens, end.completion_tokens):
        assert count is None or count >= 0, f"{count} tokens were counted"


async def keeps_the_longest_answer(provider: Any) -> None:
    """Check that an answer of at most four tokens is short."""
    text, _ = await _answered(provider, replace(Question(), max_tokens=4))
    assert len(text) <= 120, f"an answer of at most four tokens is '{text}'"


async def takes_odd_and_long_questions(provider: Any) -> None:
    """Check a question without sources, one without words, and a very long one: answered, or a typed error."""
    for question in (
        replace(Question(), question="?", sources=[]),
        replace(Question(), question="Hello!", sources=[], without_sources=True),
        replace(Question(), question=LONG[:20_000]),
    ):
        await answered_or_typed(_answered(provider, question))


async def runs_side_by_side(provider: Any) -> None:
    """Check that concurrent answers each have text and a final event."""
    for text, _ in await side_by_side(lambda: _answered(provider, Question())):
        assert text.strip(), "beside others, no words came"


async def can_be_closed_midway(provider: Any) -> None:
    """Check that closing the generator ends it at once, and that the next question is answered."""
    for wait in (False, True):
        stream = provider.stream(Question())
        if wait:
            await anext(stream)
        async with asyncio.timeout(_SECONDS):
            await stream.aclose()
    await _answered(provider, Question())


async def reports_its_health(provider: Any) -> None:
    """Check that health returns a result or raises a typed error."""
    await answered_or_typed(provider.health())


MODEL: tuple[Callable[[Any], Awaitable[None]], ...] = (
    says_what_it_is,
    writes_words_and_finishes,
    keeps_the_longest_answer,
    takes_odd_and_long_questions,
    runs_side_by_side,
    can_be_closed_midway,
    reports_its_health,
)
