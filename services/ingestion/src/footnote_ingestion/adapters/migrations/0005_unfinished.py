"""Orders of lists, and marks of work on a document that a crash may have left half done."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_UNFINISHED = sa.text("delete_time IS NOT NULL OR relabelled IS NOT NULL")


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("delete_time", sa.BigInteger))
    op.add_column("documents", sa.Column("relabelled", sa.BigInteger))
    op.create_index("documents_unfinished", "documents", ["id"], sqlite_where=_UNFINISHED, postgresql_where=_UNFINISHED)
    # The order of code points on every database, whatever its own collation is.
    sqlite = op.get_bind().dialect.name == "sqlite"
    name = "filename_folded" if sqlite else sa.text('filename_folded COLLATE "C"')
    op.create_index("documents_by_name", "documents", ["tenant_id", "collection_id", name, "id"])
    op.create_index("documents_by_size", "documents", ["tenant_id", "collection_id", "size_bytes", "id"])
