"""Activity of each tenant by hour: counts only, for 31 days."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "activity_hours",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("hour", sa.String(13), primary_key=True),
        sa.Column("measure", sa.String(40), primary_key=True),
        sa.Column("amount", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_activity_hours_hour", "activity_hours", ["hour"])
