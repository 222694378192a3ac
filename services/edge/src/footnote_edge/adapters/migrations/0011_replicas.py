"""Heartbeats of replicas, so that others take over the jobs of a dead one."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "replicas",
        sa.Column("name", sa.String(256), primary_key=True),
        sa.Column("beat", sa.BigInteger, nullable=False),
    )
