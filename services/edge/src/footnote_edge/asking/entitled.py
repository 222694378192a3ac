"""Whether a question may go on: its caller's key holds, and what its answer is made of is there and readable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.errors import FootnoteError, NotFound, Unauthenticated

from footnote_edge.conversations.origins import Origin
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.gateway import principals
from footnote_edge.gateway.identity import Authenticator

LOOK_SECONDS = 1.0
"""How often an answer under way is looked after; a revocation on another replica takes as long as for every call."""


class Entitled:
    """Looks after answers under way."""

    def __init__(self, authenticator: Authenticator, withholding: Withholding) -> None:
        self._authenticator = authenticator
        self._withholding = withholding

    async def check(self, scope: Scope, origins: set[Origin]) -> None:
        """Raise Unauthenticated where the key has ended, NotFound where something of the origins is withdrawn."""
        await self._authenticator.check(principals.identity())
        await self._withholding.check(scope, origins)

    async def watch(self, scope: Scope, origins: set[Origin], end: Callable[[FootnoteError], object]) -> None:
        """Check until the first refusal, and `end` the answer by it; what cannot be looked up is no refusal."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.check(scope, origins)
            except (NotFound, Unauthenticated) as refusal:
                end(refusal)
                return
            except FootnoteError:
                continue
