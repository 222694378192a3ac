"""Which embedder made a message's vector: after a change of the default one, memory embeds the message again."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the column; it stays empty for messages that are embedded already."""
    op.add_column("messages", sa.Column("embedder", sa.Text, nullable=True))
