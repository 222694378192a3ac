"""Runs of golden questions that collections keep."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "evaluations",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("collection_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("questions", sa.Text, nullable=False),
    )
    op.create_index("ix_evaluations_collection_id", "evaluations", ["collection_id"])
    op.create_index("ix_evaluations_create_time", "evaluations", ["create_time"])
