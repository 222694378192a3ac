"""Usage per user and day."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "user_usage_days",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("user_id", sa.String(256), primary_key=True),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("embedding_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
    )
