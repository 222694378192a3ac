"""The logic's outside dependencies, as protocols: the vector store, the embedding cache and the database's tables."""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from footnote.stages.v1 import passage_pb2
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.errors import Aborted
from footnote_kit.paging import Position
from footnote_providers.base import Vectors
from footnote_store.rows import Hit, MessageRow, Row

from footnote_indexing.chunking.model import Chosen
from footnote_indexing.model import (
    Audience,
    Contents,
    Damage,
    Entry,
    Holding,
    Indexed,
    IndexVersion,
    NewRow,
    Opened,
    RevisionKey,
    Searched,
    Stored,
    Totals,
)


class ChunkStore(Protocol):
    """The part of the vector store that indexing writes through; see footnote_store.store."""

    async def ensure_space(self, dimensions: int, variant: int = ..., timeout: float = ...) -> str:
        """Create the physical collection for a dimension if it is absent; return its name."""
        ...

    async def ensure_message_space(self, dimensions: int, timeout: float = ...) -> str:
        """Create the physical collection for messages if it is absent; return its name."""
        ...

    async def upsert(self, space: str, rows: Sequence[Row], timeout: float = ...) -> int:
        """Write rows, replacing those with the same ids; return how many were confirmed."""
        ...

    async def insert(self, space: str, rows: Sequence[Row], timeout: float = ...) -> int:
        """Write rows that the store does not hold yet, in one attempt; return how many were confirmed."""
        ...

    async def query(
        self, space: str, expr: str, limit: int, offset: int = ..., timeout: float = ...
    ) -> list[passage_pb2.Chunk]:
        """Read chunks in the order of their ids."""
        ...

    async def read(
        self, space: str, expr: str, limit: int, offset: int = ..., timeout: float = ..., *, vectors: bool = ...
    ) -> list[Hit]:
        """Read chunks in the order of their ids, with the identifying columns, and vectors if wanted."""
        ...

    async def ids(self, space: str, expr: str, limit: int, timeout: float = ...) -> list[str]:
        """Return ids of rows in order."""
        ...

    async def vectors(self, space: str, ids: Sequence[str], timeout: float = ...) -> dict[str, Vectors]:
        """Return the vectors of rows by id, each of shape (dimensions,); missing ids are left out."""
        ...

    async def count(self, space: str, expr: str, timeout: float = ...) -> int:
        """Count rows."""
        ...

    async def delete(self, space: str, expr: str, timeout: float = ...) -> int:
        """Remove rows; return how many there were."""
        ...

    async def upsert_messages(self, space: str, rows: Sequence[MessageRow], timeout: float = ...) -> int:
        """Write messages; return how many were confirmed."""
        ...

    async def health(self, timeout: float = ...) -> dict[str, Any]:
        """Return the store's health; raises Unavailable when it does not answer."""
        ...


class EmbeddingCache(Protocol):
    """Vectors by key; a cache that does not answer counts as empty and never fails a document."""

    async def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the cached vectors, each of shape (dimensions,)."""
        ...

    async def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors for the cache's time to live."""
        ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete vectors."""
        ...

    async def count(self) -> int:
        """Return the number of entries, an estimate where an exact count is expensive."""
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...


class WriteEpochs(Protocol):
    """Names of the database's states, by which cached answers are validated; see `adapters.database.Database`."""

    def current(self) -> str | None:
        """Return a name that changes with every write; None for a database with other writers."""

    def current_of_collections(self) -> str | None:
        """Return the same for every write except those of documents on their way."""


class CollectionRecords(Protocol):
    """The stored collections, each with its searched index version; see `adapters.collection_table.CollectionTable`."""

    async def insert(self, scope: Scope, collection_id: str, collection: Collection, most: int) -> None:
        """Add a collection of the scope's user with its first index version; `most` for the tenant, 0 for no limit.

        Raises AlreadyExists and ResourceExhausted.
        """

    async def called(self, scope: Scope, name_or_id: str) -> list[Stored]:
        """Return every visible collection with this name or id."""

    async def all(self, scope: Scope) -> list[Stored]:
        """Return every visible collection, by name."""

    async def page(self, scope: Scope, size: int, position: Position | None) -> tuple[list[Stored], int]:
        """Return up to `size` + 1 visible collections by name, after a position, and the total number."""

    async def access(self, scope: Scope, ids: Sequence[str]) -> list[Collection]:
        """Return the visible ones of these collections, or all, with the fields that determine the scope's access."""

    async def change(self, before: Stored, changed: Collection) -> None:
        """Write a changed collection; Aborted if it changed meanwhile, AlreadyExists for a name in use."""

    async def remove(self, collection_id: str) -> Sequence[IndexVersion]:
        """Remove a collection with all its ledger entries; return the index versions to purge."""

    async def hide(self, found: Collection) -> None:
        """Hide a collection from all callers except the services; its name becomes free."""

    async def restore(self, found: Collection) -> None:
        """Make a hidden collection visible again; AlreadyExists when another collection took its name."""


class LedgerLosses(Protocol):
    """What follows from an accepted loss of the ledger's newest commits; see `adapters.database.Losses`."""

    async def rows(self) -> "RowLedger | None":
        """Return where rows of own vectors are entered that only the store holds; None without a loss."""

    async def settled(self) -> None:
        """Record that the store was compared with the ledger since the loss."""


class IndexVersions(Protocol):
    """The index versions of collections; see `adapters.index_versions.IndexVersionTable`."""

    async def all_of(self, collection_id: str) -> list[IndexVersion]:
        """Return every index version of a collection, oldest first."""

    async def all(self) -> list[IndexVersion]:
        """Return every index version of all collections."""

    async def searched(self) -> list[IndexVersion]:
        """Return the searched index versions of all collections."""

    async def take_due(self) -> list[IndexVersion]:
        """Mark the index versions that are due to be purged as deleted, and return them."""

    async def find(self, collection_id: str, number: int) -> IndexVersion | None:
        """Return one index version, or None if it does not exist."""

    async def audience(self, index_version: IndexVersion) -> Audience:
        """Return who may read the texts of a collection."""

    async def postpone(self, index_version: IndexVersion, milliseconds: int) -> None:
        """Schedule another purge for later: a writer may still be at work on the index version."""

    async def forget(self, index_version: IndexVersion) -> None:
        """Delete the entry of a purged index version."""


class ModelMoves(Protocol):
    """Moves collections between embedding models; see `adapters.model_moves.ModelMoveTable`."""

    async def targets(self, found: Stored) -> Sequence[IndexVersion]:
        """Return the index versions to write to: the searched one, and the one being built, if any."""

    async def settle(self, collection_id: str) -> bool:
        """Move searches to the index version being built if it holds all searched documents; return whether it did."""


class Ledger(Protocol):
    """Revisions that are being written, searched or removed; see `adapters.ledger.LedgerTable` for the errors."""

    async def open(self, key: RevisionKey, fingerprint: str, contextual_header: bool) -> Opened:
        """Announce that a revision is being written and hide it; a CURRENT one stays CURRENT."""

    async def open_new(self, fingerprints: Mapping[RevisionKey, str], contextual_header: bool) -> set[RevisionKey]:
        """Announce first revisions of documents at once; return those of documents unknown until now."""

    async def open_next(self, collection_id: str, index_version: int, document_ids: Sequence[str]) -> list[RevisionKey]:
        """Announce the next revision of each of several documents at once; return their keys in order."""

    async def publish(
        self, key: RevisionKey, *, chosen: Chosen, language: str, chunks: int, characters: int,
        expire_at: int | None, grace_ms: int, written: Several[int] = (), owed: int = 0,
    ) -> None:  # fmt: skip
        """Make a revision the searched one, and retire the one before, atomically."""

    async def publish_new(self, outcomes: Mapping[RevisionKey, Mapping[str, object]]) -> dict[RevisionKey, Aborted]:
        """Make revisions announced by `open_new` the searched ones, in one transaction; return the refusals."""

    async def check_wanted(self, key: RevisionKey) -> None:
        """Raise Aborted if a revision was deleted or replaced."""

    async def wanted(self, key: RevisionKey) -> bool:
        """Return whether a revision is being written or searched."""

    async def retire_document(
        self, collection_id: str, index_version: int, document_id: str, revision: int
    ) -> list[Entry]:
        """Hide a document's revisions (revision 0: all of them) for good; return their previous entries."""

    async def cancel(self, key: RevisionKey) -> list[Entry]:
        """Cancel a revision, begun or not, in every index version; FailedPrecondition when it is already searched."""

    async def relabel(self, collection_id: str, document_id: str, expire_at: int | None) -> tuple[list[Entry], int]:
        """Set when the searched revisions of a document expire; return their entries, and the rewriter's claim."""

    async def relabelled(self, key: RevisionKey, claim: int) -> bool:
        """Release a claim, if it is still the same; return whether the revision is still searched."""

    async def is_empty(self, collection_id: str) -> bool:
        """Return whether a collection has no revision searched or being written."""

    async def hidden(self, pairs: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
        """Return the revision keys to hide from searches, by collection id, for (collection, index version) pairs."""

    async def contents(self, pairs: Sequence[tuple[str, int]]) -> dict[str, Contents]:
        """Return what (collection, index version) pairs hold, by collection id; see `Contents.exact`."""

    async def totals(self, pairs: Sequence[tuple[str, int]], *, expired: bool = False) -> dict[str, Totals]:
        """Return what searches see now, by collection id; `expired` includes expired revisions still stored."""


class PurgeList(Protocol):
    """Revisions whose rows are to be removed from the store; see `adapters.purge_list.PurgeTable`."""

    async def retire_stale(self, expired_before: int, abandoned_before: int) -> int:
        """Retire revisions that expired before one time, and incomplete ones last written before another."""

    async def due(self, limit: int) -> list[Entry]:
        """Return retired revisions that are due to be purged."""

    async def is_due(self, key: RevisionKey) -> bool:
        """Return whether a revision is still due to be purged."""

    async def forget(self, key: RevisionKey) -> None:
        """Remove the entry of a revision whose rows are purged."""

    async def drop_index_version(self, collection_id: str, index_version: int) -> bool:
        """Remove a purged index version's entries; return whether any remain because a writer may be at work."""


class SearchedChunks(Protocol):
    """Which chunks are searched now; see `adapters.inventory.SearchedChunkTable`."""

    async def of_document(self, collection_id: str, index_version: int, document_id: str) -> Searched | None:
        """Return the searched revision of a document, in a collection for which the caller's access was checked."""

    async def collections_with(self, scope: Scope, document_id: str, revision: int) -> list[str]:
        """Return the ids of the visible collections in which this revision is searched."""


class RowLedger(Protocol):
    """Searched rows with own vectors, each a document of one chunk; see `adapters.row_ledger.RowTable`."""

    async def page(self, collection_id: str, index_version: int, after: str, limit: int) -> list[RevisionKey]:
        """Return rows in the order of their ids, those after the id `after`, "" for the first."""

    async def find(self, collection_id: str, index_version: int, row_id: str) -> RevisionKey | None:
        """Return the revision of a row, None if it does not exist."""

    async def there(self, collection_id: str, row_ids: Several[str]) -> list[str]:
        """Return those rows that exist, expired ones included; raises NotFound without such a collection."""

    def publishing(self, rows: Sequence[NewRow], grace_ms: int) -> AbstractAsyncContextManager[list[RevisionKey]]:
        """Make rows of one index version searched when the block ends; yield the revisions that were searched before.

        They are yielded before the commit, so that the caller can withdraw the rows if the commit is interrupted.
        """

    async def list_again(self, rows: Sequence[NewRow]) -> list[str]:
        """Enter rows of which the ledger lost every trace, searched; return the revision keys of those entered."""

    async def withdraw(self, keys: Sequence[RevisionKey], before: Sequence[RevisionKey]) -> None:
        """Undo an addition, begun or complete: hide its rows and make searched again what was `before`."""

    async def any(self, collection_id: str) -> bool:
        """Return whether a collection has rows that are searched or being written."""

    async def retire(
        self, collection_id: str, index_version: int, row_ids: Several[str], *, allow_missing: bool
    ) -> tuple[list[RevisionKey], list[str]]:
        """Hide rows for good; return their revisions, for purging, and the ids that do not exist."""


class VectorClaims(Protocol):
    """Revisions that owe vectors, and which worker makes them; see `adapters.vector_claims.VectorClaimTable`."""

    async def claim(self, besides: Several[RevisionKey], seconds: float) -> tuple[RevisionKey, bool] | None:
        """Claim the next revision; return its key and whether its texts have a contextual header, or None."""

    async def missing(
        self, collection_id: str, index_version: int, document_id: str, after: str, most: int
    ) -> list[tuple[str, int]]:
        """Return searched documents that lack vectors and how many, by id after one; only `document_id` unless ""."""

    async def owed(self) -> int:
        """Return how many vectors the searched revisions of all tenants lack."""

    def writing(self, key: RevisionKey) -> AbstractAsyncContextManager[bool]:
        """Yield whether the claim holds; a replica that relabels the rows reads them after the block's end."""

    async def paid(self, key: RevisionKey, number: int, seconds: float) -> bool:
        """Record that `number` vectors were written and extend the claim; return whether it still holds."""

    async def searched(self, key: RevisionKey) -> bool:
        """Return whether a revision is searched."""

    async def settled(self, key: RevisionKey) -> None:
        """Record that every row has its vector, if the claim still holds."""

    async def release(self, key: RevisionKey) -> None:
        """Release the claim, so that another replica can try."""


class Inventory(Protocol):
    """Row counts beside the revisions to which they belong; see `adapters.inventory.InventoryTable`."""

    async def counted(self, collection_id: str, index_version: int) -> int:
        """Return how many rows the searched revisions of an index version have."""

    async def searched(self, collection_id: str, index_version: int) -> list[Holding]:
        """Return the searched revisions of an index version."""

    async def known(self, collection_id: str, index_version: int) -> set[str]:
        """Return the keys of all revisions of an index version, whatever their state."""

    async def record(self, key: RevisionKey, counted: int) -> bool:
        """Record how many rows a revision was found to have; return whether it is still searched."""

    async def damaged(self, scope: Scope | None, limit: int, after: tuple[int, str] | None = None) -> Sequence[Damage]:
        """Return searched documents with rows missing or doubled, earliest finding first; None means every tenant's.

        `after` is the time of the last one of the previous page, in milliseconds, and its document.
        """

    async def indexed(self, ids: Sequence[str], after: tuple[str, str], limit: int) -> list[Indexed]:
        """Return searched documents of all tenants, by id and collection, after one; only those of `ids`, if given."""
