"""What a document waits for and how it was cut as values; the digest of its bytes under its name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_STRATEGIES = ("FIXED_WINDOW", "PARAGRAPH", "HEADING_SECTION", "SEMANTIC", "TABLE")
_CHOICES = {
    "CONFIGURED": "%: as the collection sets it",
    "TABLE_FOUND": "%: % table rows%",
    "HEADINGS_FOUND": "%: % headings%",
    "PARAGRAPHS_FOUND": "%: % paragraphs%",
    "NO_STRUCTURE": "%: text without structure%",
}
_WAITING = {"INGESTION_UNAVAILABLE": "ingestion unavailable", "INDEXING_UNAVAILABLE": "indexing unavailable"}


def upgrade() -> None:
    """Apply."""
    op.drop_index("documents_by_checksum", "documents")
    op.execute("ALTER TABLE documents RENAME COLUMN checksum TO sha256")
    op.create_index("documents_by_sha256", "documents", ["tenant_id", "collection_id", "sha256"])
    for name in ("chunking_strategy", "chunking_choice"):
        op.add_column("documents", sa.Column(name, sa.String(32), nullable=False, server_default=""))
    names = ("processing_strategy", "chunking_strategy", "chunking_choice", "waiting_reason")
    table = sa.table("documents", *(sa.column(name) for name in names))
    words = table.c.processing_strategy
    for strategy in _STRATEGIES:
        named = sa.or_(words == strategy, words.like(f"{strategy}:%"))
        op.execute(sa.update(table).where(named).values(chunking_strategy=strategy))
    for choice, like in _CHOICES.items():
        op.execute(sa.update(table).where(words.like(like)).values(chunking_choice=choice))
    for waiting, prose in _WAITING.items():
        op.execute(sa.update(table).where(table.c.waiting_reason == prose).values(waiting_reason=waiting))
    op.drop_column("documents", "processing_strategy")
