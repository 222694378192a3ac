"""The settings that a document was indexed with, so that outdated ones are found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("settings_digest", sa.String(64), nullable=False, server_default=""))
