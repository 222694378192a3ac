"""Vectors that follow after their rows are searched."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_REVISIONS = "indexing_revisions"


def upgrade() -> None:
    """Add the number of owed vectors, and the lease of the worker that computes them."""
    op.add_column(_REVISIONS, sa.Column("vectors_owed", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column(_REVISIONS, sa.Column("claimed_until", sa.BigInteger, nullable=True))
