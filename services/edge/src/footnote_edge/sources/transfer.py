"""Transfers one item into its document: fetch, compare, upload, label. Every step is idempotent."""

import asyncio
import contextlib
import hashlib
import json
import unicodedata
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.backoff import Backoff
from footnote_kit.errors import FootnoteError, NotFound
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter

from footnote_edge.jobs.retrying import until_available
from footnote_edge.sources.documents import Content, DocumentStore, label_of
from footnote_edge.sources.opened_file import opened
from footnote_edge.sources.ports import Connection, Item, ItemFailed, Permissions, SourceRefused, SourceUnavailable
from footnote_edge.sources.stored import (
    FAILED,
    IN_STEP,
    SKIPPED,
    Holder,
    ItemStore,
    StoredItem,
    StoredSource,
    Superseded,
)

T = TypeVar("T")

RETRIES = Backoff(60.0, 6 * 3600.0)
"""Backoff of failed items, in seconds."""
MOST_AWAY = 8
"""Consecutive items without an answer from the source before the run gives up."""
FETCHES = 4
"""Items of one source fetched concurrently."""

SPOOL_BYTES = 1024 * 1024 * 1024
"""Maximum bytes on disk of bodies that came with one listing: no quota of the tenant counts them."""

_log = get_logger(__name__)


class GivenUp(Exception):
    """The source does not answer; the item stays as it was."""


@dataclass(slots=True)
class Tally:
    """Counters of a run, in items."""

    total: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    away: int = 0
    """Consecutive items without an answer from the source."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of one source: its scope and components."""

    scope: Scope
    source: StoredSource
    holder: Holder
    connection: Connection
    folder: Path
    tally: Tally
    content_versions: bool
    complete: bool
    """Whether the listing was complete: then items missing from it no longer exist."""
    fetches: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(FETCHES))
    """Held while an item is fetched."""


class Transfer:
    """Synchronises single items."""

    def __init__(self, items: ItemStore, store: DocumentStore, item_bytes: int, ceiling: float) -> None:
        self._items = items
        self._store = store
        self._item_bytes = item_bytes
        self._ceiling = ceiling

    async def one(self, run: Run, row: StoredItem) -> None:
        """Synchronise an item, or record why it failed; raises errors that stop the whole run."""
        try:
            values = await self._bring(run, row)
            run.tally.done += 1
            run.tally.away = 0
            outcome = "in_step"
        except GivenUp:
            return
        except SourceUnavailable as error:
            run.tally.away += 1
            values, outcome = self._failed(run, row, ItemFailed("AWAY", str(error))), "failed"
        except SourceRefused as error:
            values, outcome = self._failed(run, row, ItemFailed("REFUSED", str(error))), "failed"
        except ItemFailed as error:
            values = self._failed(run, row, error)
            outcome = "skipped" if error.permanent else "failed"
            if error.reason == "EMPTY" and row.document_id:
                await self._until_available(lambda: self._store.delete(run.scope, row.document_id))
                values |= {"document_id": "", "sha256": "", "label": "", "version": "", "nonce": uuid4().hex}
        except FootnoteError as error:
            values, outcome = self._failed(run, row, ItemFailed("INVALID", error.message)), "failed"
        except Superseded:
            raise
        except Exception as error:  # from third-party code or a server's malformed data
            _log.error("source_item_broke", source_id=run.source.id, kind=run.source.kind, exc_info=error)
            values = self._failed(run, row, ItemFailed("INVALID", f"Fetching it failed: {type(error).__name__}."))
            outcome = "failed"
        counter("footnote.edge.sources.items").add(1, {"kind": run.source.kind, "outcome": outcome})
        await self._items.set(run.holder, row.key, **values)

    async def _bring(self, run: Run, row: StoredItem) -> dict[str, Any]:
        """Return the changes of an item that is synchronised now."""
        if run.content_versions and run.complete and not row.document_id:
            row = await self._moved(run, row, version=row.listed_version) or row
            if row.document_id and row.version == row.listed_version and await self._is_named(run, row):
                return await self._labelled(run, row, row.sha256, row.revision)
        content = await self._content(run, row)
        try:
            if run.complete and not row.document_id:
                row = await self._moved(run, row, sha256=content.sha256) or row
            if row.document_id and row.sha256 == content.sha256 and await self._is_named(run, row):
                try:
                    return await self._labelled(run, row, content.sha256, row.revision)
                except NotFound:
                    return await self._put_again(run, row, content)
            return await self._put(run, row, content)
        finally:
            with contextlib.suppress(OSError):
                content.path.unlink()

    async def _moved(self, run: Run, row: StoredItem, *, version: str = "", sha256: str = "") -> StoredItem | None:
        """Move the document of a vanished item with the same content to this one; return the updated row."""
        old = await self._items.origin_of_move(run.holder, row, version=version, sha256=sha256)
        if old is None:
            return None
        await self._items.move(run.holder, old, row)
        counter("footnote.edge.sources.items").add(1, {"kind": run.source.kind, "outcome": "moved"})
        return await self._items.get(run.source.id, row.key)

    async def _is_named(self, run: Run, row: StoredItem) -> bool:
        """Return whether an item's document has its name: chunks begin with it, so that another one is indexed anew.

        The new name may come from a run that was killed: a revision in progress is followed.
        """
        document = await self._until_available(lambda: self._store.find(run.scope, row.document_id))
        if document is None:
            return True  # deleted: it is made again elsewhere
        if document.indexed_revision < document.revision:
            row.revision = document.revision
        return unicodedata.normalize("NFC", document.filename) == unicodedata.normalize("NFC", row.name)

    async def _put(self, run: Run, row: StoredItem, content: Content) -> dict[str, Any]:
        label = label_of(run.source, row)
        if not row.document_id:
            # Stored first: an upload repeated after a crash must have the same label, even its time.
            await self._items.set(run.holder, row.key, label=json.dumps(label))
        try:
            document, fresh = await self._until_available(
                lambda: self._store.put(run.scope, run.source, row, content, label)
            )
        except NotFound as error:
            if error.reason != "DOCUMENT_NOT_FOUND":
                raise
            return await self._put_again(run, row, content)
        except ItemFailed:
            if not row.document_id:  # ingestion refused it: there is no document to look for
                await self._items.set(run.holder, row.key, label="")
            raise
        made = not row.document_id
        row.document_id = document.id
        # Bytes that are not new may come from an attempt whose answer was lost: they are followed as well.
        follows = fresh or document.indexed_revision < document.revision
        revision = document.revision if follows else row.revision
        if made:
            return self._in_step(row, content.sha256, json.dumps(label), revision)
        return await self._labelled(run, row, content.sha256, revision)

    async def _put_again(self, run: Run, row: StoredItem, content: Content) -> dict[str, Any]:
        """Create a document again after its manual deletion, which may even have happened during this upload."""
        row.document_id, row.label, row.nonce = "", "", uuid4().hex
        await self._items.set(run.holder, row.key, document_id="", label="", nonce=row.nonce)
        return await self._put(run, row, content)

    async def _labelled(self, run: Run, row: StoredItem, sha256: str, revision: int) -> dict[str, Any]:
        label = label_of(run.source, row)
        text = json.dumps(label)
        if text != row.label:
            await self._until_available(lambda: self._store.relabel(run.scope, row.document_id, label))
        return self._in_step(row, sha256, text, revision)

    def _in_step(self, row: StoredItem, sha256: str, label: str, revision: int) -> dict[str, Any]:
        return {
            "state": IN_STEP, "reason": "", "message": "", "attempts": 0, "retry_time": None,
            "version": row.listed_version, "sha256": sha256, "label": label, "document_id": row.document_id,
            "revision": revision, "sync_time": datetime.now(UTC),
        }  # fmt: skip

    def _failed(self, run: Run, row: StoredItem, error: ItemFailed) -> dict[str, Any]:
        attempts = row.attempts + 1
        _log.info("source_item_failed", source_id=run.source.id, reason=error.reason, attempts=attempts)
        values = {"reason": error.reason, "message": str(error)[:1000], "attempts": attempts, "revision": 0}
        if error.permanent:
            run.tally.skipped += 1
            return values | {"state": SKIPPED, "retry_time": None}
        run.tally.failed += 1
        again = datetime.now(UTC) + timedelta(seconds=RETRIES.pause(attempts))
        return values | {"state": FAILED, "retry_time": again}

    async def _content(self, run: Run, row: StoredItem) -> Content:
        """Return an item's bytes, from the listing or fetched; raises ItemFailed."""
        path = run.folder / row.key
        if not path.exists():
            async with run.fetches:
                if run.tally.away >= MOST_AWAY:
                    raise GivenUp
                await self._fetch(run, item_of(row), path)
        content = await Content.of(path)
        if not content.size:
            raise ItemFailed("EMPTY", "It has no bytes.", permanent=True)
        return content

    async def _fetch(self, run: Run, item: Item, path: Path) -> None:
        part = path.with_suffix(".part")
        received = 0
        try:
            async with (
                opened(lambda: part.open("wb")) as file,
                aclosing(cast("AsyncGenerator[bytes]", run.connection.fetch(item))) as stream,
            ):
                async for piece in stream:
                    received += len(piece)
                    if received > self._item_bytes:
                        raise ItemFailed("TOO_LARGE", f"It has more than {self._item_bytes} bytes.", permanent=True)
                    await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(part.rename, path)
        finally:
            with contextlib.suppress(OSError):
                part.unlink()
            counter("footnote.edge.sources.bytes").add(received, {"kind": run.source.kind})

    async def _until_available(self, operation: Callable[[], Awaitable[T]]) -> T:
        return await until_available(operation, self._ceiling)


def item_of(row: StoredItem) -> Item:
    """Return an item as last listed, without its body."""
    permissions = Permissions(row.owner, tuple(json.loads(row.groups)))
    return Item(
        id=row.item, version=row.listed_version, name=row.name, size=row.size, address=row.address,
        memo=json.loads(row.memo), permissions=permissions,
    )  # fmt: skip


class Spool:
    """Stores bodies from the listing until their items' turns; what it does not take is fetched again then."""

    def __init__(self, folder: Path, item_bytes: int) -> None:
        self._folder = folder
        self._item_bytes = item_bytes
        self._left = SPOOL_BYTES

    async def keep(self, key: str, body: bytes) -> None:
        """Store a body, unless it is too long or too much is stored already."""
        if len(body) <= min(self._left, self._item_bytes):
            self._left -= len(body)
            await asyncio.to_thread((self._folder / key).write_bytes, body)


def digest(body: bytes) -> str:
    """Return a content hash as the version of an item whose source gives none."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
