"""Conversations that their users share inside the tenant."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Create the table, and mark messages that are shared."""
    op.create_table(
        "shares",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column(
            "conversation_id",
            sa.String(40),
            sa.ForeignKey("conversations.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        sa.Column("collection_ids", sa.Text, nullable=False),
        sa.Column("share_time", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("messages", sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()))
