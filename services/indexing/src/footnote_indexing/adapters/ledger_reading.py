"""What searches need from the ledger, for many collections in one query."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

import sqlalchemy as sa
from footnote_kit.caches import AgedCache

from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.revision_rows import unexpired
from footnote_indexing.adapters.tables import HIDDEN, OWED, revisions
from footnote_indexing.model import CURRENT, Contents, Totals

_LARGE = 10_000
"""Documents from which on a collection is not counted for each search: below, that takes some 20 ms."""
_KEPT_SECONDS = 10.0
_MOST_KEPT = 1024


class LedgerReading:
    """Returns what is searched of (collection, index version) pairs, and what must be hidden."""

    def __init__(self, database: Database, clock: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._clock = clock
        self._large: AgedCache[tuple[str, int], tuple[float, Contents]] = AgedCache(
            _MOST_KEPT, _MOST_KEPT, lambda _: 1, lambda held: held[0], clock
        )

    async def hidden(self, pairs: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
        """Return the revision keys to hide from searches, by collection id, for (collection, index version) pairs."""
        result: dict[str, list[str]] = {collection_id: [] for collection_id, _ in pairs}
        if not pairs:
            return result
        query = sa.select(revisions.c.collection_id, revisions.c.document_id, revisions.c.revision).where(
            sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
            HIDDEN,
            revisions.c.revision > 0,  # 0 stands for a document that was deleted before it was known, without rows
        )
        async with self._database.read() as connection:
            for collection_id, document_id, revision in await connection.execute(query):
                result[collection_id].append(f"{document_id}:{revision}")
        return result

    async def contents(self, pairs: Sequence[tuple[str, int]]) -> dict[str, Contents]:
        """Return what these pairs hold, by collection id; see `Contents.exact`."""
        kept = {pair: held for pair in pairs if (held := self._large.get(pair)) is not None}
        asked = [pair for pair in pairs if pair not in kept]
        until = self._clock() + _KEPT_SECONDS
        languages, totals = await self.languages(asked), await self.totals(asked)
        found = {pair[0]: Contents(languages[pair[0]], totals[pair[0]]) for pair in asked}
        for pair in asked:
            if totals[pair[0]].documents >= _LARGE:
                self._large[pair] = (until, replace(found[pair[0]], exact=False))
        owed = await self._owed(list(kept))
        for pair, (_, before) in kept.items():
            found[pair[0]] = replace(before, totals=replace(before.totals, owed=owed.get(pair[0], 0)))
        return found

    async def _owed(self, pairs: Sequence[tuple[str, int]]) -> dict[str, int]:
        if not pairs:
            return {}
        query = (
            sa.select(revisions.c.collection_id, sa.func.sum(revisions.c.vectors_owed))
            .where(
                sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
                OWED,
                revisions.c.state == CURRENT,
                unexpired(),
            )
            .group_by(revisions.c.collection_id)
        )
        async with self._database.read() as connection:
            return {collection_id: int(owed) for collection_id, owed in await connection.execute(query)}

    async def languages(self, pairs: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
        """Return the languages of searched documents, most frequent first, by collection id."""
        result: dict[str, list[str]] = {collection_id: [] for collection_id, _ in pairs}
        if not pairs:
            return result
        count = sa.func.count()
        query = (
            sa.select(revisions.c.collection_id, revisions.c.language)
            .where(
                sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
                revisions.c.state == CURRENT,
                revisions.c.language != "",
            )
            .group_by(revisions.c.collection_id, revisions.c.language)
            .order_by(count.desc(), revisions.c.language)
        )
        async with self._database.read() as connection:
            for collection_id, language in await connection.execute(query):
                result[collection_id].append(language)
        return result

    async def totals(self, pairs: Sequence[tuple[str, int]], *, expired: bool = False) -> dict[str, Totals]:
        """Return what searches see now, by collection id; `expired` includes expired revisions still stored."""
        result = {collection_id: Totals(0, 0, 0) for collection_id, _ in pairs}
        if not pairs:
            return result
        query = (
            sa.select(
                revisions.c.collection_id,
                sa.func.count(),
                sa.func.coalesce(sa.func.sum(revisions.c.chunks_stored), 0),
                sa.func.coalesce(sa.func.sum(revisions.c.characters), 0),
                sa.func.coalesce(sa.func.sum(revisions.c.vectors_owed), 0),
            )
            .where(
                sa.tuple_(revisions.c.collection_id, revisions.c.index_version).in_(pairs),
                revisions.c.state == CURRENT,
                sa.true() if expired else unexpired(),
            )
            .group_by(revisions.c.collection_id)
        )
        async with self._database.read() as connection:
            for collection_id, *sums in await connection.execute(query):
                result[collection_id] = Totals(*map(int, sums))
        return result
