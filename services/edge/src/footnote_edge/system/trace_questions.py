"""Exchanges traces between replicas of edge, by a table of their shared database.

Edge's only port is public and offers no telemetry; a second port would need authentication, certificates and network
rules. The replicas know each other by their leases in the database anyway.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from uuid import uuid4

import sqlalchemy as sa
from footnote.telemetry.v1.telemetry_service_pb2 import GetTraceRequest, GetTraceResponse, TraceSpan
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.telemetry_service import TelemetryServicer
from google.protobuf.message import DecodeError
from sqlalchemy.exc import SQLAlchemyError

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import TraceQuestionRow as Row

TIMEOUT = 3.0
LOOK_SECONDS = 0.5
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
        self, database: Database, name: str, own: TelemetryServicer, others: Callable[[], Collection[str]]
    ) -> None:
        self._database = database
        self._name = name
        self._own = own
        self._others = others
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._taking_back: set[asyncio.Task[None]] = set()
        self._there: set[str] = set()
        """Questions that existed at the last sweep."""
        self.rounds = (
            PeriodicTasks("trace-questions", self.answer, LOOK_SECONDS, service="edge"),
            PeriodicTasks("trace-questions-kept", self.sweep, SWEEP_SECONDS, service="edge"),
        )

    async def ask(self, request: GetTraceRequest) -> list[Sequence[TraceSpan] | None]:
        """Return each replica's spans that the caller may see, None for one without an answer within 3 s."""
        others = sorted(self._others())
        if not others:
            return []
        asked, question, told = others[:MOST], uuid4().hex, list[Sequence[TraceSpan]]()
        try:
            async with asyncio.timeout(TIMEOUT), self._turn:
                try:
                    await self._put(question, asked, request)
                    while len(told) < len(asked):
                        await asyncio.sleep(_PAUSE)
                        told = await self._told(question)
                finally:
                    # Even if the caller was cancelled, and without delaying the answer.
                    taking_back = asyncio.create_task(self._take_back(question))
                    self._taking_back.add(taking_back)
                    taking_back.add_done_callback(self._taking_back.discard)
        except (TimeoutError, FootnoteError, SQLAlchemyError, OSError) as error:
            _log.warning("edges_not_heard", asked=len(asked), told=len(told), error=type(error).__name__)
        return [*told, *[None] * (len(others) - len(told))]

    async def answer(self) -> int:
        """Answer this replica's questions; return how many there were."""
        if not self._others():
            return 0
        waiting = sa.select(Row.question, Row.request).where(Row.addressee == self._name, Row.answer.is_(None))
        async with self._database.read() as connection:
            found = (await connection.execute(waiting.limit(MOST))).all()
        for question, request in found:
            mine = sa.and_(Row.question == question, Row.addressee == self._name)
            answer = await self._answer_to(request)
            async with self._database.write() as connection:
                if answer is None:  # the asker reports the missing answer
                    await connection.execute(sa.delete(Row).where(mine))
                else:
                    await connection.execute(sa.update(Row).where(mine).values(answer=answer.SerializeToString()))
        return len(found)

    async def sweep(self) -> None:
        """Delete questions that existed at the last sweep: their asker is gone. No clock is used, for clocks differ."""
        async with self._database.read() as connection:
            there = set((await connection.execute(sa.select(Row.question).distinct())).scalars())
        if left := there & self._there:
            async with self._database.write() as connection:
                for question in left:
                    await connection.execute(sa.delete(Row).where(Row.question == question))
        self._there = there - left

    async def _put(self, question: str, addressees: Sequence[str], request: GetTraceRequest) -> None:
        common = {"question": question, "request": request.SerializeToString()}
        async with self._database.write() as connection:
            await connection.execute(sa.insert(Row), [{**common, "addressee": one} for one in addressees])

    async def _told(self, question: str) -> list[Sequence[TraceSpan]]:
        answered = sa.and_(Row.question == question, Row.answer.is_not(None))
        async with self._database.read() as connection:
            found = (await connection.execute(sa.select(Row.answer).where(answered))).scalars().all()
        return [GetTraceResponse.FromString(one).spans for one in found if one is not None]

    async def _take_back(self, question: str) -> None:
        try:
            async with self._database.write() as connection:
                await connection.execute(sa.delete(Row).where(Row.question == question))
        except (FootnoteError, SQLAlchemyError, OSError) as error:
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
