"""Answers a question in one list of named steps, each from draft to draft, run in this order.

`opening.py` opens a question, the steps below prepare its answer, and `delivering.py` streams it. A stage that fails in
a step degrades the answer, which reports it (tables that cannot be computed only add a warning, if any); a generation
that fails to write the answer fails the call.

The prompt is built before tables are computed: their answer takes its locale and continues the numbers of its sources.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from footnote.edge.v1.answers_pb2 import AskResponse
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, PIPELINE_STAGE_RETRIEVAL, PipelineStage

from footnote_edge.asking.delivering import deliver
from footnote_edge.asking.memory import add_memory
from footnote_edge.asking.opening import close_question, open_question
from footnote_edge.asking.planning import plan
from footnote_edge.asking.prompting import build_prompt
from footnote_edge.asking.question import Draft, Question
from footnote_edge.asking.searching import can_search, search
from footnote_edge.asking.tables import compute
from footnote_edge.asking.timings import stage_began


def _always(question: Question, draft: Draft) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Step:
    """A named step: its function, the stage whose begin and end callers see, and whether a question needs it."""

    name: str
    run: Callable[[Question, Draft], Awaitable[Draft]]
    stage: PipelineStage.ValueType | None = None
    needed: Callable[[Question, Draft], bool] = _always


STEPS: tuple[Step, ...] = (
    Step("plan", plan),
    Step("search", search, PIPELINE_STAGE_RETRIEVAL, needed=can_search),
    Step("memory", add_memory),
    Step("prompt", build_prompt, PIPELINE_STAGE_AUGMENTATION),
    Step("tables", compute),
)


async def answer(question: Question) -> AsyncGenerator[AskResponse]:
    """Yield the answer's events, `completed` last; closing it ends everything that runs for the question."""
    draft = await open_question(question)
    try:
        for step in STEPS:
            if not step.needed(question, draft):
                continue
            if step.stage is not None:
                yield stage_began(step.stage)
            draft = await step.run(question, draft)
            if step.stage is not None:
                yield question.timings.stage_ended(step.stage)
        async with aclosing(deliver(question, draft)) as events:
            async for event in events:
                yield event
    finally:
        await close_question(question, draft)
