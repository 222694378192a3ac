"""Revisions that were cancelled, and must not be written again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Mark them."""
    op.add_column("indexing_revisions", sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()))
