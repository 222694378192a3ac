"""Documents in the groups of a replica, so that others leave them to it while it lives."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "group_claims",
        sa.Column("document_id", sa.String(256), primary_key=True),
        sa.Column("replica", sa.String(256), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_group_claims_replica", "group_claims", ["replica"])
