"""Collections out of sight while they are deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the mark."""
    op.add_column("indexing_collections", sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()))
