"""Thumbs up and down on answers and on single citations."""

from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import RATING_DOWN, RATING_UNSPECIFIED, Feedback, Rating
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.times import utc
from footnote_kit.access import sees_all
from footnote_kit.errors import InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page, fitting
from footnote_kit.telemetry import counter
from sqlalchemy import ColumnElement, delete, func, select

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import FeedbackRow, MessageRow
from footnote_edge.conversations.answers import Answers

MAX_COMMENT = 4000

_log = get_logger(__name__)


class FeedbackBook:
    """Records verdicts; one per user, answer and citation: a new one replaces the old."""

    def __init__(self, database: Database, answers: Answers) -> None:
        self._sessions = database.sessions
        self._answers = answers

    async def record(
        self, scope: Scope, answer_id: str, citation: int, rating: Rating.ValueType, comment: str
    ) -> Feedback:
        """Record a verdict; raises NotFound for an answer that is not the caller's."""
        if rating == RATING_UNSPECIFIED:
            raise InvalidArgument.field("rating", "must be up or down")
        if len(comment) > MAX_COMMENT:
            raise InvalidArgument.field("comment", f"must have at most {MAX_COMMENT} characters")
        found = await self._answers.get(scope, answer_id)
        citations = len(found.answer.citations)
        if not 0 <= citation <= citations:
            raise InvalidArgument.field("citation", f"must be between 0 and {citations}, the citations of this answer")
        row = FeedbackRow(
            id=uuid4().hex,
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            answer_id=answer_id,
            citation=citation,
            rating=rating,
            comment=comment,
            create_time=datetime.now(UTC),
        )
        async with self._sessions.begin() as session:
            await session.execute(delete(FeedbackRow).where(*_one(scope, answer_id, citation)))
            session.add(row)
        verdict = "down" if rating == RATING_DOWN else "up"
        counter("footnote.edge.feedback").add(1, {"verdict": verdict})
        if rating == RATING_DOWN:
            # The comment is the reader's own text and must stay out of the log; the id identifies it.
            _log.warning("feedback_negative", feedback_id=row.id, answer_id=answer_id, citation=citation)
        return _feedback(row)

    async def withdraw(self, scope: Scope, answer_id: str, citation: int) -> None:
        """Delete the user's verdict, if any; raises NotFound for an answer that is not the caller's."""
        await self._answers.get(scope, answer_id)
        async with self._sessions.begin() as session:
            await session.execute(delete(FeedbackRow).where(*_one(scope, answer_id, citation)))

    async def page(
        self, scope: Scope, rating: Rating.ValueType, page: Page, conversation_id: str = ""
    ) -> tuple[list[Feedback], str, int]:
        """Return a page, newest first, the next page's token, and the total.

        Administrators see the whole tenant's feedback, other users their own; of these, with a conversation, only what
        is about its answers, and nothing where it is not the caller's own.
        """
        wanted = [FeedbackRow.tenant_id == scope.tenant_id]
        if not sees_all(scope):
            wanted.append(FeedbackRow.user_id == scope.user_id)
        if rating != RATING_UNSPECIFIED:
            wanted.append(FeedbackRow.rating == rating)
        if conversation_id:
            said = select(MessageRow.id).where(
                MessageRow.conversation_id == conversation_id,
                MessageRow.tenant_id == scope.tenant_id,
                MessageRow.user_id == scope.user_id,
            )
            wanted.append(FeedbackRow.answer_id.in_(said))
        query = select(FeedbackRow).where(*wanted).order_by(FeedbackRow.sequence.desc()).limit(page.size + 1)
        if page.position is not None:
            query = query.where(FeedbackRow.sequence < page.position[0])
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
            total = await session.scalar(select(func.count()).select_from(FeedbackRow).where(*wanted))
        found = [_feedback(row) for row in rows]
        shown = min(page.size, fitting(found))
        token = page.token((rows[shown - 1].sequence,)) if shown < len(rows) else ""
        return found[:shown], token, total or 0


def _one(scope: Scope, answer_id: str, citation: int) -> tuple[ColumnElement[bool], ...]:
    return (
        FeedbackRow.answer_id == answer_id,
        FeedbackRow.citation == citation,
        FeedbackRow.user_id == scope.user_id,
    )


def _feedback(row: FeedbackRow) -> Feedback:
    feedback = Feedback(
        id=row.id,
        answer_id=row.answer_id,
        citation=row.citation,
        rating=row.rating,  # type: ignore[arg-type]
        comment=row.comment,
        user_id=row.user_id,
    )
    feedback.create_time.FromDatetime(utc(row.create_time))
    return feedback
