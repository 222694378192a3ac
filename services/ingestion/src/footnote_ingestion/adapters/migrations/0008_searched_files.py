"""The file that searches see is kept while a newer revision has another one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("replacement", sa.JSON))
    op.add_column("documents", sa.Column("replacement_sha256", sa.String(64), nullable=False, server_default=""))
    op.add_column("documents", sa.Column("searched_key", sa.Text, nullable=False, server_default=""))
    for name, begins in (("replacement_bytes", "0"), ("first_revision", "1"), ("last_revision", "0")):
        op.add_column("documents", sa.Column(name, sa.BigInteger, nullable=False, server_default=begins))
    op.create_index("documents_by_replacement", "documents", ["tenant_id", "collection_id", "replacement_sha256"])
    # Which earlier revisions had the bytes that are there now is not known: of them nothing is claimed.
    op.execute("UPDATE documents SET first_revision = revision")
