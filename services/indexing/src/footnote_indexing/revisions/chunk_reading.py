"""Reads searched chunks: one by its id, or all of a document in reading order."""

from collections.abc import Sequence
from dataclasses import dataclass

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import chunk_missing
from footnote_kit.errors import Aborted, InvalidArgument, NotFound
from footnote_kit.paging import PAGE_BYTES, Page, fitting
from footnote_kit.text_work import off_loop
from footnote_store.compiler import quote
from footnote_store.ids import parse_chunk_id
from footnote_store.rows import Hit

from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import Searched
from footnote_indexing.ports import SearchedChunks
from footnote_indexing.writing.store_writer import StoreWriter, revision_expr

_AT_ONCE = 200
_EFFORT = 30
"""The cost of decoding a chunk, as a number of characters of text."""


@dataclass(frozen=True, slots=True)
class ChunkPage:
    """Chunks in reading order, the next page's token ("" on the last), the total number, and their revision."""

    chunks: Sequence[Chunk]
    next_token: str
    total: int
    revision: int


class ChunkReading:
    """Reads chunks for callers that may read their collection."""

    def __init__(self, collections: Collections, ledger: SearchedChunks, writer: StoreWriter) -> None:
        self._collections = collections
        self._ledger = ledger
        self._writer = writer

    async def get(self, scope: Scope, chunk_id: str) -> Chunk:
        """Return one chunk; raises NotFound(CHUNK_NOT_FOUND)."""
        if not chunk_id:
            raise InvalidArgument.field("chunk_id", "is required")
        parsed = parse_chunk_id(chunk_id)
        if parsed is None:
            raise chunk_missing(chunk_id)
        document_id, revision, ordinal = parsed
        for collection_id in await self._ledger.collections_with(scope, document_id, revision):
            found = await self._collections.find(scope, collection_id)
            searched = await self._ledger.of_document(collection_id, found.index_version.number, document_id)
            if searched is None or searched.key.revision != revision or ordinal >= searched.chunks:
                continue
            hits = await self._read(found, searched, f" and id == {quote(chunk_id)}", 1)
            if hits:
                return _named(hits, found)[0]
        raise chunk_missing(chunk_id)

    async def page(
        self, scope: Scope, collection_id: str, document_id: str, revision: int | None, page: Page
    ) -> ChunkPage:
        """Return a page of a document's chunks.

        Raises NotFound for a collection that the caller may not read, and for a `revision` that is not searched. Raises
        Aborted if another revision became current since the page before.
        """
        if not document_id:
            raise InvalidArgument.field("document_id", "is required")
        if revision is not None and revision < 1:
            raise InvalidArgument.field("revision", "must be at least 1")
        found = await self._collections.find(scope, collection_id)
        searched = await self._ledger.of_document(found.collection.id, found.index_version.number, document_id)
        there = 0 if searched is None else searched.key.revision
        if revision is not None and revision != there:
            raise _other_revision(document_id, revision, there)
        if page.position is not None and page.position[0] != there:
            raise Aborted(
                "Another revision of the document is searched by now; list its chunks from the beginning",
                metadata={"revision": str(there)},
            )
        if searched is None:
            return ChunkPage((), "", 0, 0)
        chunks, more = await self._following(found, searched, page)
        token = page.token([there, chunks[-1].ordinal]) if more else ""
        return ChunkPage(chunks, token, searched.chunks, there)

    async def _following(self, found: Found, searched: Searched, page: Page) -> tuple[list[Chunk], bool]:
        """Return the chunks after the page's position, within the page's limits, and whether more follow."""
        after = page.position[1] if page.position is not None else -1
        chunks: list[Chunk] = []
        size = 0
        while True:
            wanted = min(_AT_ONCE, page.size + 1 - len(chunks))
            hits = await self._read(found, searched, f" and ordinal > {after}", wanted)
            read = await off_loop(_EFFORT * len(hits), _named, hits, found)
            chunks += read
            size += sum(chunk.ByteSize() for chunk in read)
            if len(hits) < wanted or len(chunks) > page.size or size > PAGE_BYTES:
                count = min(page.size, fitting(chunks))
                # A page that its byte limit ended may be the last one: the next page is empty then.
                return chunks[:count], count < len(chunks) or len(hits) == wanted
            after = chunks[-1].ordinal

    async def _read(self, found: Found, searched: Searched, which: str, limit: int) -> list[Hit]:
        space = await self._writer.ensure(found.index_version)
        return await self._writer.store.read(space, revision_expr(searched.key) + which, limit)


def _named(hits: Sequence[Hit], found: Found) -> list[Chunk]:
    chunks = [hit.chunk for hit in hits]
    for chunk in chunks:
        chunk.collection_id = found.collection.id
        chunk.collection = found.collection.name
    return chunks


def _other_revision(document_id: str, revision: int, there: int) -> NotFound:
    instead = f"; searched is revision {there}" if there else "; none is searched"
    return NotFound(
        f"There are no chunks of revision {revision} of document '{document_id}'{instead}",
        reason="CHUNK_NOT_FOUND",
        metadata={"document_id": document_id, "revision": str(revision), "indexed_revision": str(there)},
    )
