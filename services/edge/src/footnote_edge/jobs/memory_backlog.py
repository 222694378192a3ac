"""Finds answered conversations that memory search still lacks, and enqueues their jobs.

A crash between an answer and its job leaves no job, and a refused job has ended. Without another question in the
conversation, no other code would retry.
"""

import time
from datetime import UTC, datetime, timedelta

from footnote_kit.access import system_scope
from footnote_kit.logs import get_logger

from footnote_edge.conversations.conversations import Conversations
from footnote_edge.jobs.jobs import Jobs

SETTLED_SECONDS = 60.0
"""Seconds within which a new message may still be on its way into memory."""
AGAIN_SECONDS = 900.0
"""Seconds between retries of one conversation: a refusal may last long."""
MOST = 200
"""Conversations per round."""

_log = get_logger(__name__)


class MemoryBacklog:
    """Runs periodically; concurrent replicas enqueue the same jobs, which run once."""

    def __init__(self, conversations: Conversations, jobs: Jobs) -> None:
        self._conversations = conversations
        self._jobs = jobs
        self._before: datetime | None = None
        """Where the last round ended, which took the newest ones; None where it came to the oldest one."""

    async def run(self) -> int:
        """Enqueue the missing jobs; return the number of conversations."""
        before = self._before or datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)
        period = int(time.time() / AGAIN_SECONDS)
        taken = 0
        # Those that are refused for as long as a rule holds must not keep the older ones from their turn.
        found, self._before = await self._conversations.messages.unremembered(before, MOST)
        for tenant, user, conversation_id in found:
            scope = system_scope(tenant, user)
            taken += await self._jobs.store_in_memory_again(scope, conversation_id, period)
        if taken:
            _log.warning("conversations_remembered_again", conversations=taken)
        return taken
