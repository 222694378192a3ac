"""What was noticed in a reading with kind, count and places."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("reading_warnings", sa.JSON, nullable=False, server_default="[]"))
