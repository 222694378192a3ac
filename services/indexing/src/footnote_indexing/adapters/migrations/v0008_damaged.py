"""An index of the few revisions whose rows are not those that were written, which edge asks for every two seconds."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_NAME = "indexing_revisions_damaged"
_WHERE = sa.text("chunks_stored != chunks_expected")


def upgrade() -> None:
    """Create it."""
    op.create_index(_NAME, "indexing_revisions", ["updated_at"], sqlite_where=_WHERE, postgresql_where=_WHERE)
