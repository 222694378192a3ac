"""Items of sources do not expire by their collection's time to live, which earlier versions gave them."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Apply; their mark has edge change their chunks as well."""
    table = sa.table(
        "documents", *(sa.column(name) for name in ("metadata", "expire_time", "version", "relabelled", "update_time"))
    )
    of_source = sa.cast(table.c.metadata, sa.Text).like('%"footnote\\_source": {%', escape="\\")
    changed = table.c.version + 1
    values = {"expire_time": None, "version": changed, "relabelled": changed, "update_time": time.time_ns() // 1000}
    op.execute(sa.update(table).where(table.c.expire_time.is_not(None), of_source).values(values))
