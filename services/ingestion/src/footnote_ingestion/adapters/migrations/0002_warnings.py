"""What was noticed when a document was read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("warnings", sa.JSON, nullable=False, server_default="[]"))


def downgrade() -> None:
    """Take back."""
    op.drop_column("documents", "warnings")
