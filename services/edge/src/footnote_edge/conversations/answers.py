"""Stored answers by id: those in conversations, and standalone ones, which expire."""

from datetime import UTC, datetime, timedelta

from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.wall_clock import deletion_datetime

from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.ports import StoredAnswers
from footnote_edge.conversations.withholding import Withholding


class Answers:
    """Reads answers of one user at a time, as if no others existed; stores standalone answers."""

    def __init__(self, stored: StoredAnswers, withholding: Withholding, keep_days: float) -> None:
        self._stored = stored
        self._withholding = withholding
        self._keep = timedelta(days=keep_days)

    async def keep(self, scope: Scope, answer: ConversationMessage, origins: set[Origin]) -> None:
        """Store a standalone answer under its id, with its origins; raises AlreadyStored."""
        if not self._keep:
            return
        answer.role = MESSAGE_ROLE_ASSISTANT
        answer.create_time.FromDatetime(datetime.now(UTC))
        await self._stored.add(scope, answer, origins)

    async def get(self, scope: Scope, answer_id: str) -> ConversationMessage:
        """Return an answer as the user may see it now; raises NotFound for a foreign or expired one, or a question."""
        if not answer_id:
            raise InvalidArgument.field("answer_id", "must be given")
        found = await self._stored.get(scope, answer_id, datetime.now(UTC) - self._keep)
        if found is None:
            raise _missing(answer_id)
        return (await self._withholding.shown(scope, [found]))[0]

    async def delete(self, scope: Scope, answer_id: str) -> tuple[str, list[str]]:
        """Delete an answer and, if it is the current one of a question, those that it has replaced.

        Returns its conversation, "" for none, and the ids removed from it. Raises NotFound as `get` does.
        """
        conversation_id = (await self.get(scope, answer_id)).conversation_id
        ids = await self._stored.delete(scope, answer_id, conversation_id)
        if not ids:
            raise _missing(answer_id)
        return conversation_id, ids if conversation_id else []

    def expiry(self, answer: ConversationMessage) -> datetime | None:
        """Return when an answer is deleted; None when it stays with its conversation."""
        if answer.conversation_id:
            return None
        return answer.create_time.ToDatetime(UTC) + self._keep

    async def sweep(self) -> int:
        """Delete expired standalone answers; return how many there were."""
        return await self._stored.sweep(deletion_datetime() - self._keep)


def _missing(answer_id: str) -> NotFound:
    return NotFound(f"Answer '{answer_id}' not found", reason="ANSWER_NOT_FOUND")
