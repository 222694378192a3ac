"""Finds messages that memory does not hold although their answer is long there, and has them remembered after all.

Whoever died between an answer and its job left none, and a job that was refused has ended; without another question in
their conversation nobody would come back to them.
"""

import time
from datetime import UTC, datetime, timedelta

from footnote.types.v1.scope_pb2 import ROLE_SYSTEM, Scope
from footnote_kit.logs import get_logger

from footnote_edge.conversations.conversations import Conversations
from footnote_edge.jobs.jobs import Jobs

SETTLED_SECONDS = 60.0
"""A message younger than this may be on its way into memory right now."""
AGAIN_SECONDS = 900.0
"""How often one conversation is tried again: what was refused may be so for long."""
MOST = 200
"""Conversations of one look."""

_log = get_logger(__name__)


class Remembering:
    """Looks now and then; replicas that look at once take on the same jobs, which are done once."""

    def __init__(self, conversations: Conversations, jobs: Jobs) -> None:
        self._conversations = conversations
        self._jobs = jobs

    async def look(self) -> int:
        """Take on the jobs that are missing; return of how many conversations."""
        before = datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)
        period = int(time.time() / AGAIN_SECONDS)
        taken = 0
        for tenant, user, conversation_id in await self._conversations.messages.unremembered(before, MOST):
            scope = Scope(tenant_id=tenant, user_id=user, roles=[ROLE_SYSTEM])
            taken += await self._jobs.remember_again(scope, conversation_id, period)
        if taken:
            _log.warning("conversations_remembered_again", conversations=taken)
        return taken
