"""What sources store, and what they need of their store."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from footnote.edge.v1.sources_pb2 import (
    SOURCE_ITEM_STATE_FAILED,
    SOURCE_ITEM_STATE_IN_STEP,
    SOURCE_ITEM_STATE_PENDING,
    SOURCE_ITEM_STATE_SKIPPED,
    SOURCE_STATE_NEW,
    SourceState,
)
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page

from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.sources.ports import Item, Known

PENDING, IN_STEP, FAILED, SKIPPED = (
    SOURCE_ITEM_STATE_PENDING, SOURCE_ITEM_STATE_IN_STEP, SOURCE_ITEM_STATE_FAILED, SOURCE_ITEM_STATE_SKIPPED,
)  # fmt: skip

LISTING, COMPLETE, PARTIAL = 0, 1, 2
"""State of a run's listing; after a PARTIAL one nothing is deleted."""

SKEW = timedelta(hours=1)
"""By how much the clocks of replicas may differ: a time further ahead than an interval and this is a wrong clock's."""


@dataclass(slots=True)
class StoredSource:
    """A source that a collection mirrors; `secrets` are encrypted, `run_token` fences off other runs.

    `settings`, `secret_names` and `warnings` are JSON; `error` is a serialised google.rpc.Status. `creator` is a Scope:
    the creator's roles and groups when it last changed or synchronised the source, None if an earlier version made it.
    """

    id: str
    tenant_id: str
    user_id: str
    collection_id: str
    name: str
    kind: str
    etag: str
    create_time: datetime
    update_time: datetime
    settings: str = "{}"
    secrets: bytes = b""
    secret_names: str = "[]"
    secret_key: str = ""
    interval_seconds: int = 3600
    paused: bool = False
    deleting: bool = False
    state: int = SOURCE_STATE_NEW
    error: bytes = b""
    warnings: str = "[]"
    in_step_time: datetime | None = None
    away_since: datetime | None = None
    next_time: datetime | None = None
    run_id: str = ""
    run_token: str = ""
    run_cursor: str = ""
    run_listed: int = LISTING
    creator: bytes | None = None


@dataclass(slots=True)
class StoredItem:
    """An item of a source: the state of its document, and of the last listing; `memo`, `groups`, `label` are JSON."""

    source_id: str
    key: str
    item: str
    name: str
    address: str
    memo: str
    owner: str
    groups: str
    size: int | None
    listed_version: str
    version: str
    label: str
    sha256: str
    document_id: str
    revision: int
    nonce: str
    state: int
    reason: str
    message: str
    attempts: int
    retry_time: datetime | None
    sync_time: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds a source: its fence guards every write of the source's items."""

    source_id: str
    run_id: str
    token: str


class Superseded(Exception):
    """Another run holds the source, or it is deleted: this run stops and writes nothing more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run's listing; for a partial one `error` is the reason, a serialised google.rpc.Status."""

    state: SourceState.ValueType
    gone: bool
    """Whether items missing from the listing no longer exist at the source."""
    error: bytes = b""
    warnings: Sequence[str] = ()
    retries_only: bool = False
    """Whether the run was to list nothing: the next listing is due when it was."""


class SourceStore(Protocol):
    """Stored sources; see `adapters.sources.SourceTable`."""

    async def add(self, source: StoredSource) -> None:
        """Record a new source; raises AlreadyExists if its collection has one of that name."""

    async def read(self, source_id: str) -> StoredSource | None:
        """Return a source; None for an unknown one."""

    async def get(self, scope: Scope, source_id: str) -> StoredSource:
        """Return a source of the caller's tenant; raises NotFound."""

    async def page(
        self, scope: Scope, page: Page, collections: Collection[str] | None
    ) -> tuple[list[StoredSource], str]:
        """Return a page of a tenant's sources, newest first, and the next token; `collections` None means all."""

    async def count(self, tenant_id: str) -> int:
        """Return a tenant's number of sources."""

    async def collections(self, tenant_id: str) -> set[str]:
        """Return the ids of a tenant's collections that have sources."""

    async def change(self, source_id: str, etag: str, fresh: str, values: Mapping[str, Any]) -> None:
        """Change a source and its etag; raises Aborted if its etag differs, AlreadyExists for a taken name."""

    async def mark_deleting(self, source_id: str) -> None:
        """Remove a source from the schedule for good."""

    async def remove(self, source_id: str) -> None:
        """Delete a source and its items."""

    async def active(self, source_id: str) -> StoredOperation | None:
        """Return the operation that synchronises or deletes a source now."""

    async def due(self, now: datetime) -> list[StoredSource]:
        """Return the sources that are due or have a failed item to retry; the most overdue first.

        Items of a source that is away wait for its next listing.
        """

    async def watchable(self, kinds: Collection[str], limit: int) -> list[StoredSource]:
        """Return active sources of some kinds, by id: the same ones each time."""

    async def oldest(self) -> datetime | None:
        """Return the time since which the most outdated source is out of step; None without active sources."""

    async def of_deleted_collections(self) -> list[str]:
        """Return the ids of sources whose collection was deleted."""

    async def existing(self, source_ids: Collection[str]) -> set[str]:
        """Return those of some ids that sources have."""

    async def sealed_with_others(self, key_id: str) -> list[StoredSource]:
        """Return the sources whose secrets are not encrypted with this key."""

    async def reseal(self, source: StoredSource, data: bytes, key_id: str) -> None:
        """Store re-encrypted secrets, unless they were replaced in the meantime."""

    async def take(self, source_id: str, run_id: str, token: str) -> StoredSource:
        """Assign a source to a run, taking it from any other; raises Superseded if it is deleted.

        A run repeated after a crash resumes its listing.
        """

    async def note(self, source_id: str, token: str, **values: Any) -> None:
        """Write a run's findings about its source; raises Superseded."""

    async def make_due(self, source_id: str) -> None:
        """Make a source due now, and so begin a run as soon as the one in progress has ended."""

    async def listed(self, source: StoredSource, token: str, outcome: Outcome) -> None:
        """Record the end of a run's listing, and the next due time unless that was changed during the run."""

    async def in_step(self, source_id: str, token: str, since: datetime) -> None:
        """Record that everything that existed at a time is synchronised."""

    async def counts(self, source_ids: Collection[str]) -> dict[str, dict[int, int]]:
        """Return the numbers of items of sources by state."""


class ItemStore(Protocol):
    """Stored items; see `adapters.source_items.ItemTable`. Writes raise Superseded for a run without the source."""

    async def known(self, source_id: str, item_ids: Sequence[str]) -> dict[str, Known]:
        """Return known items by id; items not listed before are missing."""

    async def get(self, source_id: str, key: str) -> StoredItem | None:
        """Return an item by its key."""

    async def see(self, holder: Holder, listed: Sequence[Item], cursor: str) -> int:
        """Store a page of a listing with its cursor, atomically; return how many items are new or changed."""

    async def pending(
        self, source_id: str, after: str, limit: int, moved: frozenset[int | None] | None = None
    ) -> list[StoredItem]:
        """Return pending items, by key after one; of `moved` sizes only those that may be moves of vanished items."""

    async def vanished(self, holder: Holder, after: str, limit: int) -> list[StoredItem]:
        """Return items missing from the run's listing, by key after one."""

    async def all(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items of a source, by key after one."""

    async def indexing(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose documents have not ended, by key after one."""

    async def not_indexed(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose documents could not be indexed and are there, by key after one."""

    async def unconfirmed(self, source_id: str, after: str, limit: int) -> list[StoredItem]:
        """Return items whose upload began and whose document is unknown, by key after one."""

    async def owned(self, source_id: str, document_ids: Collection[str]) -> set[str]:
        """Return those of some documents that an item of the source has."""

    async def take_up_again(self, holder: Holder, now: datetime) -> int:
        """Make failed items pending whose retry time has come, or nearly so; return how many."""

    async def set(self, holder: Holder, key: str, **values: Any) -> None:
        """Change an item."""

    async def settle(self, holder: Holder, ended: dict[str, dict[str, Any]]) -> None:
        """Change several items at once, by key."""

    async def remove(self, holder: Holder, keys: Collection[str]) -> None:
        """Delete items."""

    async def origin_of_move(
        self, holder: Holder, item: StoredItem, *, version: str = "", sha256: str = ""
    ) -> StoredItem | None:
        """Return a vanished item whose document has the same content, by version or hash."""

    async def sizes_of_vanished(self, holder: Holder) -> frozenset[int | None]:
        """Return sizes of vanished items with documents, for `pending`; None for an unknown one."""

    async def move(self, holder: Holder, old: StoredItem, new: StoredItem) -> None:
        """Move the document of a vanished item to a new one, and delete the vanished item."""

    async def page(self, source_id: str, page: Page, states: Collection[int]) -> tuple[list[StoredItem], str, int]:
        """Return a page of items by name, the next token, and the total."""


def key_of(item_id: str) -> str:
    """Return the key of an item, whose id may be long."""
    return hashlib.sha256(item_id.encode("utf-8", "surrogatepass")).hexdigest()


def source_missing(source_id: str) -> NotFound:
    """Return the same error for a missing source and for one that the caller may not see."""
    return NotFound(f"Source '{source_id}' not found", reason="SOURCE_NOT_FOUND")
