"""Single answers that their users share inside the tenant."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

_WHOLE = sa.text("answer_id IS NULL")
_COLUMNS = "id, conversation_id, collection_ids, share_time"


def upgrade() -> None:
    """Rebuild the table, since SQLite cannot drop the constraint that allows one share of a conversation."""
    _rebuild(
        "answer_shares",
        sa.Column("conversation_id", sa.String(40), _conversation(), nullable=False),
        sa.Column(
            "answer_id", sa.String(40), sa.ForeignKey("messages.id", ondelete="CASCADE"), nullable=True, unique=True
        ),
    )
    op.create_index("ix_shares_conversation_id", "shares", ["conversation_id"])
    op.create_index(
        "shares_of_conversations", "shares", ["conversation_id"],
        unique=True, sqlite_where=_WHOLE, postgresql_where=_WHOLE,
    )  # fmt: skip


def _conversation() -> sa.ForeignKey:
    return sa.ForeignKey("conversations.id", ondelete="CASCADE")


def _rebuild(name: str, *columns: sa.Column[str]) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.String(40), primary_key=True),
        *columns,
        sa.Column("collection_ids", sa.Text, nullable=False),
        sa.Column("share_time", sa.DateTime(timezone=True), nullable=False),
    )
    op.execute(f"INSERT INTO {name} ({_COLUMNS}) SELECT {_COLUMNS} FROM shares")
    op.drop_table("shares")
    op.rename_table(name, "shares")
