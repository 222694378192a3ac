"""Versions of questions that an edit puts aside, with the messages after them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the columns."""
    for name in ("branch", "fork"):
        op.add_column("messages", sa.Column(name, sa.String(40), nullable=True))
