"""What an answer costs where the model's service reports no tokens: all that the model wrote."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from footnote.types.v1.answer_pb2 import Answer, Source
from footnote_generation.answering.generate import Completed, Generator, Spent
from footnote_generation.answering.retries import RetryPolicy
from footnote_generation.ports import Finished, ModelEvent, ModelRequest, Thought, Words
from footnote_text import tokens
from support.doubles.model_provider import ScriptedModel

SOURCE = Source(number=1, chunk_id="c", document_id="d", filename="a.txt", text="Lyon has 90 bolts.", score=0.9)
WRITTEN = "Nobody knows how many unicorns lived in that enchanted forest. " * 20


class Silent(ScriptedModel):
    """Reports no tokens, and thinks first."""

    def __init__(self, thought: str, said: str) -> None:
        super().__init__([])
        self._events = (Thought(thought), Words(said), Finished())

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for event in self._events:
            yield event


async def answered(model: Silent, *, sources: tuple[Source, ...] = (SOURCE,), strict: bool = False) -> Answer:
    request = ModelRequest(messages=(), question="How many unicorns?", sources=sources, locale="en")
    events = [event async for event in Generator(RetryPolicy()).run(model, request, strict)]
    spent = [event.usage.completion_tokens for event in events if isinstance(event, Spent)]
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.answer.usage.estimated
    assert last.answer.usage.completion_tokens >= spent[-1], "nothing is given back"
    return last.answer


@pytest.mark.parametrize(("sources", "strict"), [((SOURCE,), True), ((), False)], ids=["withheld", "without a source"])
async def test_words_that_are_not_shown_cost_what_they_cost(sources: tuple[Source, ...], strict: bool) -> None:
    answer = await answered(Silent("", WRITTEN), sources=sources, strict=strict)
    assert len(answer.text) < 200
    assert answer.usage.completion_tokens == tokens.count(WRITTEN)


async def test_thoughts_cost_what_they_cost() -> None:
    answer = await answered(Silent(WRITTEN, "Lyon has 90 bolts [1]."))
    assert answer.text == "Lyon has 90 bolts [1]."
    assert answer.usage.completion_tokens == tokens.count(WRITTEN) + tokens.count(answer.text)
