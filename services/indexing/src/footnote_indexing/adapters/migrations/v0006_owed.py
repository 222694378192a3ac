"""Vectors that follow after their rows are searched."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_REVISIONS = "indexing_revisions"


def upgrade() -> None:
    """Add how many are owed, and until when somebody is at work on them."""
    op.add_column(_REVISIONS, sa.Column("vectors_owed", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column(_REVISIONS, sa.Column("claimed_until", sa.BigInteger, nullable=True))
