"""Long-running operations and their documents."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the tables."""
    counts = ("total", "done", "failed", "skipped", "chunks")
    op.create_table(
        "operations",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("cancelling", sa.Boolean, nullable=False),
        sa.Column("collection_id", sa.String(64), nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("failed_only", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in counts),
        sa.Column("error", sa.LargeBinary, nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end_time", sa.DateTime(timezone=True), nullable=True, index=True),
    )
    op.create_index("operations_by_time", "operations", ["tenant_id", "create_time", "id"])
    deleting = sa.text("kind = 2 AND end_time IS NULL")
    op.create_index(
        "operations_deleting",
        "operations",
        ["collection_id"],
        unique=True,
        sqlite_where=deleting,
        postgresql_where=deleting,
    )
    op.create_table(
        "operation_documents",
        sa.Column("operation_id", sa.String(40), sa.ForeignKey("operations.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document_id", sa.String(64), primary_key=True),
        sa.Column("collection_id", sa.String(64), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("begun", sa.Boolean, nullable=False),
        sa.Column("outcome", sa.Integer, nullable=False),
    )
    op.create_index("operation_documents_by_outcome", "operation_documents", ["operation_id", "outcome"])
