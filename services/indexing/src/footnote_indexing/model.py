"""The records that the logic and the tables share: collections, index versions, revisions and their counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_kit.access import OPEN_TO_ALL
from footnote_kit.errors import Aborted
from footnote_store.rows import space_name

from footnote_indexing.chunking.model import Chosen

WRITING, BUILDING, CURRENT, RETIRED, DELETED = "WRITING", "BUILDING", "CURRENT", "RETIRED", "DELETED"
"""States. A revision goes WRITING -> CURRENT -> RETIRED, an index version BUILDING -> CURRENT -> RETIRED or DELETED.

Searches see what is CURRENT.
"""


def collection_key(collection_id: str, index_version: int) -> str:
    """Return the store's name for an index version of a collection."""
    return f"{collection_id}:{index_version}"


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """The documents of a collection under one embedding model: where its vectors are and which model produced them."""

    collection_id: str
    number: int
    tenant_id: str
    state: str
    variant: int
    embedding: EmbeddingSettings

    @property
    def space(self) -> str:
        """The physical collection that holds its vectors."""
        return space_name(self.embedding.dimensions, self.variant)

    @property
    def collection_key(self) -> str:
        """Value of the store's column of the same name."""
        return collection_key(self.collection_id, self.number)


Audience = tuple[str, ...]
"""Who may read a text: its tenant, or within that the readers of a private collection, or a user."""


def audiences_of(index_version: IndexVersion) -> tuple[Audience, Audience]:
    """Return who may read a collection's texts while it is shared, and while it is private."""
    tenant = index_version.tenant_id
    return (tenant,), (tenant, "collection", index_version.collection_id)


@dataclass(frozen=True, slots=True)
class Stored:
    """A collection as stored, with the index version that is searched."""

    collection: Collection
    index_version: IndexVersion

    @property
    def audience(self) -> Audience:
        """Who may read its texts."""
        of_all, own = audiences_of(self.index_version)
        return of_all if self.collection.visibility in OPEN_TO_ALL else own


def changed_meanwhile(name: str) -> Aborted:
    """Return the error for a collection that changed since the caller read it."""
    return Aborted(f"Collection '{name}' was changed by another call; read it again")


@dataclass(frozen=True, slots=True)
class RevisionKey:
    """A revision of a document in an index version of a collection."""

    collection_id: str
    index_version: int
    document_id: str
    revision: int

    @property
    def collection_key(self) -> str:
        """Value of the store's column of the same name."""
        return collection_key(self.collection_id, self.index_version)

    @property
    def revision_key(self) -> str:
        """Value of the store's column of the same name."""
        return f"{self.document_id}:{self.revision}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of a revision."""

    key: RevisionKey
    state: str
    fingerprint: str
    chosen: Chosen
    chunks_expected: int
    chunks_stored: int
    contextual_header: bool
    owed: int
    """The most chunks that have no vector yet."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of opening a revision: its previous state, and the revision that is searched meanwhile."""

    before: Entry | None
    current: Entry | None


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to publish: its revision, and what the ledger keeps of its text; `expire_at` in Unix milliseconds."""

    key: RevisionKey
    language: str
    characters: int
    expire_at: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of what searches of an index version see."""

    documents: int
    chunks: int
    characters: int
    owed: int = 0
    """Chunks that have no vector yet."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What an index version holds: the languages of its documents, most frequent first, and its totals."""

    languages: Sequence[str]
    totals: Totals
    exact: bool = True
    """False where all but `totals.owed` may be some seconds old, as in large collections."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A searched revision and its number of chunks."""

    key: RevisionKey
    chunks: int


@dataclass(frozen=True, slots=True)
class Holding:
    """The rows of a revision: the number written, and the number at the last count."""

    key: RevisionKey
    written: int
    counted: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A searched document with rows missing or doubled."""

    tenant_id: str
    holding: Holding
    time_ms: int


@dataclass(frozen=True, slots=True)
class Indexed:
    """A searched document and its searched revision."""

    tenant_id: str
    collection_id: str
    document_id: str
    revision: int
