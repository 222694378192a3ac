"""Compares ledger and store: orphaned rows are removed, documents with missing rows are marked.

A marked document's remaining rows stay searchable until a new revision replaces it; see `Inventory.damaged`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_kit.logs import get_logger
from footnote_store.compiler import quote

from footnote_indexing.adapters.generations import Generation, Generations
from footnote_indexing.adapters.inventory import Inventory
from footnote_indexing.writing.store_writer import StoreWriter

_log = get_logger("footnote.indexing.recovery")
_PAGE = 10_000
_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class Findings:
    """The problems of a generation: rows removed, and ids of documents newly found with rows missing or doubled."""

    rows_removed: int = 0
    damaged: Sequence[str] = ()


class Recovery:
    """Compares in detail only where totals differ, so that a healthy store costs one count per collection."""

    def __init__(self, inventory: Inventory, generations: Generations, writer: StoreWriter) -> None:
        self._inventory = inventory
        self._generations = generations
        self._writer = writer

    async def check_all(self) -> list[Findings]:
        """Check every searched generation; log the findings."""
        return [await self.check(generation) for generation in await self._generations.searched()]

    async def check(self, generation: Generation) -> Findings:
        """Compare one generation with its rows. Documents being written or purged are left out."""
        space = await self._writer.ensure(generation)
        rows = f"collection_key == {quote(generation.collection_key)}"
        searched = await self._inventory.searched(generation.collection_id, generation.number)
        total = await self._writer.store.count(space, rows)
        if total == sum(holding.counted for holding in searched):
            return Findings()
        present = await self._rows_by_revision(space, rows)
        # Two rows of one id are counted twice but read once.
        doubled = total > present.total()
        # Check again: documents begun or finished while the rows were read are no findings.
        known = await self._inventory.known(generation.collection_id, generation.number)
        known |= {holding.key.revision_key for holding in searched}
        removed = 0
        for revision_key in present.keys() - known:
            removed += await self._writer.store.delete(space, f"{rows} and revision_key == {quote(revision_key)}")
        damaged = []
        for holding in searched:
            counted = present[holding.key.revision_key]
            if counted > holding.written:
                removed += await self._writer.trim(space, holding.key, holding.written)
            if doubled or counted > holding.written:
                counted = await self._writer.count(space, holding.key)
            if counted != holding.counted and await self._inventory.record(holding.key, counted):
                damaged += [holding.key.document_id] if counted != holding.written else []
        damaged.sort()
        if removed or damaged:
            _log.error(
                "store_differs_from_ledger",
                collection_id=generation.collection_id,
                rows_removed=removed,
                documents_to_reindex=damaged[:_MOST_NAMED],
                documents_damaged=len(damaged),
            )
        return Findings(removed, tuple(damaged))

    async def _rows_by_revision(self, space: str, rows: str) -> Counter[str]:
        """Count the rows of each revision key by walking through the ids."""
        counts: Counter[str] = Counter()
        last = ""
        while True:
            expr = f"{rows} and id > {quote(last)}" if last else rows
            ids = await self._writer.store.ids(space, expr, _PAGE)
            for chunk_id in ids:
                document_id, revision, _ = chunk_id.rsplit(":", 2)
                counts[f"{document_id}:{int(revision)}"] += 1
            if len(ids) < _PAGE:
                return counts
            last = ids[-1]
