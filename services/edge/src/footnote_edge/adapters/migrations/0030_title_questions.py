"""Which question a conversation's title was made of: the title goes with it."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add the column; it stays empty for conversations that have a title already, which may be their users' own."""
    op.add_column("conversations", sa.Column("titled_of", sa.String(40), nullable=True))
