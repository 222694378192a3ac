"""Changes in the order of their time, and what was deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Apply."""
    op.create_index("documents_by_change", "documents", ["collection_id", "update_time", "id"])
    op.create_table(
        "deleted_documents",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.Text, nullable=False),
        sa.Column("collection_id", sa.Text, nullable=False),
        sa.Column("delete_time", sa.BigInteger, nullable=False),
    )
    op.create_index("deleted_documents_by_time", "deleted_documents", ["collection_id", "delete_time", "id"])
    op.create_index("deleted_documents_by_age", "deleted_documents", ["delete_time"])
