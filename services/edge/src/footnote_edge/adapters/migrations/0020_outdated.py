"""Operations on outdated documents alone: the settings that their documents do not have."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the column."""
    op.add_column("operations", sa.Column("outdated_for", sa.String(64), nullable=False, server_default=""))
