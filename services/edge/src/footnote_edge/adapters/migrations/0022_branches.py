"""Versions of questions that an edit puts aside, with the messages after them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the columns."""
    for name in ("branch", "fork"):
        op.add_column("messages", sa.Column(name, sa.String(40), nullable=True))


def downgrade() -> None:
    """Delete messages put aside, which earlier releases would show in their conversation, and drop the columns."""
    op.execute("DELETE FROM messages WHERE branch IS NOT NULL")
    for name in ("branch", "fork"):
        op.drop_column("messages", name)
