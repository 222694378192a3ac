"""Sources, their items, and the operations that synchronise them."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_SYNCHRONISING = sa.text("kind = 3 AND end_time IS NULL")


def upgrade() -> None:
    """Create the tables, and the columns of operations for sources."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "sources",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("user_id", sa.String(256), nullable=False),
        sa.Column("collection_id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(400), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("secrets", sa.LargeBinary, nullable=False),
        sa.Column("secret_names", sa.Text, nullable=False),
        sa.Column("secret_key", sa.String(16), nullable=False),
        sa.Column("interval_seconds", sa.Integer, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("deleting", sa.Boolean, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("error", sa.LargeBinary, nullable=False),
        sa.Column("warnings", sa.Text, nullable=False),
        sa.Column("etag", sa.String(40), nullable=False),
        sa.Column("create_time", moment, nullable=False),
        sa.Column("update_time", moment, nullable=False),
        sa.Column("in_step_time", moment, nullable=True),
        sa.Column("away_since", moment, nullable=True),
        sa.Column("next_time", moment, nullable=True),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("run_token", sa.String(40), nullable=False),
        sa.Column("run_cursor", sa.Text, nullable=False),
        sa.Column("run_listed", sa.Integer, nullable=False),
        sa.UniqueConstraint("tenant_id", "collection_id", "name", name="sources_named_once"),
    )
    op.create_index("sources_by_time", "sources", ["tenant_id", "create_time", "id"])
    op.create_index("ix_sources_next_time", "sources", ["next_time"])
    op.create_table(
        "source_items",
        sa.Column("source_id", sa.String(40), sa.ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("memo", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=True),
        sa.Column("listed_version", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("document_id", sa.String(64), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("retry_time", moment, nullable=True),
        sa.Column("sync_time", moment, nullable=True),
        sa.Column("seen_run", sa.String(40), nullable=False),
    )
    op.create_index("source_items_by_state", "source_items", ["source_id", "state", "key"])
    op.create_index("source_items_by_hash", "source_items", ["source_id", "sha256"])
    op.create_index("ix_source_items_document_id", "source_items", ["document_id"])
    op.add_column("operations", sa.Column("source_id", sa.String(40), nullable=False, server_default=""))
    op.create_index(
        "operations_synchronising", "operations", ["source_id"],
        unique=True, sqlite_where=_SYNCHRONISING, postgresql_where=_SYNCHRONISING,
    )  # fmt: skip
