"""Public form of sources and items: rows without secrets."""

import json
from datetime import datetime
from typing import Any

from footnote.edge.v1 import sources_pb2 as pb
from google.protobuf import json_format
from google.rpc.status_pb2 import Status

from footnote_edge.jobs.ports import StoredOperation
from footnote_edge.sources.stored import FAILED, IN_STEP, PENDING, SKIPPED, StoredItem, StoredSource


def source_view(
    row: StoredSource, collection: str, counts: dict[int, int], active: StoredOperation | None
) -> pb.Source:
    """Return a source in its public form; `collection` is the name of its collection."""
    source = pb.Source(
        id=row.id,
        name=row.name,
        collection_id=row.collection_id,
        collection=collection,
        kind=row.kind,
        secret_names=json.loads(row.secret_names),
        paused=row.paused,
        state=row.state,  # type: ignore[arg-type]
        error=Status.FromString(row.error) if row.error else None,
        notices=json.loads(row.warnings),
        items=sum(counts.values()),
        items_in_step=counts.get(IN_STEP, 0),
        items_pending=counts.get(PENDING, 0),
        items_failed=counts.get(FAILED, 0),
        items_skipped=counts.get(SKIPPED, 0),
        operation_id=active.id if active is not None else "",
        owner_id=row.user_id,
        etag=row.etag,
    )
    json_format.ParseDict(json.loads(row.settings), source.settings)
    source.interval.FromSeconds(row.interval_seconds)
    _set(source, "create_time", row.create_time)
    _set(source, "update_time", row.update_time)
    _set(source, "in_step_time", row.in_step_time)
    _set(source, "away_since", row.away_since)
    if not (row.paused or row.deleting):
        _set(source, "next_sync_time", row.next_time)
    return source


def item_view(row: StoredItem) -> pb.SourceItem:
    """Return an item in its public form."""
    item = pb.SourceItem(
        item=row.item,
        state=row.state,  # type: ignore[arg-type]
        document_id=row.document_id,
        version=row.version,
        address=row.address,
        size_bytes=row.size or 0,
        reason=pb.SourceItemReason.Value(f"SOURCE_ITEM_REASON_{row.reason or 'UNSPECIFIED'}"),
        message=row.message,
        attempts=row.attempts,
        owner=row.owner,
        groups=json.loads(row.groups),
    )
    _set(item, "retry_time", row.retry_time)
    _set(item, "sync_time", row.sync_time)
    return item


def _set(message: Any, field: str, moment: datetime | None) -> None:
    if moment is not None:
        getattr(message, field).FromDatetime(moment)
