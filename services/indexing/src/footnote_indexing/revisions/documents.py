"""Adds documents to collections, and removes them; `document_indexing` indexes one revision."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from footnote.stages.v1 import scope_pb2, stored_document_pb2
from footnote.types.v1 import document_pb2
from footnote_kit.access import Access
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_kit.logs import get_logger
from footnote_providers.own_vectors import brings_own, no_document

from footnote_indexing.chunking.cutting import Cutters
from footnote_indexing.collections.collections import Collections
from footnote_indexing.model import CURRENT, Entry, IndexVersion, RevisionKey
from footnote_indexing.ports import IndexVersions, Ledger, ModelMoves
from footnote_indexing.revisions.collection_contents import CollectionContents
from footnote_indexing.revisions.document_indexing import DocumentIndexing, Part, Result, assign
from footnote_indexing.revisions.revision_writer import RevisionWriter
from footnote_indexing.settings import Settings
from footnote_indexing.writing.permitted import Permitted, bounds_of
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter, revision_expr
from footnote_indexing.writing.vectorizers import Vectorizers

_log = get_logger("footnote.indexing")


class Documents:
    """Documents with their rows in the store."""

    def __init__(
        self,
        collections: Collections,
        contents: CollectionContents,
        index_versions: IndexVersions,
        ledger: Ledger,
        vectorizers: Vectorizers,
        writer: StoreWriter,
        moves: ModelMoves,
        settings: Settings,
        permitted: Permitted,
        cutters: Cutters,
        locks: DocumentLocks,
    ) -> None:
        self._cutters = cutters
        self._permitted = permitted
        self._collections = collections
        self._contents = contents
        self._index_versions = index_versions
        self._ledger = ledger
        self._vectorizers = vectorizers
        self._writer = writer
        self._moves = moves
        self._settings = settings
        self._locks = locks

    async def index(
        self, scope: scope_pb2.Scope, document: stored_document_pb2.Document, parts: AsyncIterator[Part]
    ) -> AsyncIterator[document_pb2.Progress | Result]:
        """Index one revision; yields progress and finally the result."""
        _check(document)
        found = await self._collections.find(scope, document.collection_id, Access.WRITE)
        assign(document, found, scope)
        targets = await self._moves.targets(found)
        writers = []
        for index_version in targets:
            if brings_own(index_version.embedding):
                raise no_document(found.collection.name)
            self._permitted.check_embedding(scope, index_version.embedding, bounds_of(found.collection))
            vectorizer = await self._vectorizers.get(index_version.embedding)
            key = RevisionKey(found.collection.id, index_version.number, document.id, document.revision)
            writers.append(
                RevisionWriter(
                    self._ledger, self._writer, vectorizer, found.audience, index_version, key, self._settings
                )
            )
        first = await self._vectorizers.get(targets[0].embedding)
        running = DocumentIndexing(found, document, writers, first, self._settings, self._cutters)
        # Two writers that insert one id at the same moment leave two rows in the engine. So a second attempt waits, and
        # then finds the revision published.
        async with self._locks.of(document.id):
            async for event in running.run(parts):
                if isinstance(event, Result) and len(targets) > 1:
                    await self._moves.settle(found.collection.id)
                yield event

    async def delete_document(self, scope: scope_pb2.Scope, collection_id: str, document_id: str, revision: int) -> int:
        """Remove a document's chunks, of one revision or (0) of all; they are hidden even if the store is down."""
        if not document_id:
            raise InvalidArgument.field("document_id", "is required")
        found = await self._collections.find(scope, collection_id, Access.WRITE)
        number = found.index_version.number
        entries = await self._ledger.retire_document(found.collection.id, number, document_id, revision)
        forget = self._contents.forget_vectors
        await self._purge(found.collection.id, entries, lambda version, key: forget(version, revision_expr(key)))
        # What searches saw until now, from the ledger: the sweeper may have purged the rows first.
        return sum(
            entry.chunks_stored for entry in entries if entry.state == CURRENT and entry.key.index_version == number
        )

    async def cancel_document(
        self, scope: scope_pb2.Scope, collection_id: str, document_id: str, revision: int
    ) -> None:
        """Cancel a revision that is not searched; its chunks are removed at once, even if its writer has not noticed.

        Raises FailedPrecondition when it is already searched.
        """
        if not document_id:
            raise InvalidArgument.field("document_id", "is required")
        if revision < 1:
            raise InvalidArgument.field("revision", "must be at least 1")
        found = await self._collections.find(scope, collection_id, Access.WRITE)
        key = RevisionKey(found.collection.id, found.index_version.number, document_id, revision)
        entries = await self._ledger.cancel(key)
        await self._purge(found.collection.id, entries, lambda version, _: self._writer.ensure(version))

    async def _purge(
        self,
        collection_id: str,
        entries: Sequence[Entry],
        prepare: Callable[[IndexVersion, RevisionKey], Awaitable[object]],
    ) -> None:
        """Remove rows that searches see no more, after `prepare`; the sweeper removes them once the store is back."""
        index_versions = {one.number: one for one in await self._index_versions.all_of(collection_id)}
        for key in (entry.key for entry in entries):
            index_version = index_versions.get(key.index_version)
            if index_version is None:
                continue
            try:
                await prepare(index_version, key)
                await self._writer.purge(index_version.space, key)
            except Unavailable as error:
                _log.warning("purge_postponed", document_id=key.document_id, error=error.message)
        await self._moves.settle(collection_id)


def _check(document: stored_document_pb2.Document) -> None:
    for name in ("id", "collection_id"):
        if not getattr(document, name):
            raise InvalidArgument.field(f"header.document.{name}", "is required")
    if document.revision < 1:
        raise InvalidArgument.field("header.document.revision", "must be at least 1")
