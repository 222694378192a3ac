"""Origins of answers, directly or through earlier messages, and deleted origins.

Existing answers get their known origins: their sources, those in their manifest, and those of the messages in their
history and memory. An interrupted answer has no manifest: all earlier answers in its conversation count. Documents that
were removed from an answer are noted as deleted, so that everything derived from them is removed too.
"""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED, Source
from footnote_edge.adapters.earlier_payloads import ids_in, message_of
from google.protobuf.message import DecodeError

revision = "0017"
down_revision = "0016"

_ASSISTANT = 3
_BATCH = 200
_TIME = sa.DateTime(timezone=True)
_MESSAGES = sa.table(
    "messages",
    *(sa.column(name) for name in ("sequence", "id", "conversation_id", "role", "text", "payload", "text_hash")),
)
_ORIGINS = sa.table(
    "message_origins", *(sa.column(name) for name in ("message_id", "collection_id", "document_id", "revision"))
)
_FORGOTTEN = sa.table("forgotten", sa.column("id"), sa.column("create_time", _TIME))

Origins = dict[tuple[str, str], int]


def upgrade() -> None:
    """Create the tables and fill them."""
    op.create_table(
        "message_origins",
        sa.Column("message_id", sa.String(40), sa.ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("collection_id", sa.String(256), primary_key=True),
        sa.Column("document_id", sa.String(256), primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    )
    for name in ("collection_id", "document_id"):
        op.create_index(f"ix_message_origins_{name}", "message_origins", [name])
    op.create_table(
        "forgotten",
        sa.Column("id", sa.String(256), primary_key=True),
        sa.Column("create_time", _TIME, nullable=False),
    )
    op.create_index("ix_forgotten_create_time", "forgotten", ["create_time"])
    op.add_column("messages", sa.Column("text_hash", sa.String(64), nullable=True))
    op.create_index("messages_by_text", "messages", ["text_hash"])
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    """Fill in the answers in order of creation, since an answer derives from earlier ones only."""
    last, gone = 0, set[str]()
    columns = (_MESSAGES.c.sequence, _MESSAGES.c.id, _MESSAGES.c.conversation_id, _MESSAGES.c.text, _MESSAGES.c.payload)
    while True:
        page = sa.select(*columns).where(_MESSAGES.c.sequence > last, _MESSAGES.c.role == _ASSISTANT)
        rows = connection.execute(page.order_by(_MESSAGES.c.sequence).limit(_BATCH)).all()
        for row in rows:
            message = _read(row)
            gone |= _deleted(message)
            found = _own(message)
            for origins in _inherited(connection, row, message):
                found = origins | found
            if found:
                values = [_row(row.id, *key, revision) for key, revision in found.items()]
                connection.execute(sa.insert(_ORIGINS), values)
            if row.text.strip():
                digest = hashlib.sha256(row.text.strip().encode()).hexdigest()
                change = sa.update(_MESSAGES).where(_MESSAGES.c.sequence == row.sequence)
                connection.execute(change.values(text_hash=digest))
        if not rows:
            break
        last = rows[-1].sequence
    if gone:
        now = datetime.now(UTC)
        connection.execute(sa.insert(_FORGOTTEN), [{"id": one, "create_time": now} for one in sorted(gone)])


def _read(row: Any) -> ConversationMessage:
    """Return an answer as this release has it; of one that cannot be read all that may be a document counts."""
    payload = row.payload or b""
    try:
        return message_of(payload)
    except (DecodeError, UnicodeDecodeError):
        return ConversationMessage(sources=[Source(document_id=one) for one in sorted(ids_in(payload) - {row.id})])


def _row(message_id: str, collection_id: str, document_id: str, revision: int) -> dict[str, Any]:
    return {
        "message_id": message_id,
        "collection_id": collection_id,
        "document_id": document_id,
        "revision": revision,
    }


def _own(message: ConversationMessage) -> Origins:
    """Return the documents of an answer's own sources, including removed ones."""
    both: Iterable[Any] = (*message.manifest.sources, *message.sources)
    return {(one.collection_id, one.document_id): one.revision for one in both}


def _inherited(connection: sa.Connection, row: Any, message: ConversationMessage) -> Iterable[Origins]:
    """Return the origins of the messages that an answer used."""
    ids = [*message.manifest.history_message_ids, *message.manifest.memory_message_ids]
    if row.conversation_id and not message.HasField("manifest"):
        before = sa.select(_MESSAGES.c.id).where(
            _MESSAGES.c.conversation_id == row.conversation_id, _MESSAGES.c.sequence < row.sequence
        )
        ids = list(connection.scalars(before))
    for start in range(0, len(ids), _BATCH):
        query = sa.select(_ORIGINS).where(_ORIGINS.c.message_id.in_(ids[start : start + _BATCH]))
        yield {(one.collection_id, one.document_id): one.revision for one in connection.execute(query)}


def _deleted(message: ConversationMessage) -> set[str]:
    """Return the documents that were removed from an answer because they were deleted."""
    if not any(one.reason == DEGRADATION_REASON_DOCUMENT_DELETED for one in message.degradations):
        return set()
    left = {one.document_id for one in message.sources}
    return {one.document_id for one in message.manifest.sources} - left - {""}
