"""Whether an answer may continue: the caller's key is valid, and all origins exist and are readable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, NotFound, Unauthenticated

from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.gateway import principals
from footnote_edge.gateway.identity import Authenticator

CHECK_SECONDS = 1.0
"""Seconds between checks of an answer in progress; another replica's revocation takes as long as for every call."""


class AnswerAccess:
    """Checks answers in progress."""

    def __init__(self, authenticator: Authenticator, withholding: Withholding) -> None:
        self._authenticator = authenticator
        self._withholding = withholding

    async def check(self, scope: Scope, origins: set[Origin], since: datetime) -> None:
        """Raise Unauthenticated where the key has ended, NotFound where an origin is deleted or unreadable."""
        await self._authenticator.check(principals.identity())
        await self._withholding.check(scope, origins, since)

    async def watch(
        self, scope: Scope, origins: set[Origin], since: datetime, end: Callable[[FootnoteError], object]
    ) -> None:
        """Check until the first refusal, then `end` the answer with it; a failed check is no refusal."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self.check(scope, origins, since)
            except (NotFound, Unauthenticated) as refusal:
                end(refusal)
                return
            except FootnoteError:
                continue
