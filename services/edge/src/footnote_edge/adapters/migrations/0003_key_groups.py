"""Groups of API keys."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the groups, a JSON list."""
    op.add_column("api_keys", sa.Column("groups", sa.Text, nullable=False, server_default="[]"))
