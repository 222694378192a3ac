"""Updates the tags, metadata and expiry of a document's chunks; texts and vectors stay."""

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT
from footnote_kit.access import Access
from footnote_kit.errors import InvalidArgument
from footnote_kit.logs import get_logger
from footnote_store.ports import Store
from footnote_store.rows import Row

from footnote_indexing.collections.collections import Collections
from footnote_indexing.model import Entry, IndexVersion, RevisionKey
from footnote_indexing.ports import IndexVersions, Inventory, Ledger
from footnote_indexing.revisions.document_indexing import dated
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter, revision_expr

_log = get_logger("footnote.indexing.relabelling")
_PAGE = 500


class Relabelling:
    """Rewrites the rows of a document's searched revisions, in every index version that has it."""

    def __init__(
        self,
        collections: Collections,
        index_versions: IndexVersions,
        ledger: Ledger,
        inventory: Inventory,
        writer: StoreWriter,
        store: Store,
        locks: DocumentLocks,
    ) -> None:
        self._collections = collections
        self._index_versions = index_versions
        self._ledger = ledger
        self._inventory = inventory
        self._writer = writer
        self._store = store
        self._locks = locks

    async def relabel(self, scope: Scope, document: Document) -> int:
        """Update the chunks; return how many were changed in the searched index version.

        Raises NotFound for a collection that the caller may not write, and Unavailable while the store is down.
        """
        if not document.id:
            raise InvalidArgument.field("document.id", "is required")
        found = await self._collections.find(scope, document.collection_id, Access.WRITE)
        document = dated(document, found.effective)
        expire_at = document.expire_time.ToMilliseconds() if document.HasField("expire_time") else None
        index_versions = {one.number: one for one in await self._index_versions.all_of(found.collection.id)}
        changed = 0
        # The engine makes two rows of one id written twice at the same moment.
        async with self._locks.of(document.id):
            entries, claim = await self._ledger.relabel(found.collection.id, document.id, expire_at)
            for entry in entries:
                index_version = index_versions.get(entry.key.index_version)
                rows = 0
                if index_version is not None:
                    rows, there = await self._rewrite(index_version, entry.key, document)
                    if there < entry.chunks_stored:
                        await self._note_missing(index_version, entry)
                if not await self._ledger.relabelled(entry.key, claim) and index_version is not None:
                    # Deleted or replaced meanwhile: the rows read before were written back.
                    await self._writer.purge(index_version.space, entry.key)
                changed += rows if entry.key.index_version == found.index_version.number else 0
        return changed

    async def _note_missing(self, index_version: IndexVersion, entry: Entry) -> None:
        """Record the rows that are there, so that edge has the document indexed again.

        The engine replaces a row by deleting it before it inserts the new one. Killed in between, it has neither.
        """
        there = await self._writer.count(await self._writer.ensure(index_version), entry.key)
        if there != entry.chunks_stored and await self._inventory.record(entry.key, there):
            _log.error(
                "rows_missing", document_id=entry.key.document_id, chunks_stored=there, expected=entry.chunks_stored
            )

    async def _rewrite(self, index_version: IndexVersion, key: RevisionKey, document: Document) -> tuple[int, int]:
        """Write the rows that have other labels; return how many these were, and how many rows were read."""
        space = await self._writer.ensure(index_version)
        changed = read = 0
        wanted = _labels(document)
        while True:
            page = await self._store.read(space, revision_expr(key), _PAGE, read)
            hits = [hit for hit in page if _labels(hit.chunk) != wanted]
            vectors = await self._store.vectors(
                space, [hit.id for hit in hits if hit.chunk.level != CHUNK_LEVEL_PARENT]
            )
            rows = [
                Row(_labelled(hit.chunk, document), key.collection_key, vectors.get(hit.id), hit.lexical_text)
                for hit in hits
            ]
            if rows:
                if not await self._ledger.wanted(key):  # the claim lasts only some minutes
                    return changed, read
                await self._writer.write(space, rows)
            changed, read = changed + len(rows), read + len(page)
            if len(page) < _PAGE:
                return changed, read


def _labels(one: Chunk | Document) -> tuple[object, ...]:
    return list(one.tags), one.metadata, one.HasField("expire_time"), one.expire_time


def _labelled(chunk: Chunk, document: Document) -> Chunk:
    del chunk.tags[:]
    chunk.tags.extend(document.tags)
    chunk.ClearField("metadata")
    if document.metadata.fields:
        chunk.metadata.CopyFrom(document.metadata)
    chunk.ClearField("expire_time")
    if document.HasField("expire_time"):
        chunk.expire_time.CopyFrom(document.expire_time)
    return chunk
