"""Conversations, messages, feedback, known collections."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables."""
    time = sa.DateTime(timezone=True)
    op.create_table(
        "conversations",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("collections", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("create_time", time, nullable=False),
        sa.Column("update_time", time, nullable=False),
    )
    op.create_index("conversations_by_user", "conversations", ["tenant_id", "user_id", "update_time"])
    op.create_table(
        "messages",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column(
            "conversation_id", sa.String(40), sa.ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("role", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("create_time", time, nullable=False),
        sa.Column("embed_time", time, nullable=True),
    )
    op.create_index("ix_messages_conversation_id", "messages", ["conversation_id"])
    op.create_table(
        "feedback",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("message_id", sa.String(40), sa.ForeignKey("messages.id", ondelete="CASCADE"), nullable=False),
        sa.Column("citation", sa.Integer, nullable=False),
        sa.Column("rating", sa.Integer, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("create_time", time, nullable=False),
        sa.UniqueConstraint("message_id", "citation", "user_id", name="feedback_once"),
    )
    op.create_index("ix_feedback_tenant_id", "feedback", ["tenant_id"])
    op.create_table(
        "known_collections",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("user_id", sa.String(256), primary_key=True),
        sa.Column("name", sa.String(160), primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
