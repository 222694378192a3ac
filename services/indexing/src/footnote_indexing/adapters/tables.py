"""The tables of the indexing service."""

import sqlalchemy as sa

metadata = sa.MetaData()

# Times are Unix milliseconds: SQLite has no time type, and people do not read these rows. Index versions are stored
# under their earlier name, "generation": a rename would break the replicas of the earlier release during an upgrade.
collections = sa.Table(
    "indexing_collections",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("tenant_id", sa.String(256), nullable=False),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("owner_id", sa.String(256), nullable=False),
    sa.Column("visibility", sa.Integer, nullable=False),
    # The namespace in which its name is unique: the owner for a private one, "" for tenant-wide ones.
    sa.Column("holder", sa.String(256), nullable=False),
    sa.Column("generation", sa.Integer, nullable=False, key="index_version"),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),  # types.v1.Collection: description, metadata, settings
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    # About to be deleted: visible to services only. It has a holder of its own, so that its name is free.
    sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("tenant_id", "holder", "name", name="indexing_collections_by_name"),
)

# Grantees of private collections, for queries; the collection's `data` holds the same.
grants = sa.Table(
    "indexing_grants",
    metadata,
    sa.Column("collection_id", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(8), primary_key=True),
    sa.Column("grantee", sa.String(256), primary_key=True),
    sa.Column("access", sa.Integer, nullable=False),
)
sa.Index("indexing_grants_by_grantee", grants.c.kind, grants.c.grantee)

index_versions = sa.Table(
    "indexing_generations",
    metadata,
    sa.Column("collection_id", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("tenant_id", sa.String(256), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("variant", sa.Integer, nullable=False),
    sa.Column("embedding", sa.LargeBinary, nullable=False),  # types.v1.EmbeddingSettings, dimensions filled in
    sa.Column("purge_at", sa.BigInteger, nullable=True, index=True),
)

revisions = sa.Table(
    "indexing_revisions",
    metadata,
    sa.Column("collection_id", sa.String(64), primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True, key="index_version"),
    sa.Column("document_id", sa.String(512), primary_key=True),
    sa.Column("revision", sa.BigInteger, primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("contextual_header", sa.Boolean, nullable=False),
    sa.Column("strategy", sa.Integer, nullable=False, server_default="0"),  # types.v1.ChunkingStrategy
    sa.Column("choice", sa.Integer, nullable=False, server_default="0"),  # types.v1.ChunkingChoice
    sa.Column("language", sa.String(16), nullable=False, server_default=""),
    sa.Column("chunks_expected", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("chunks_stored", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("characters", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("expire_at", sa.BigInteger, nullable=True, index=True),
    sa.Column("purge_at", sa.BigInteger, nullable=True, index=True),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    # Of a RETIRED one: it must not be written again, even by a later attempt.
    sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()),
    # Of a CURRENT one: the maximum number of rows without a vector, and the end of a worker's claim.
    sa.Column("vectors_owed", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("claimed_until", sa.BigInteger, nullable=True),
)
sa.Index("indexing_revisions_by_document", revisions.c.document_id)
sa.Index("indexing_revisions_by_state", revisions.c.collection_id, revisions.c.index_version, revisions.c.state)
# Indexes of few rows. Queries say the conditions in the same words, without parameters, or SQLite does not use them.
_DAMAGED = sa.text("chunks_stored != chunks_expected")
sa.Index("indexing_revisions_damaged", revisions.c.updated_at, sqlite_where=_DAMAGED, postgresql_where=_DAMAGED)
OWED = sa.text("vectors_owed > 0")
sa.Index(
    "indexing_revisions_owed",
    revisions.c.collection_id,
    revisions.c.index_version,
    revisions.c.document_id,
    sqlite_where=OWED,
    postgresql_where=OWED,
)
HIDDEN = sa.text("state != 'CURRENT'")
sa.Index(
    "indexing_revisions_hidden",
    revisions.c.collection_id,
    revisions.c.index_version,
    sqlite_where=HIDDEN,
    postgresql_where=HIDDEN,
)
