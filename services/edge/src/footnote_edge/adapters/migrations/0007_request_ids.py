"""Request ids, which identify repeated calls."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "request_ids",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("user_id", sa.String(256), primary_key=True),
        sa.Column("request_id", sa.String(64), primary_key=True),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("seed", sa.String(40), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False, index=True),
    )
