"""Documents and the files to delete."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "documents",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.Text, nullable=False),
        sa.Column("collection_id", sa.Text, nullable=False),
        sa.Column("owner_id", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("filename_folded", sa.Text, nullable=False),
        sa.Column("mime_type", sa.Text, nullable=False),
        sa.Column("document_type", sa.String(16), nullable=False),
        sa.Column("source_type", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("checksum", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("failure_reason", sa.String(32), nullable=False),
        sa.Column("failure_message", sa.Text, nullable=False),
        sa.Column("failure_hint", sa.Text, nullable=False),
        sa.Column("waiting_reason", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("indexed_revision", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("authors", sa.JSON, nullable=False),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("keywords", sa.JSON, nullable=False),
        sa.Column("page_count", sa.Integer, nullable=False),
        sa.Column("word_count", sa.BigInteger, nullable=False),
        sa.Column("char_count", sa.BigInteger, nullable=False),
        sa.Column("structure", sa.JSON, nullable=False),
        sa.Column("processing_strategy", sa.Text, nullable=False),
        sa.Column("chunks_expected", sa.BigInteger, nullable=False),
        sa.Column("chunks_stored", sa.BigInteger, nullable=False),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("create_time", sa.BigInteger, nullable=False),
        sa.Column("update_time", sa.BigInteger, nullable=False),
        sa.Column("index_time", sa.BigInteger),
        sa.Column("file_time", sa.BigInteger),
        sa.Column("expire_time", sa.BigInteger),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("blob_key", sa.Text, nullable=False),
        sa.Column("parsed_key", sa.Text, nullable=False),
    )
    op.create_index("documents_by_time", "documents", ["tenant_id", "create_time", "id"])
    op.create_index("documents_by_collection", "documents", ["tenant_id", "collection_id", "create_time", "id"])
    op.create_index("documents_by_checksum", "documents", ["tenant_id", "collection_id", "checksum"])
    op.create_index("documents_by_state", "documents", ["state", "create_time", "id"])
    op.create_index("documents_by_expiry", "documents", ["expire_time"])
    op.create_table(
        "doomed_blobs",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("due_time", sa.BigInteger, nullable=False),
    )
    op.create_index("doomed_blobs_by_time", "doomed_blobs", ["due_time"])
