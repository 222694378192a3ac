"""Compares ledger and store: orphaned rows are removed, documents with missing rows are marked.

A marked document's remaining rows stay searchable until a new revision replaces it; see `Inventory.damaged`.

Rows of own vectors have no document to be indexed again from. Where the loss of the ledger's newest commits was
accepted, those that the store still holds are listed again. Otherwise they are leftovers of deletions, and are removed.
Rows of collections that were lost with those commits are removed and logged if their documents can be indexed again.
Own vectors exist nowhere else and stay in the store, where no search finds them: it filters by collections it knows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_kit.logs import get_logger
from footnote_store.compiler import quote
from footnote_store.ids import chunk_id, parse_chunk_id
from footnote_store.rows import CHUNK_SPACES, Hit, own_key

from footnote_indexing.model import BUILDING, Holding, IndexVersion, NewRow, RevisionKey
from footnote_indexing.ports import IndexVersions, Inventory, LedgerLosses, RowLedger
from footnote_indexing.writing.store_writer import StoreWriter

_log = get_logger("footnote.indexing.recovery")
_PAGE = 10_000
_MOST_NAMED = 100
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Findings:
    """The problems of an index version: the number of rows removed, and ids.

    `damaged` are documents newly found with rows missing or doubled, `listed_again` revision keys of own vectors.
    """

    rows_removed: int = 0
    damaged: Sequence[str] = ()
    listed_again: Sequence[str] = ()


class Recovery:
    """Compares in detail only where totals differ or after a loss: a healthy store costs one count per collection."""

    def __init__(
        self,
        inventory: Inventory,
        index_versions: IndexVersions,
        writer: StoreWriter,
        losses: LedgerLosses | None = None,
    ) -> None:
        self._inventory = inventory
        self._index_versions = index_versions
        self._writer = writer
        self._losses = losses
        self._lists_again: RowLedger | None = None

    async def check_all(self) -> list[Findings]:
        """Check every searched index version; log the findings.

        After a loss, check also those being built, and what the ledger no longer knows.
        """
        self._lists_again = await self._losses.rows() if self._losses is not None else None
        versions = await self._index_versions.searched()
        if self._lists_again is not None:  # a version that is being built may hold rows of revisions that were lost
            versions += [one for one in await self._index_versions.all() if one.state == BUILDING]
        found = [await self.check(index_version) for index_version in versions]
        if self._losses is not None and self._lists_again is not None:
            await self.remove_unknown()
            await self._losses.settled()
        return found

    async def remove_unknown(self) -> Counter[str]:
        """Remove the rows of collections that the ledger does not know; return how many by collection, and log both.

        Nothing but a loss leaves such rows: the ledger enters a collection before its first row, and forgets it after
        its last. A store on a server may have rows of other installations, so nothing is removed there. Own vectors
        stay. A ledger without any collection is a new file in the place of a lost one, and everything stays.
        """
        removed: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        health = await self._writer.store.health()
        spaces = health.get("rows", ()) if health["engine"] == "embedded" else ()
        for space in (name for name in spaces if name.startswith(CHUNK_SPACES)):
            while known := {one.collection_key for one in await self._index_versions.all()}:
                beyond = ", ".join(quote(key) for key in sorted(known | kept.keys()))
                hits = await self._writer.store.read(space, f"collection_key not in [{beyond}]", _AT_ONCE)
                known = {one.collection_key for one in await self._index_versions.all()}  # some were made meanwhile
                if not (unknown := {hit.collection_key for hit in hits} - known):
                    break
                own = {hit.collection_key for hit in hits if _is_own(hit)}
                for key in unknown:
                    rows = f"collection_key == {quote(key)}"
                    if key in own:
                        kept[key] = await self._writer.store.count(space, rows)
                    else:
                        removed[_collection_id(key)] += await self._writer.store.delete(space, rows)
            else:
                _log.error("no_rows_removed", reason="the ledger has no collection", space=space)
        if removed:
            _log.error("rows_of_lost_collections_removed", collections=dict(removed.most_common(_MOST_NAMED)))
        if kept:
            collections = {_collection_id(key): count for key, count in kept.most_common(_MOST_NAMED)}
            _log.error("own_rows_of_lost_collections_kept", collections=collections)
        return removed

    async def check(self, index_version: IndexVersion) -> Findings:
        """Compare one index version with its rows. Documents being written or purged are left out."""
        space = await self._writer.ensure(index_version)
        rows = f"collection_key == {quote(index_version.collection_key)}"
        counted = await self._inventory.counted(index_version.collection_id, index_version.number)
        total = await self._writer.store.count(space, rows)
        # After a loss equal totals say nothing: the ledger may list an old row, and the store hold its successor.
        if total == counted and self._lists_again is None:
            return Findings()
        searched = await self._inventory.searched(index_version.collection_id, index_version.number)
        present = await self._rows_by_revision(space, rows)
        # Two rows of one id are counted twice but read once.
        doubled = total > present.total()
        # Check again: documents begun or finished while the rows were read are no findings.
        known = await self._inventory.known(index_version.collection_id, index_version.number)
        known |= {holding.key.revision_key for holding in searched}
        removed = 0
        unknown = present.keys() - known
        own = sorted(key for key in unknown if key.startswith(own_key(index_version.collection_id, "")))
        again = await self._list_again(index_version, space, own)
        for revision_key in unknown.difference(again):
            removed += await self._writer.store.delete(space, f"{rows} and revision_key == {quote(revision_key)}")
        unlisted = await self._unlist(index_version, searched, present, again)
        damaged = []
        for holding in searched:
            if holding.key.document_id in unlisted:
                continue
            counted = present[holding.key.revision_key]
            if counted > holding.written:
                removed += await self._writer.trim(space, holding.key, holding.written)
            if doubled or counted > holding.written:
                counted = await self._writer.count(space, holding.key)
            if counted != holding.counted and await self._inventory.record(holding.key, counted):
                damaged += [holding.key.document_id] if counted != holding.written else []
        damaged.sort()
        if removed or damaged or again or unlisted:
            _log.error(
                "store_differs_from_ledger",
                collection_id=index_version.collection_id,
                rows_removed=removed,
                own_rows_removed=[key for key in own if key not in again][:_MOST_NAMED],
                own_rows_listed_again=again[:_MOST_NAMED],
                own_rows_unlisted=sorted(unlisted)[:_MOST_NAMED],
                documents_to_reindex=damaged[:_MOST_NAMED],
                documents_damaged=len(damaged),
            )
        return Findings(removed, tuple(damaged), tuple(again))

    async def _list_again(self, index_version: IndexVersion, space: str, own: Sequence[str]) -> list[str]:
        """Enter rows of own vectors into the ledger as the store holds them; return their revision keys."""
        again: list[str] = []
        for start in range(0, len(own) if self._lists_again is not None else 0, _AT_ONCE):
            keys = {key: _revision(index_version, key) for key in own[start : start + _AT_ONCE]}
            ids = ", ".join(quote(chunk_id(key.document_id, key.revision, 0)) for key in keys.values())
            hits = await self._writer.store.read(space, f"id in [{ids}]", len(keys), vectors=False)
            found = {hit.revision_key: hit.chunk for hit in hits if hit.collection_key == index_version.collection_key}
            rows = [
                NewRow(
                    keys[key],
                    chunk.language,
                    len(chunk.text),
                    chunk.expire_time.ToMilliseconds() if chunk.HasField("expire_time") else None,
                )
                for key, chunk in found.items()
            ]
            assert self._lists_again is not None
            again += await self._lists_again.list_again(rows)
        return sorted(again)

    async def _unlist(
        self, index_version: IndexVersion, searched: Sequence[Holding], present: Counter[str], again: Sequence[str]
    ) -> set[str]:
        """Take own vectors that the store does not hold off the ledger, after a loss; return their ids.

        Their deletion was among the lost commits: nothing else removes rows that the ledger lists.
        """
        if self._lists_again is None:
            return set()
        prefix = own_key(index_version.collection_id, "")
        found = {key.rpartition(":")[0] for key in again}
        gone = [
            holding.key
            for holding in searched
            if holding.key.document_id.startswith(prefix)
            and not present[holding.key.revision_key]
            and holding.key.document_id not in found
        ]
        for start in range(0, len(gone), _AT_ONCE):  # these revisions alone: a caller may have added a row again since
            await self._lists_again.withdraw(gone[start : start + _AT_ONCE], ())
        return {key.document_id for key in gone}

    async def _rows_by_revision(self, space: str, rows: str) -> Counter[str]:
        """Count the rows of each revision key by walking through the ids."""
        counts: Counter[str] = Counter()
        last = ""
        while True:
            expr = f"{rows} and id > {quote(last)}" if last else rows
            ids = await self._writer.store.ids(space, expr, _PAGE)
            for one in ids:
                if parsed := parse_chunk_id(one):
                    counts[f"{parsed[0]}:{parsed[1]}"] += 1
            if len(ids) < _PAGE:
                return counts
            last = ids[-1]


def _revision(index_version: IndexVersion, revision_key: str) -> RevisionKey:
    document_id, _, revision = revision_key.rpartition(":")
    return RevisionKey(index_version.collection_id, index_version.number, document_id, int(revision))


def _collection_id(collection_key: str) -> str:
    return collection_key.rpartition(":")[0]


def _is_own(hit: Hit) -> bool:
    """Return whether a row has a caller's own vector; a collection has only such rows, or none."""
    return hit.owner_key.startswith(own_key(_collection_id(hit.collection_key), ""))
