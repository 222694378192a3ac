"""Adds documents to collections, removes them, and resolves collections for searches.

`document_indexing` indexes one revision.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from footnote.stages.v1 import scope_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2, document_pb2
from footnote_kit.access import Access
from footnote_kit.caches import EpochCache
from footnote_kit.errors import FootnoteError, InvalidArgument, Unavailable
from footnote_kit.logs import get_logger
from footnote_providers.own_vectors import brings_own, no_document
from footnote_store.compiler import quote

from footnote_indexing.chunking.cutting import Cutters
from footnote_indexing.chunking.drafts import embedded_text
from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import BUILDING, CURRENT, IndexVersion, RevisionKey
from footnote_indexing.ports import IndexVersions, Ledger, ModelMoves, WriteEpochs
from footnote_indexing.revisions.document_indexing import DocumentIndexing, Part, Result
from footnote_indexing.revisions.revision_writer import RevisionWriter
from footnote_indexing.settings import Settings
from footnote_indexing.writing.permitted import Permitted, bounds_of
from footnote_indexing.writing.store_writer import DocumentLocks, StoreWriter, revision_expr
from footnote_indexing.writing.vectorizers import Vectorizers

_log = get_logger("footnote.indexing")
_PAGE = 1000
_MOST_CACHED = 256
_SPACE_SECONDS = 3.0
"""Maximum time that creating a collection takes for its space in the store; the first row makes it otherwise."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """What a search needs of a collection."""

    collection: collection_pb2.Collection
    index_version: IndexVersion
    hidden: Sequence[str]
    languages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one collection."""

    found: Found
    rows: int
    visible_rows: int
    documents: int
    bytes: int


class Documents:
    """Operations that change what searches find: documents and collections, with their rows in the store."""

    def __init__(
        self,
        collections: Collections,
        index_versions: IndexVersions,
        ledger: Ledger,
        vectorizers: Vectorizers,
        writer: StoreWriter,
        moves: ModelMoves,
        settings: Settings,
        epochs: WriteEpochs,
        permitted: Permitted,
        cutters: Cutters,
        locks: DocumentLocks,
    ) -> None:
        self._cutters = cutters
        self._permitted = permitted
        self._epochs = epochs
        self._resolved: EpochCache[tuple[bytes, tuple[str, ...]], list[Searchable]] = EpochCache(epochs, _MOST_CACHED)
        self._collections = collections
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
        document.collection_id = found.collection.id
        document.tenant_id = scope.tenant_id
        document.owner_id = document.owner_id or scope.user_id
        targets = await self._moves.targets(found)
        writers = []
        for index_version in targets:
            if brings_own(index_version.embedding):
                raise no_document(found.collection.name)
            self._permitted.check_embedding(scope, index_version.embedding, bounds_of(found.collection))
            vectorizer = await self._vectorizers.get(index_version.embedding)
            key = RevisionKey(found.collection.id, index_version.number, document.id, document.revision)
            writers.append(RevisionWriter(self._ledger, self._writer, vectorizer, index_version, key, self._settings))
        first = await self._vectorizers.get(targets[0].embedding)
        running = DocumentIndexing(found, document, writers, first, self._settings, self._cutters)
        # Two writers that insert one id at the same moment leave two rows in the engine. So a second attempt waits, and
        # then finds the revision published.
        async with self._locks.of(document.id):
            async for event in running.run(parts):
                if isinstance(event, Result) and len(targets) > 1:
                    await self._moves.settle(found.collection.id)
                yield event

    async def create(
        self,
        scope: scope_pb2.Scope,
        wanted: collection_pb2.Collection,
        most: int,
        collection_id: str,
    ) -> collection_pb2.Collection:
        """Create a collection, and its space in the store unless that does not answer; see `Collections.create`."""
        created = await self._collections.create(scope, wanted, most, collection_id=collection_id)
        embedding = created.settings.embedding
        if not brings_own(embedding):  # the first vectors may set another length
            try:
                await self._writer.store.ensure_space(embedding.dimensions, timeout=_SPACE_SECONDS)
            except FootnoteError as error:
                _log.warning("space_postponed", collection_id=created.id, error=error.message)
        return created

    async def update(
        self,
        scope: scope_pb2.Scope,
        name_or_id: str,
        wanted: collection_pb2.Collection,
        paths: Sequence[str],
        needs: Access = Access.MANAGE,
    ) -> collection_pb2.Collection:
        """Change a collection. Its model changes at once if it is empty or still has the new model's vectors."""
        changed = await self._collections.update(scope, name_or_id, wanted, paths, needs)
        await self._moves.targets(await self._collections.find(scope, changed.id))
        await self._moves.settle(changed.id)
        return changed

    async def settle_moves(self) -> None:
        """Move searches of each collection whose new index version now holds every searched document."""
        for index_version in await self._index_versions.all():
            if index_version.state == BUILDING:
                await self._moves.settle(index_version.collection_id)

    async def delete_document(self, scope: scope_pb2.Scope, collection_id: str, document_id: str, revision: int) -> int:
        """Remove a document's chunks, of one revision or (0) of all; they are hidden even if the store is down."""
        if not document_id:
            raise InvalidArgument.field("document_id", "is required")
        found = await self._collections.find(scope, collection_id, Access.WRITE)
        number = found.index_version.number
        entries = await self._ledger.retire_document(found.collection.id, number, document_id, revision)
        index_versions = {g.number: g for g in await self._index_versions.all_of(found.collection.id)}
        # Count what searches saw until now from the ledger: the sweeper may purge the rows before we do.
        removed = sum(
            entry.chunks_stored for entry in entries if entry.state == CURRENT and entry.key.index_version == number
        )
        for key in (entry.key for entry in entries):
            index_version = index_versions.get(key.index_version)
            if index_version is None:
                continue
            try:
                await self._forget_vectors(index_version, revision_expr(key))
                await self._writer.purge(index_version.space, key)
            except Unavailable as error:
                # Searches no longer see it; the sweeper removes it when the store is back.
                _log.warning("purge_postponed", document_id=document_id, error=error.message)
        await self._moves.settle(found.collection.id)
        return removed

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
        index_versions = {g.number: g for g in await self._index_versions.all_of(found.collection.id)}
        for entry in entries:
            index_version = index_versions.get(entry.key.index_version)
            if index_version is None:
                continue
            try:
                await self._writer.ensure(index_version)
                await self._writer.purge(index_version.space, entry.key)
            except Unavailable as error:
                # It is invisible; the sweeper removes it when the store is back.
                _log.warning("purge_postponed", document_id=document_id, error=error.message)
        await self._moves.settle(found.collection.id)

    async def delete_collection(self, scope: scope_pb2.Scope, name_or_id: str) -> tuple[str, int]:
        """Remove a collection and its chunks; return its id and the number of its chunks."""
        collection_id, index_versions, removed = await self._collections.delete(scope, name_or_id)
        for index_version in index_versions:
            try:
                await self._forget_vectors(index_version, f"collection_key == {quote(index_version.collection_key)}")
                await self.purge_index_version(index_version)
            except Unavailable as error:
                _log.warning("purge_postponed", collection_id=collection_id, error=error.message)
        return collection_id, removed

    async def _forget_vectors(self, index_version: IndexVersion, expr: str) -> None:
        """Delete these rows' vectors from the cache: a deleted text must leave nothing behind."""
        if brings_own(index_version.embedding):
            return
        space = await self._writer.ensure(index_version)
        vectorizer = await self._vectorizers.get(index_version.embedding)
        offset = 0
        while chunks := await self._writer.store.query(space, expr, _PAGE, offset):
            texts = {embedded_text(chunk, with_header) for chunk in chunks for with_header in (True, False)}
            await vectorizer.forget(list(texts))
            if len(chunks) < _PAGE:
                return
            offset += _PAGE

    async def purge_index_version(self, index_version: IndexVersion) -> int:
        """Remove all rows of an index version."""
        await self._writer.ensure(index_version)
        expr = f"collection_key == {quote(index_version.collection_key)}"
        return await self._writer.store.delete(index_version.space, expr)

    @property
    def epoch(self) -> str:
        """The current epoch's name, which changes with every write; "" where there may be other writers."""
        return self._epochs.current() or ""

    @property
    def collections_epoch(self) -> str:
        """The epoch of collections, which does not change while a document is being written."""
        return self._epochs.current_of_collections() or ""

    async def resolve(self, scope: scope_pb2.Scope, names: Sequence[str]) -> tuple[list[Searchable], str]:
        """Return what a search of these collections needs, and the epoch for which it holds; "" for none.

        Every search without a cached answer calls this. So the answer is cached until the next write, where this
        service is the only writer.
        """
        epoch = self.epoch
        key = (scope.SerializeToString(deterministic=True), tuple(names))
        if (cached := self._resolved.get(key)) is not None:
            return cached, epoch
        resolved = await self._resolve(scope, names)
        self._resolved.keep(key, epoch, resolved)
        return resolved, epoch if epoch == self.epoch else ""

    async def _resolve(self, scope: scope_pb2.Scope, names: Sequence[str]) -> list[Searchable]:
        found = await self._collections.find_many(scope, names)
        pairs = [(item.collection.id, item.index_version.number) for item in found]
        hidden = await self._ledger.hidden(pairs)
        languages = await self._ledger.languages(pairs)
        counted = await self._collections.with_counts(scope, found)
        for collection, item in zip(counted, found, strict=True):
            # Queries must use the searched vectors' model, whatever is being built beside them.
            collection.settings.embedding.CopyFrom(item.index_version.embedding)
        return [
            Searchable(collection, item.index_version, hidden[collection.id], languages[collection.id])
            for collection, item in zip(counted, found, strict=True)
        ]

    async def stats(self, scope: scope_pb2.Scope, names: Sequence[str]) -> list[Stats]:
        """Count the stored contents of these collections."""
        found = await self._collections.find_many(scope, names)
        totals = await self._ledger.totals([(item.collection.id, item.index_version.number) for item in found])
        stats = []
        for item in found:
            total = totals[item.collection.id]
            space = await self._writer.ensure(item.index_version)
            rows = await self._writer.store.count(
                space, f"collection_key == {quote(item.index_version.collection_key)}"
            )
            vectors = rows * item.index_version.embedding.dimensions * 4
            stats.append(Stats(item, rows, total.chunks, total.documents, vectors + 2 * total.characters))
        return stats


def _check(document: stored_document_pb2.Document) -> None:
    for name in ("id", "collection_id"):
        if not getattr(document, name):
            raise InvalidArgument.field(f"header.document.{name}", "is required")
    if document.revision < 1:
        raise InvalidArgument.field("header.document.revision", "must be at least 1")
