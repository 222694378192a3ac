"""Trace requests between replicas of edge: short-lived, so the PostgreSQL table is unlogged."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "trace_questions",
        sa.Column("question", sa.String(40), primary_key=True),
        sa.Column("addressee", sa.String(256), primary_key=True),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=True),
        prefixes=["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else [],
    )
