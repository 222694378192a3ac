"""Collections with their rows in the store: created, changed, deleted, and resolved for searches."""

from collections.abc import Sequence
from dataclasses import dataclass

from footnote.stages.v1 import scope_pb2
from footnote.types.v1 import collection_pb2
from footnote_kit.access import Access
from footnote_kit.caches import EpochCache
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Unavailable
from footnote_kit.logs import get_logger
from footnote_providers.own_vectors import brings_own
from footnote_store.compiler import quote

from footnote_indexing.chunking.drafts import embedded_text
from footnote_indexing.collections.collections import Collections, Found
from footnote_indexing.model import IndexVersion, audiences_of
from footnote_indexing.ports import Ledger, ModelMoves, WriteEpochs
from footnote_indexing.writing.store_writer import StoreWriter
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


class CollectionContents:
    """Operations that change which collections searches find, and what a search needs of them."""

    def __init__(
        self,
        collections: Collections,
        ledger: Ledger,
        vectorizers: Vectorizers,
        writer: StoreWriter,
        moves: ModelMoves,
        epochs: WriteEpochs,
    ) -> None:
        self._epochs = epochs
        self._resolved: EpochCache[tuple[bytes, tuple[str, ...]], list[Searchable]] = EpochCache(epochs, _MOST_CACHED)
        self._collections = collections
        self._ledger = ledger
        self._vectorizers = vectorizers
        self._writer = writer
        self._moves = moves

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

    async def settle(self, collection_id: str) -> None:
        """Move a collection's searches to its new index version if that holds every searched document."""
        await self._moves.settle(collection_id)

    async def delete_collection(self, scope: scope_pb2.Scope, name_or_id: str) -> tuple[str, int]:
        """Remove a collection and its chunks; return its id and the number of its chunks."""
        collection_id, index_versions, removed = await self._collections.delete(scope, name_or_id)
        for index_version in index_versions:
            try:
                await self.forget_vectors(index_version, f"collection_key == {quote(index_version.collection_key)}")
                await self.purge_index_version(index_version)
            except Unavailable as error:
                _log.warning("purge_postponed", collection_id=collection_id, error=error.message)
        return collection_id, removed

    async def forget_vectors(self, index_version: IndexVersion, expr: str) -> None:
        """Delete these rows' vectors from the cache: a deleted text must leave nothing behind."""
        if brings_own(index_version.embedding):
            return
        space = await self._writer.ensure(index_version)
        vectorizer = await self._vectorizers.get(index_version.embedding)
        after = ""
        while chunks := await self._writer.store.query(space, f"({expr}) and id > {quote(after)}", _PAGE):
            texts = {embedded_text(chunk, with_header) for chunk in chunks for with_header in (True, False)}
            for audience in audiences_of(index_version):
                await vectorizer.forget(audience, list(texts))
            if len(chunks) < _PAGE:
                return
            after = chunks[-1].id

    async def forget_index_version(self, index_version: IndexVersion) -> None:
        """Delete all its vectors from the cache, unless its embedder is not there any more; log that."""
        try:
            await self.forget_vectors(index_version, f"collection_key == {quote(index_version.collection_key)}")
        except (Unavailable, DeadlineExceeded):
            raise  # once the rows are gone, nothing says any more what is to be forgotten
        except FootnoteError as error:
            _log.warning("vectors_not_forgotten", collection_id=index_version.collection_id, error=error.message)

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

    def still_of_collections(self, epoch: str) -> str:
        """Return an epoch of collections if it still lasts, else ""."""
        return epoch if epoch == self.collections_epoch else ""

    async def resolve(self, scope: scope_pb2.Scope, names: Sequence[str]) -> tuple[list[Searchable], str]:
        """Return what a search of these collections needs, and the epoch for which it holds; "" for none.

        Every search without a cached answer calls this. So the answer is cached until the next write, where this
        service is the only writer, and everything in it is exact.
        """
        epoch = self.epoch
        key = (scope.SerializeToString(deterministic=True), tuple(names))
        if (cached := self._resolved.get(key)) is not None:
            return cached, epoch
        resolved, exact = await self._resolve(scope, names)
        if not exact:
            return resolved, ""
        self._resolved.keep(key, epoch, resolved)
        return resolved, epoch if epoch == self.epoch else ""

    async def _resolve(self, scope: scope_pb2.Scope, names: Sequence[str]) -> tuple[list[Searchable], bool]:
        found = await self._collections.find_many(scope, names)
        pairs = [(item.collection.id, item.index_version.number) for item in found]
        hidden = await self._ledger.hidden(pairs)
        contents = await self._ledger.contents(pairs)
        totals = {collection_id: one.totals for collection_id, one in contents.items()}
        counted = await self._collections.with_counts(scope, found, totals)
        for collection, item in zip(counted, found, strict=True):
            # Queries must use the searched vectors' model, whatever is being built beside them.
            collection.settings.embedding.CopyFrom(item.index_version.embedding)
        resolved = [
            Searchable(collection, item.index_version, hidden[collection.id], contents[collection.id].languages)
            for collection, item in zip(counted, found, strict=True)
        ]
        return resolved, all(one.exact for one in contents.values())

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
