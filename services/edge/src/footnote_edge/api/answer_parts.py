"""Selects the parts of an answer to send: always text and footnotes, the rest on request."""

from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import aclosing

from footnote.edge.v1.answers_pb2 import (
    ANSWER_PART_CITATIONS,
    ANSWER_PART_CLAIMS,
    ANSWER_PART_MANIFEST,
    ANSWER_PART_SOURCES,
    ANSWER_PART_STAGES,
    ANSWER_PART_TIMINGS,
    ANSWER_PART_TOKEN_PLAN,
    AnswerPart,
    AskCompleted,
    AskResponse,
)
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import Citation, ClaimsRevised

Parts = Collection[AnswerPart.ValueType]

_EVENTS = {"stage": ANSWER_PART_STAGES, "sources": ANSWER_PART_SOURCES, "citation": ANSWER_PART_CITATIONS}
_FIELDS = {
    "sources": ANSWER_PART_SOURCES,
    "timings": ANSWER_PART_TIMINGS,
    "time_to_first_token": ANSWER_PART_TIMINGS,
    "token_plan": ANSWER_PART_TOKEN_PLAN,
    "manifest": ANSWER_PART_MANIFEST,
}
STORED = frozenset((ANSWER_PART_SOURCES, ANSWER_PART_CLAIMS))
"""Optional parts of a stored answer, besides its text and footnotes."""


async def requested_parts(events: AsyncGenerator[AskResponse], include: Parts) -> AsyncGenerator[AskResponse]:
    """Yield an answer's events without the parts that were not requested; closing it closes the source."""
    async with aclosing(events):
        async for event in events:
            part = _EVENTS.get(event.WhichOneof("event") or "")
            if part is not None and part not in include:
                continue
            if event.HasField("completed"):
                trim(event.completed, include)
            if event.HasField("claims_revised") and not _trim_revised(event.claims_revised, include):
                continue
            yield event


def _trim_revised(revised: ClaimsRevised, include: Parts) -> bool:
    """Remove unrequested parts from changed verdicts; return whether anything is left."""
    if ANSWER_PART_CLAIMS not in include:
        revised.ClearField("claims")
    if ANSWER_PART_CITATIONS not in include:
        revised.ClearField("citations")
    if ANSWER_PART_SOURCES not in include:
        _without_places(revised.citations)
    return bool(revised.claims or revised.citations)


def _without_places(citations: Iterable[Citation]) -> None:
    """Remove positions of quotes in texts that are not sent."""
    for citation in citations:
        citation.ClearField("quote_span")


def trim(answered: AskCompleted | ConversationMessage, include: Parts) -> None:
    """Remove unrequested parts from a finished answer, or from a message that is one."""
    for name, part in _FIELDS.items():
        if part not in include and name in answered.DESCRIPTOR.fields_by_name:
            answered.ClearField(name)  # type: ignore[arg-type]
    if ANSWER_PART_SOURCES not in include:
        _without_places(answered.answer.citations)
        if answered.answer.HasField("nearest"):
            _without_places([answered.answer.nearest])
    if ANSWER_PART_CLAIMS not in include:
        answered.answer.ClearField("claims")
