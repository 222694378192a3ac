"""The table of verdicts."""

from datetime import UTC

from footnote.edge.v1.answers_pb2 import RATING_UNSPECIFIED, Feedback, Rating
from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import utc
from footnote_kit.paging import Page, fitting
from sqlalchemy import ColumnElement, delete, func, select

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.messages import PRESENT
from footnote_edge.adapters.tables import FeedbackRow, MessageRow


class FeedbackTable:
    """Reads and writes verdicts, one per user, answer and citation."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def put(self, scope: Scope, feedback: Feedback) -> None:
        """Store a verdict in place of an earlier one."""
        row = FeedbackRow(
            id=feedback.id,
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            answer_id=feedback.answer_id,
            citation=feedback.citation,
            rating=feedback.rating,
            comment=feedback.comment,
            create_time=feedback.create_time.ToDatetime(UTC),
        )
        async with self._sessions.begin() as session:
            await session.execute(delete(FeedbackRow).where(*_one(scope, feedback.answer_id, feedback.citation)))
            session.add(row)

    async def remove(self, scope: Scope, answer_id: str, citation: int) -> None:
        """Delete a verdict, if any."""
        async with self._sessions.begin() as session:
            await session.execute(delete(FeedbackRow).where(*_one(scope, answer_id, citation)))

    async def page(
        self, scope: Scope, rating: Rating.ValueType, page: Page, conversation_id: str, *, everyones: bool
    ) -> tuple[list[Feedback], str, int]:
        """Return a page, newest first, the next page's token, and the total: the user's own, or `everyones`."""
        wanted = [FeedbackRow.tenant_id == scope.tenant_id]
        if not everyones:
            wanted.append(FeedbackRow.user_id == scope.user_id)
        if rating != RATING_UNSPECIFIED:
            wanted.append(FeedbackRow.rating == rating)
        if conversation_id:
            said = select(MessageRow.id).where(
                MessageRow.conversation_id == conversation_id,
                MessageRow.tenant_id == scope.tenant_id,
                MessageRow.user_id == scope.user_id,
                PRESENT,
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
