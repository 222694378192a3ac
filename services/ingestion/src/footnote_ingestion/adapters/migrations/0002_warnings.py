"""What was noticed when a document was read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("warnings", sa.JSON, nullable=False, server_default="[]"))
