"""Remembers, over restarts, that the ledger has lost its newest commits and was not compared with the store since."""

import asyncio

from footnote_database.parts import Parts

from footnote_indexing.adapters.database import TRAITS
from footnote_indexing.ports import RowLedger


class Losses:
    """The mark of the ledger's accepted loss in the data folder."""

    def __init__(self, parts: Parts, rows: RowLedger) -> None:
        self._parts = parts
        self._rows = rows

    async def rows(self) -> RowLedger | None:
        """Return where rows of own vectors are entered that only the store holds; None without a loss."""
        return self._rows if await asyncio.to_thread(self._parts.lacks, TRAITS.part) else None

    async def settled(self) -> None:
        """Record that the store was compared with the ledger since the loss."""
        await asyncio.to_thread(self._parts.forget_loss, TRAITS.part)
