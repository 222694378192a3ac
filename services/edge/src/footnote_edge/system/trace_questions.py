"""Exchanges traces between replicas of edge, by a table of their shared database.

Edge's only port is public and offers no telemetry; a second port would need authentication, certificates and network
rules. The replicas know each other by their leases in the database anyway.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol
from uuid import uuid4

from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry import TelemetryServicer
from google.protobuf.message import DecodeError


class TraceExchange(Protocol):
    """Questions between replicas; see `adapters.trace_questions.TraceQuestionTable`. Raises Unavailable."""

    async def put(self, question: str, addressees: Sequence[str], request: bytes) -> None:
        """Store a question to several replicas."""

    async def answers(self, question: str) -> list[bytes]:
        """Return the answers to a question so far."""

    async def waiting(self, addressee: str, most: int) -> list[tuple[str, bytes]]:
        """Return a replica's questions without an answer, and their requests."""

    async def answer(self, question: str, addressee: str, answer: bytes | None) -> None:
        """Store a replica's answer; None deletes its question."""

    async def all(self) -> set[str]:
        """Return all questions."""

    async def remove(self, questions: Iterable[str]) -> None:
        """Delete questions with their answers."""


TIMEOUT = 3.0
POLL_SECONDS = 0.5
"""Seconds between checks for questions, if there are other replicas."""
MOST = 64
"""Maximum replicas asked, and questions answered per check."""
SWEEP_SECONDS = 60.0
AT_ONCE = 8
"""Concurrent questions of a replica; others wait within the same three seconds."""
LONGEST = 8 << 20
"""Maximum bytes of an answer, twice a stored trace's limit; a longer answer is dropped."""
_PAUSE = 0.1

_log = get_logger(__name__)


class TraceQuestions:
    """Asks other replicas for their spans, and answers their questions; `others` returns the live replicas' names."""

    def __init__(
        self, exchange: TraceExchange, name: str, own: TelemetryServicer, others: Callable[[], Collection[str]]
    ) -> None:
        self._exchange = exchange
        self._name = name
        self._own = own
        self._others = others
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._taking_back: set[asyncio.Task[None]] = set()
        self._there: set[str] = set()
        """Questions that existed at the last sweep."""
        self.rounds = (
            PeriodicTasks("trace-questions", self.answer, POLL_SECONDS, service="edge"),
            PeriodicTasks("trace-questions-kept", self.sweep, SWEEP_SECONDS, service="edge"),
        )

    async def ask(self, request: GetTraceRequest) -> list[Sequence[TraceSpan] | None]:
        """Return each replica's spans that the caller may see, None for one without an answer within 3 s."""
        others = sorted(self._others())
        if not others:
            return []
        asked, question, answered = others[:MOST], uuid4().hex, list[Sequence[TraceSpan]]()
        try:
            async with asyncio.timeout(TIMEOUT), self._turn:
                try:
                    await self._exchange.put(question, asked, request.SerializeToString())
                    while len(answered) < len(asked):
                        await asyncio.sleep(_PAUSE)
                        answers = await self._exchange.answers(question)
                        answered = [GetTraceResponse.FromString(one).spans for one in answers]
                finally:
                    # Even if the caller was cancelled, and without delaying the answer.
                    taking_back = asyncio.create_task(self._take_back(question))
                    self._taking_back.add(taking_back)
                    taking_back.add_done_callback(self._taking_back.discard)
        except (TimeoutError, FootnoteError, OSError) as error:
            _log.warning("edges_not_heard", asked=len(asked), answered=len(answered), error=type(error).__name__)
        return [*answered, *[None] * (len(others) - len(answered))]

    async def answer(self) -> int:
        """Answer this replica's questions; return how many there were."""
        if not self._others():
            return 0
        found = await self._exchange.waiting(self._name, MOST)
        for question, request in found:
            answer = await self._answer_to(request)  # the asker reports a missing answer
            await self._exchange.answer(question, self._name, None if answer is None else answer.SerializeToString())
        return len(found)

    async def sweep(self) -> None:
        """Delete questions that existed at the last sweep: their asker is gone. No clock is used, for clocks differ."""
        there = await self._exchange.all()
        if left := there & self._there:
            await self._exchange.remove(left)
        self._there = there - left

    async def _take_back(self, question: str) -> None:
        try:
            await self._exchange.remove([question])
        except (FootnoteError, OSError) as error:
            _log.warning("trace_question_left", error=type(error).__name__)  # the sweep deletes it

    async def _answer_to(self, asked: bytes) -> GetTraceResponse | None:
        try:
            answer = await self._own.GetTrace(GetTraceRequest.FromString(asked), None)
        except NotFound:
            return GetTraceResponse()
        except (FootnoteError, DecodeError) as error:
            _log.warning("trace_question_refused", error=type(error).__name__)
            return None
        if answer.ByteSize() > LONGEST:
            _log.warning("trace_question_refused", error="longer than what is kept")
            return None
        return answer
