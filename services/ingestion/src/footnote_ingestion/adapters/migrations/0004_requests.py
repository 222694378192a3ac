"""Uploads by their request ids."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "upload_requests",
        sa.Column("tenant_id", sa.Text, primary_key=True),
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("request_id", sa.String(64), primary_key=True),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("document_id", sa.String(40), nullable=False),
        sa.Column("duplicate", sa.Integer, nullable=False),
        sa.Column("merged", sa.Integer, nullable=False),
        sa.Column("create_time", sa.BigInteger, nullable=False),
    )
    op.create_index("upload_requests_by_age", "upload_requests", ["create_time"])
