"""Finds documents whose upload succeeded although the run that sent them was killed, or lost the response."""

import json
from datetime import UTC, datetime

from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.logs import get_logger

from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.stored import Holder, ItemStore, StoredItem, StoredSource

_log = get_logger(__name__)


async def recover_uploads(
    items: ItemStore, store: DocumentStore, scope: Scope, source: StoredSource, holder: Holder
) -> None:
    """Assign such documents to their items; of several documents of one item, delete all but the first.

    Otherwise an item that changed, moved or vanished after the crash would leave a document that no item owns.
    """
    rows = {row.item: row for row in await items.unconfirmed(source.id)}
    if not rows:
        return
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


def _began(row: StoredItem) -> datetime:
    """Return the time at which an item's upload began, which its label holds."""
    try:
        return datetime.fromisoformat(str(json.loads(row.label)["time"]))
    except (ValueError, KeyError):
        return datetime.fromtimestamp(0, UTC)
