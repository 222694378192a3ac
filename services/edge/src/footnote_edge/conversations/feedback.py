"""Thumbs up and down on answers and on single citations."""

from datetime import UTC, datetime
from uuid import uuid4

from footnote.edge.v1.answers_pb2 import RATING_DOWN, RATING_UNSPECIFIED, Feedback, Rating
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.errors import InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.telemetry import counter

from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.ports import StoredFeedback

MAX_COMMENT = 4000

_log = get_logger(__name__)


class FeedbackRecords:
    """Records verdicts; one per user, answer and citation: a new one replaces the old."""

    def __init__(self, stored: StoredFeedback, answers: Answers) -> None:
        self._stored = stored
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
        feedback = Feedback(
            id=uuid4().hex,
            answer_id=answer_id,
            citation=citation,
            rating=rating,
            comment=comment,
            user_id=scope.user_id,
        )
        feedback.create_time.FromDatetime(datetime.now(UTC))
        await self._stored.put(scope, feedback)
        verdict = "down" if rating == RATING_DOWN else "up"
        counter("footnote.edge.feedback").add(1, {"verdict": verdict})
        if rating == RATING_DOWN:
            # The comment is the reader's own text and must stay out of the log; the id identifies it.
            _log.warning("feedback_negative", feedback_id=feedback.id, answer_id=answer_id, citation=citation)
        return feedback

    async def withdraw(self, scope: Scope, answer_id: str, citation: int) -> None:
        """Delete the user's verdict, if any; raises NotFound for an answer that is not the caller's."""
        await self._answers.get(scope, answer_id)
        await self._stored.remove(scope, answer_id, citation)

    async def page(
        self, scope: Scope, rating: Rating.ValueType, page: Page, conversation_id: str = ""
    ) -> tuple[list[Feedback], str, int]:
        """Return a page, newest first, the next page's token, and the total.

        Administrators see the whole tenant's feedback, other users their own. With a conversation, only feedback on its
        answers is included, and none if it is not the caller's.
        """
        return await self._stored.page(scope, rating, page, conversation_id, everyones=sees_all(scope))
