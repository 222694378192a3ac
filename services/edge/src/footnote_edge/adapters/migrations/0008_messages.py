"""Replaced answers, the questions of answers, and texts for search; request ids of creates."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_USER, _ASSISTANT = 2, 3
_BATCH = 500


def upgrade() -> None:
    """Add the columns, filled from the others."""
    op.add_column("messages", sa.Column("place", sa.Integer, nullable=True))
    op.add_column("messages", sa.Column("question_id", sa.String(40), nullable=True))
    op.add_column("messages", sa.Column("superseded_by", sa.String(40), nullable=True))
    op.add_column("messages", sa.Column("topic", sa.Text, nullable=False, server_default=""))
    op.add_column("messages", sa.Column("folded", sa.Text, nullable=False, server_default=""))
    op.add_column("messages", sa.Column("asked", sa.LargeBinary, nullable=True))
    op.create_index("ix_messages_question_id", "messages", ["question_id"])
    op.add_column("request_ids", sa.Column("made", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE messages SET question_id = (SELECT q.id FROM messages q WHERE q.conversation_id = "
        f"messages.conversation_id AND q.role = {_USER} AND q.sequence < messages.sequence ORDER BY q.sequence DESC "
        f"LIMIT 1) WHERE role = {_ASSISTANT} AND conversation_id IS NOT NULL"
    )
    _fold()


def _fold() -> None:
    """Fold the texts here: the databases do not fold all scripts, and differ."""
    messages = sa.table("messages", sa.column("sequence"), sa.column("text"), sa.column("folded"))
    connection, last = op.get_bind(), 0
    while True:
        page = sa.select(messages.c.sequence, messages.c.text).where(messages.c.sequence > last)
        rows = connection.execute(page.order_by(messages.c.sequence).limit(_BATCH)).all()
        for sequence, text in rows:
            change = sa.update(messages).where(messages.c.sequence == sequence)
            connection.execute(change.values(folded=text.casefold()))
        if not rows:
            return
        last = rows[-1][0]
