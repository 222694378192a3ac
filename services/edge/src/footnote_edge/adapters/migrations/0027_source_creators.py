"""What sources' creators may do: their runs write only where their creators may."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add the column; it stays empty for existing sources."""
    op.add_column("sources", sa.Column("creator", sa.LargeBinary, nullable=True))
