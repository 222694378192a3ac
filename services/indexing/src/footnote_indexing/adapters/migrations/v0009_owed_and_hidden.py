"""Indexes of the few revisions that lack vectors or are not searched, which are asked for every second."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_REVISIONS = "indexing_revisions"
_OWED = sa.text("vectors_owed > 0")
_HIDDEN = sa.text("state != 'CURRENT'")


def upgrade() -> None:
    """Create them."""
    for name, columns, where in (
        ("indexing_revisions_owed", ["collection_id", "generation", "document_id"], _OWED),
        ("indexing_revisions_hidden", ["collection_id", "generation"], _HIDDEN),
    ):
        op.create_index(name, _REVISIONS, columns, sqlite_where=where, postgresql_where=where)
