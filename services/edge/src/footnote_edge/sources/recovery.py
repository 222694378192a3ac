"""Finds documents whose upload succeeded although the run that sent them was killed, or lost the response."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.logs import get_logger

from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.stored import Holder, ItemStore, StoredItem, StoredSource

BATCH = 500
LONGEST = timedelta(hours=1)
"""The longest that an upload can be under way after its run was killed, clock differences included."""

_log = get_logger(__name__)


async def recover_uploads(
    items: ItemStore, store: DocumentStore, scope: Scope, source: StoredSource, holder: Holder
) -> None:
    """Assign such documents to their items; of several documents of one item, delete all but the first.

    Otherwise an item that changed, moved or vanished after the crash would leave a document that no item owns. An
    upload that began long ago and has no document can have none later: its item is not looked for again.
    """
    after = ""
    while rows := await items.unconfirmed(source.id, after, BATCH):
        after = rows[-1].key
        await _recover({row.item: row for row in rows}, items, store, scope, source, holder)


async def _recover(
    rows: Mapping[str, StoredItem],
    items: ItemStore,
    store: DocumentStore,
    scope: Scope,
    source: StoredSource,
    holder: Holder,
) -> None:
    made = await store.changed_since(scope, source, min(map(_began, rows.values())))
    found = {item: documents for item, documents in made.items() if item in rows}
    owned = await items.owned(source.id, [document.id for documents in found.values() for document in documents])
    for item, documents in found.items():
        lost = [document for document in documents if document.id not in owned]
        for document in lost[:1]:
            # Without a label, the transfer labels the document again.
            values = {"document_id": document.id, "sha256": document.sha256, "revision": document.revision, "label": ""}
            await items.set(holder, rows[item].key, **values)
            await store.resume(document)
        for document in lost[1:]:
            await store.delete(scope, document.id)
        if lost:
            _log.info("source_upload_recovered", source_id=source.id, documents=len(lost))
    latest = datetime.now(UTC) - LONGEST
    for row in rows.values():
        if row.item not in found and _began(row) < latest:
            # A new nonce, so that later uploads are not taken for repeats of the earlier call.
            await items.set(holder, row.key, label="", nonce=uuid4().hex)


def _began(row: StoredItem) -> datetime:
    """Return the time at which an item's upload began, from its label."""
    try:
        return datetime.fromisoformat(str(json.loads(row.label)["time"]))
    except (ValueError, KeyError):
        return datetime.fromtimestamp(0, UTC)
