"""The documents that each answer uses, so that deleted ones are removed from answers."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "message_documents",
        sa.Column("message_id", sa.String(40), sa.ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document_id", sa.String(64), primary_key=True, index=True),
    )
