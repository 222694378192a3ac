"""Removes what a model wrote without sources from the manifests of answers whose origins were deleted.

Until this release such a text, which may repeat an earlier answer, stayed when the answer's other words were taken out.
"""

import sqlalchemy as sa
from alembic import op
from footnote.edge.v1.conversations_pb2 import ConversationMessage
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED
from google.protobuf.message import DecodeError

revision = "0029"
down_revision = "0028"

_ASSISTANT = 3
_BATCH = 200
_MESSAGES = sa.table("messages", *(sa.column(name) for name in ("sequence", "role", "payload")))


def upgrade() -> None:
    """Go through all answers in batches."""
    connection, last = op.get_bind(), 0
    while True:
        page = sa.select(_MESSAGES.c.sequence, _MESSAGES.c.payload).where(
            _MESSAGES.c.sequence > last, _MESSAGES.c.role == _ASSISTANT
        )
        rows = connection.execute(page.order_by(_MESSAGES.c.sequence).limit(_BATCH)).all()
        for row in rows:
            if (payload := _without(row.payload or b"")) is not None:
                change = sa.update(_MESSAGES).where(_MESSAGES.c.sequence == row.sequence)
                connection.execute(change.values(payload=payload))
        if not rows:
            return
        last = rows[-1].sequence


def _without(payload: bytes) -> bytes | None:
    """Return a payload without its withheld text; None where nothing is to be removed."""
    try:
        message = ConversationMessage.FromString(payload)
    except DecodeError:
        return None
    deleted = any(one.reason == DEGRADATION_REASON_DOCUMENT_DELETED for one in message.degradations)
    if not deleted or not message.manifest.withheld_text:
        return None
    message.manifest.ClearField("withheld_text")
    return message.SerializeToString()
