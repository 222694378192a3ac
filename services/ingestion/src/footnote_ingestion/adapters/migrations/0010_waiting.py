"""What a document waits for, in the words of the service that fails, with the attempts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Apply."""
    op.add_column("documents", sa.Column("waiting_message", sa.Text, nullable=False, server_default=""))
    op.add_column("documents", sa.Column("waiting_attempts", sa.Integer, nullable=False, server_default="0"))
    op.add_column("documents", sa.Column("next_attempt_time", sa.BigInteger, nullable=True))
