"""What a limit of documents or bytes counts, and the backlog, is read from an index."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Apply."""
    columns = ["tenant_id", "collection_id", "expire_time", "delete_time", "size_bytes", "replacement_bytes"]
    op.create_index("documents_counted", "documents", columns)
    op.create_index("documents_alive", "documents", ["state", "expire_time", "delete_time"])
