"""An index of the messages that memory search lacks."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_OPEN = sa.text("embed_time IS NULL AND superseded_by IS NULL AND conversation_id IS NOT NULL")


def upgrade() -> None:
    """Create the index."""
    op.create_index("messages_unremembered", "messages", ["create_time"], sqlite_where=_OPEN, postgresql_where=_OPEN)
