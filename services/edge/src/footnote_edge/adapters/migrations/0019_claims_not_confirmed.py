"""Renames the counts of unconfirmed claims to the verdict's current name."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_RENAME = sa.text("UPDATE activity_hours SET measure = :new WHERE measure = :old")


def upgrade() -> None:
    """Rename the counts."""
    op.execute(_RENAME.bindparams(old="claims_weak", new="claims_not_confirmed"))
