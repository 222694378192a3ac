"""Reads, lists and deletes rows of own vectors."""

from collections.abc import Sequence

from footnote.stages.v1 import scope_pb2
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_kit.access import Access
from footnote_kit.errors import InvalidArgument, NotFound, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.paging import PAGE_BYTES, Page
from footnote_store.compiler import quote
from footnote_store.filters import ALL, Expr, compile_expr, conjunction
from footnote_store.ids import chunk_id
from footnote_store.rows import Hit

from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import RevisionKey
from footnote_indexing.ports import ModelMoves, RowLedger
from footnote_indexing.writing.store_writer import StoreWriter

_log = get_logger("footnote.indexing.vectors")
_MOST = 1000
_AT_ONCE = 500
_LOOKS = 10
"""Maximum number of further reads for a filtered page before it is returned as it is."""
_NAMED = 5


class OwnRows:
    """The operations on the rows of a collection."""

    def __init__(self, collections: Collections, rows: RowLedger, writer: StoreWriter, moves: ModelMoves) -> None:
        self._collections = collections
        self._rows = rows
        self._writer = writer
        self._moves = moves

    async def get(self, scope: scope_pb2.Scope, name: str, row_id: str, *, vector: bool) -> VectorRow:
        """Return one row; raises NotFound(VECTOR_NOT_FOUND)."""
        if not row_id:
            raise InvalidArgument.field("vector_id", "is required")
        found = await self._collections.find(scope, name)
        key = await self._rows.find(found.collection.id, found.index_version.number, row_id)
        if key is None:
            raise _missing(found, [row_id])
        rows = await self._read(found, [key], "", vectors=vector)
        if not rows:
            raise Unavailable(
                "The vector store does not hold this row just now; send the call again", reason="STORE_UNAVAILABLE"
            )
        return rows[0]

    async def there(self, collection_id: str, row_ids: Sequence[str]) -> list[str]:
        """Return those rows of any tenant's collection that exist; raises NotFound without such a collection."""
        if len(row_ids) > _MOST:
            raise InvalidArgument.field("vector_ids", f"must be at most {_MOST}")
        return await self._rows.there(collection_id, row_ids)

    async def page(
        self, scope: scope_pb2.Scope, name: str, where: Expr, page: Page, *, vectors: bool
    ) -> tuple[list[VectorRow], str]:
        """Return a page of rows in the order of their ids, and the next page's token, "" on the last."""
        expr = "" if where == ALL else compile_expr(where)
        found = await self._collections.find(scope, name)
        # A row of 8192 numbers has 32 kB, so only as many are read as fit into a page.
        heavy = 4 * found.index_version.embedding.dimensions * vectors
        at_once = max(1, min(_AT_ONCE, PAGE_BYTES // (heavy + 1)))
        after = page.position[0] if page.position else ""
        kept: list[VectorRow] = []
        size = 0
        for _ in range(_LOOKS):
            wanted = min(at_once, _AT_ONCE if expr else page.size - len(kept))
            keys = await self._rows.page(found.collection.id, found.index_version.number, after, wanted + 1)
            more, keys = len(keys) > wanted, keys[:wanted]
            for row in await self._read(found, keys, expr, vectors=vectors):
                size += row.ByteSize() + 8
                if kept and (size > PAGE_BYTES or len(kept) == page.size):
                    return kept, page.token([kept[-1].id])
                kept.append(row)
            if not more:
                return kept, ""
            after = _row_id(found, keys[-1])
            if len(kept) == page.size:
                break
        return kept, page.token([after])

    async def delete(self, scope: scope_pb2.Scope, name: str, row_ids: Sequence[str], *, allow_missing: bool) -> int:
        """Delete rows, hidden at once even if the store is down; return their number."""
        if not row_ids:
            raise InvalidArgument.field("ids", "must not be empty")
        if len(row_ids) > _MOST:
            raise InvalidArgument.field("ids", f"must be at most {_MOST}")
        if not all(row_ids):
            raise InvalidArgument.field("ids", "must not hold an empty id")
        found = await self._collections.find(scope, name, Access.WRITE)
        keys, missing = await self._rows.retire(
            found.collection.id, found.index_version.number, dict.fromkeys(row_ids), allow_missing=allow_missing
        )
        if missing and not allow_missing:
            raise _missing(found, missing)
        await self._purge(found, keys)
        await self._moves.settle(found.collection.id)
        return len(keys)

    async def _purge(self, found: Found, keys: Sequence[RevisionKey]) -> None:
        try:
            space = await self._writer.ensure(found.index_version)
            for start in range(0, len(keys), _AT_ONCE):
                await self._writer.store.delete(space, _ids(keys[start : start + _AT_ONCE]))
        except Unavailable as error:
            # Searches no longer see them; the sweeper removes them when the store is back.
            _log.warning("purge_postponed", collection_id=found.collection.id, error=error.message)

    async def _read(self, found: Found, keys: Sequence[RevisionKey], expr: str, *, vectors: bool) -> list[VectorRow]:
        """Return the rows of these revisions that pass a filter, in the order of the keys."""
        if not keys:
            return []
        space = await self._writer.ensure(found.index_version)
        chosen = conjunction([_ids(keys), expr]) if expr else _ids(keys)
        hits = await self._writer.store.read(space, chosen, len(keys), vectors=vectors)
        by_revision = {
            hit.revision_key: hit for hit in hits if hit.collection_key == found.index_version.collection_key
        }
        there = (key for key in keys if key.revision_key in by_revision)
        return [_row(_row_id(found, key), by_revision[key.revision_key]) for key in there]


def _ids(keys: Sequence[RevisionKey]) -> str:
    return f"id in [{', '.join(quote(chunk_id(key.document_id, key.revision, 0)) for key in keys)}]"


def _row(row_id: str, hit: Hit) -> VectorRow:
    """Return a row in the callers' form; chunks of the first release name it with its collection."""
    chunk = hit.chunk
    vector = [] if hit.vector is None else hit.vector.tolist()
    return VectorRow(
        id=row_id,
        text=chunk.text,
        metadata=chunk.metadata if chunk.HasField("metadata") else None,
        vector=vector,
    )


def _row_id(found: Found, key: RevisionKey) -> str:
    return key.document_id[len(found.collection.id) + 1 :]


def _missing(found: Found, row_ids: Sequence[str]) -> NotFound:
    named = ", ".join(f"'{row_id}'" for row_id in row_ids[:_NAMED]) + (", …" if len(row_ids) > _NAMED else "")
    what = "row" if len(row_ids) == 1 else "rows"
    return NotFound(
        f"Collection '{found.collection.name}' holds no {what} {named}",
        reason="VECTOR_NOT_FOUND",
        metadata={"collection": found.collection.name, "vector_id": row_ids[0]},
    )
