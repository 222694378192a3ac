"""Conversations whose texts stay on this machine."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the mark."""
    op.add_column("conversations", sa.Column("local_only", sa.Boolean, nullable=False, server_default=sa.false()))
