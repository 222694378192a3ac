"""Tables of tenants' limits and of their usage per day."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "tenant_limits",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("documents", sa.BigInteger, nullable=True),
        sa.Column("bytes", sa.BigInteger, nullable=True),
        sa.Column("collections", sa.BigInteger, nullable=True),
        sa.Column("tokens_per_day", sa.BigInteger, nullable=True),
        sa.Column("cost_per_day", sa.Float, nullable=True),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.String(256), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("embedding_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
    )
