"""Versions of stored messages: messages of earlier releases are translated once.

A message that cannot be translated keeps version 0 and is shown as its text.
"""

import contextlib

import sqlalchemy as sa
from alembic import op
from footnote_edge.adapters.earlier_payloads import VERSION, asked_of, message_of
from google.protobuf.message import DecodeError

revision = "0021"
down_revision = "0020"

_BATCH = 200
_MESSAGES = sa.table("messages", *(sa.column(name) for name in ("sequence", "payload", "asked", "payload_version")))


def upgrade() -> None:
    """Add the column, and translate existing messages."""
    op.add_column("messages", sa.Column("payload_version", sa.Integer, nullable=False, server_default="0"))
    connection, last = op.get_bind(), 0
    while True:
        page = sa.select(_MESSAGES).where(_MESSAGES.c.sequence > last).order_by(_MESSAGES.c.sequence).limit(_BATCH)
        rows = connection.execute(page).all()
        for row in rows:
            with contextlib.suppress(DecodeError, UnicodeDecodeError):
                values = {"payload": message_of(row.payload or b"").SerializeToString(), "payload_version": VERSION}
                if row.asked:
                    values["asked"] = asked_of(row.asked).SerializeToString()
                change = sa.update(_MESSAGES).where(_MESSAGES.c.sequence == row.sequence)
                connection.execute(change.values(**values))
        if not rows:
            return
        last = rows[-1].sequence
