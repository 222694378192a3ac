"""Answers outside conversations: messages without one, their collections, and feedback on any answer."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Allow messages without a conversation."""
    op.execute("ALTER TABLE feedback RENAME COLUMN message_id TO answer_id")
    if op.get_bind().dialect.name == "sqlite":
        _rebuild()
    else:
        op.alter_column("messages", "conversation_id", nullable=True)
    op.create_table(
        "answer_origins",
        sa.Column("answer_id", sa.String(40), sa.ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("collection_id", sa.String(256), primary_key=True),
    )
    op.create_index("ix_answer_origins_collection_id", "answer_origins", ["collection_id"])


def _rebuild() -> None:
    """Rebuild the table, since SQLite cannot change a column; dropping it deletes the feedback, which is restored."""
    for table in ("feedback", "messages"):
        op.execute(f"CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}")
    op.drop_table("messages")
    time = sa.DateTime(timezone=True)
    conversation = sa.ForeignKey("conversations.id", ondelete="CASCADE")
    op.create_table(
        "messages",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column("conversation_id", sa.String(40), conversation, nullable=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("role", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("create_time", time, nullable=False),
        sa.Column("embed_time", time, nullable=True),
    )
    op.create_index("ix_messages_conversation_id", "messages", ["conversation_id"])
    op.execute("INSERT INTO messages SELECT * FROM kept_messages")
    op.execute("DELETE FROM feedback")
    op.execute("INSERT INTO feedback SELECT * FROM kept_feedback")
    for table in ("feedback", "messages"):
        op.execute(f"DROP TABLE kept_{table}")
