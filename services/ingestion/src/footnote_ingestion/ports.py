"""The logic's outside dependencies, as protocols: documents table, file store, parser processes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import Access
from footnote_kit.errors import FootnoteError
from footnote_kit.paging import Page

from footnote_ingestion.model.files import Added, Addition
from footnote_ingestion.model.quota import Quota, StoredTotals, Used
from footnote_ingestion.model.repeats import Outcome, Repeated, Request, RequestKey
from footnote_ingestion.model.values import ListQuery, Stored, Unfinished
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.worker.wire import Job


class Collections(Protocol):
    """Resolves callers' access to collections; see `footnote_kit.authorizer.Authorizer`. Raises Unavailable."""

    async def access(self, scope: Scope, collection_id: str, *, exact: bool = False) -> Access:
        """Return a scope's access to a collection; `exact` never uses a cached answer."""

    async def several(self, scope: Scope, ids: Iterable[str], *, exact: bool = False) -> dict[str, Access]:
        """Return a scope's access to each of these."""

    async def exists(self, scope: Scope, collection_id: str) -> bool:
        """Return whether a collection exists, for those with full access to it."""

    async def visible(self, scope: Scope) -> frozenset[str] | None:
        """Return all collections that a scope may read; None for every one."""

    @property
    def silent(self) -> bool:
        """Whether indexing has just failed to respond, so that another call would only wait."""


class Documents(Protocol):
    """The table; see `adapters.documents.DocumentTable` for the methods."""

    async def add(
        self, tenant_id: str, collection_id: str, quota: Quota, additions: Sequence[Addition]
    ) -> list[Added | Repeated | FootnoteError]:
        """Add documents in one transaction; returns the outcomes in order."""

    async def precheck(
        self, tenant_id: str, collection_id: str, quota: Quota, additions: Sequence[Addition]
    ) -> list[str | FootnoteError]:
        """Return what `add` would find."""

    async def get(self, tenant_id: str, document_id: str) -> Stored:
        """Return one document; raises `NotFound`."""

    async def used(self, tenant_id: str, collection_id: str = "") -> Used:
        """Return a tenant's totals."""

    async def owner_totals(self, tenant_id: str, owner_id: str) -> StoredTotals:
        """Return one owner's totals."""

    async def totals_by_owner(self, tenant_id: str, after: str, most: int) -> list[StoredTotals]:
        """Return totals per owner, by id."""

    async def change(
        self,
        tenant_id: str,
        document_id: str,
        how: Callable[[Stored], Stored],
        quota: Quota | None = None,
        request: Request | None = None,
    ) -> Stored:
        """Change one document in one transaction."""

    async def change_many(
        self, tenant_id: str, ways: Mapping[str, Callable[[Stored], Stored]]
    ) -> dict[str, Stored | FootnoteError]:
        """Change several documents in one transaction; returns the outcomes by id."""

    async def several(self, tenant_id: str, document_ids: Collection[str]) -> dict[str, Stored]:
        """Return those of these documents that exist, by id."""

    async def set_parsed_key(self, document_id: str, blob_key: str, parsed_key: str) -> bool:
        """Record where the parsed blocks of a file are kept."""

    async def begin_deletion(self, tenant_id: str, document_id: str, etag: str) -> Stored:
        """Hide a document before its deletion."""

    async def undo_deletion(self, tenant_id: str, document_id: str) -> Stored:
        """Undo that."""

    async def delete(self, tenant_id: str, document_id: str) -> list[str]:
        """Delete one; returns the keys of its files."""

    async def unfinished(self, page: Page) -> tuple[Sequence[Unfinished], str]:
        """Return documents with unfinished work."""

    async def there(self, document_ids: Sequence[str]) -> Sequence[str]:
        """Return which of these exist."""

    async def labelled(self, tenant_id: str, document_id: str, version: int) -> None:
        """Record that chunks match their document's record."""

    async def delete_expired(self) -> int:
        """Begin the deletion of expired documents, and complete those left for a day; return how many it completed."""

    async def list(self, query: ListQuery) -> tuple[list[Stored], str, int]:
        """Return a page of documents."""

    async def doom(self, keys: Collection[str], due_micros: int) -> None:
        """Put files on the deletion list."""

    async def give_up(self, keys: Sequence[str]) -> Sequence[str]:
        """Make listed files due now; return those that are listed."""

    async def doomed(self) -> Sequence[str]:
        """Claim files due to be deleted."""

    async def deleted(self, keys: Sequence[str]) -> None:
        """Take files off the list."""


class ChangeLog(Protocol):
    """Documents in the order of their changes; see `adapters.changes.ChangeTable` for the methods."""

    async def changed(self, tenant_id: str, collection_id: str, after: tuple[int, str], limit: int) -> list[Stored]:
        """Return documents that changed after a time and id."""

    async def gone(
        self, tenant_id: str, collection_id: str, after: tuple[int, str], limit: int
    ) -> list[tuple[int, str]]:
        """Return times and ids of documents deleted after a time and id."""

    async def forget_gone(self, before_micros: int) -> None:
        """Delete records of deletions before a time."""


class Requests(Protocol):
    """Uploads by request id; see `adapters.requests.RequestTable`."""

    async def find(self, keys: Sequence[RequestKey]) -> dict[RequestKey, Outcome]:
        """Return the results of uploads of one user; unknown ones are left out."""


class Files(Protocol):
    """The store of files; see `adapters.blobs.Blobs`."""

    async def put(self, key: str, path: Path) -> None:
        """Store a file."""

    async def put_all(self, files: Mapping[str, Path]) -> None:
        """Store several files at once; returns when every write has ended."""

    def parts(self, key: str) -> AsyncGenerator[bytes, None]:
        """Read it in parts."""

    def as_file(self, key: str) -> AbstractAsyncContextManager[Path]:
        """Read it as a local file."""

    async def delete(self, key: str) -> None:
        """Delete it."""

    async def check(self) -> str | None:
        """Return None when the store answers, else the reason."""


class WorkerPool(Protocol):
    """Worker processes; see `worker.pool.Pool`."""

    def run(self, job: Job, tenant: str, user: str = "") -> AsyncGenerator[tuple[bytes, bytes], None]:
        """Yield the frames of a job, run by a process that sees no other tenant's files; users take turns."""

    def run_many(
        self, jobs: Sequence[Job], tenant: str, user: str = ""
    ) -> AsyncGenerator[list[tuple[bytes, bytes]] | ParseError, None]:
        """Yield the frames of each of several short jobs, or its error, in order."""

    async def last(self, job: Job, tenant: str, user: str = "") -> bytes:
        """Return the payload of a job's last frame."""
