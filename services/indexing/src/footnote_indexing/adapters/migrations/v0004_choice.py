"""How a revision was cut, as values."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_REVISIONS = "indexing_revisions"


def upgrade() -> None:
    """Replace the words by two numbers; of what was cut before they are unknown."""
    op.drop_column(_REVISIONS, "strategy")
    op.add_column(_REVISIONS, sa.Column("strategy", sa.Integer, nullable=False, server_default="0"))
    op.add_column(_REVISIONS, sa.Column("choice", sa.Integer, nullable=False, server_default="0"))
