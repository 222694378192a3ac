"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create collections, generations and revisions."""
    op.create_table(
        "indexing_collections",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("owner_id", sa.String(256), nullable=False),
        sa.Column("visibility", sa.Integer, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant_id", "name"),
    )
    op.create_table(
        "indexing_generations",
        sa.Column("collection_id", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("tenant_id", sa.String(256), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("variant", sa.Integer, nullable=False),
        sa.Column("embedding", sa.LargeBinary, nullable=False),
        sa.Column("purge_at", sa.BigInteger, nullable=True, index=True),
    )
    op.create_table(
        "indexing_revisions",
        sa.Column("collection_id", sa.String(64), primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True),
        sa.Column("document_id", sa.String(512), primary_key=True),
        sa.Column("revision", sa.BigInteger, primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("contextual_header", sa.Boolean, nullable=False),
        sa.Column("strategy", sa.String(256), nullable=False, server_default=""),
        sa.Column("language", sa.String(16), nullable=False, server_default=""),
        sa.Column("chunks_expected", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("chunks_stored", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("characters", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("expire_at", sa.BigInteger, nullable=True, index=True),
        sa.Column("purge_at", sa.BigInteger, nullable=True, index=True),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("indexing_revisions_by_document", "indexing_revisions", ["document_id"])
    op.create_index("indexing_revisions_by_state", "indexing_revisions", ["collection_id", "generation", "state"])
