"""The SQLAlchemy tables. Times are microseconds since 1970 in UTC; lists and structures are JSON."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, MetaData, String, Table, Text, text

metadata = MetaData()

documents = Table(
    "documents",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("collection_id", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("filename_folded", Text, nullable=False),
    Column("mime_type", Text, nullable=False),
    Column("document_type", String(16), nullable=False),
    Column("source_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("failure_reason", String(32), nullable=False, default=""),
    Column("failure_message", Text, nullable=False, default=""),
    Column("failure_hint", Text, nullable=False, default=""),
    Column("waiting_reason", Text, nullable=False, default=""),
    Column("revision", BigInteger, nullable=False),
    Column("indexed_revision", BigInteger, nullable=False, default=0),
    Column("attempts", Integer, nullable=False, default=0),
    Column("title", Text, nullable=False, default=""),
    Column("authors", JSON, nullable=False),
    Column("language", String(16), nullable=False, default=""),
    Column("keywords", JSON, nullable=False),
    Column("page_count", Integer, nullable=False, default=0),
    Column("word_count", BigInteger, nullable=False, default=0),
    Column("char_count", BigInteger, nullable=False, default=0),
    Column("structure", JSON, nullable=False),
    Column("chunking_strategy", String(32), nullable=False, default=""),
    Column("chunking_choice", String(32), nullable=False, default=""),
    Column("chunks_expected", BigInteger, nullable=False, default=0),
    Column("chunks_stored", BigInteger, nullable=False, default=0),
    Column("tags", JSON, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Column("update_time", BigInteger, nullable=False),
    Column("index_time", BigInteger),
    Column("file_time", BigInteger),
    Column("expire_time", BigInteger),
    Column("version", BigInteger, nullable=False),
    Column("blob_key", Text, nullable=False),
    Column("parsed_key", Text, nullable=False, default=""),
    # The columns filename to sha256 describe the searched file. While the newest revision has another file, that is
    # here, and `blob_key` is its key.
    Column("replacement", JSON),
    Column("replacement_sha256", String(64), nullable=False, server_default=""),
    Column("replacement_bytes", BigInteger, nullable=False, server_default="0"),
    Column("searched_key", Text, nullable=False, server_default=""),
    Column("first_revision", BigInteger, nullable=False, server_default="1"),
    Column("last_revision", BigInteger, nullable=False, server_default="0"),
    Column("warnings", JSON, nullable=False, server_default="[]"),
    Column("reading_warnings", JSON, nullable=False, server_default="[]"),
    # Of the searched revision; empty if it was indexed before this column existed.
    Column("settings_digest", String(64), nullable=False, default="", server_default=""),
    # While waiting for a service: its message, the number of attempts, and the time of the next.
    Column("waiting_message", Text, nullable=False, default="", server_default=""),
    Column("waiting_attempts", Integer, nullable=False, default=0, server_default="0"),
    Column("next_attempt_time", BigInteger),
    # When its deletion began: from then on it is hidden, and its chunks can be removed.
    Column("delete_time", BigInteger),
    # The version that last changed the chunks' labels; null when the chunks are up to date.
    Column("relabelled", BigInteger),
    Index("documents_by_time", "tenant_id", "create_time", "id"),
    Index("documents_by_collection", "tenant_id", "collection_id", "create_time", "id"),
    Index("documents_by_sha256", "tenant_id", "collection_id", "sha256"),
    Index("documents_by_replacement", "tenant_id", "collection_id", "replacement_sha256"),
    Index("documents_by_change", "collection_id", "update_time", "id"),
    Index("documents_by_state", "state", "create_time", "id"),
    Index("documents_by_expiry", "expire_time"),
    # On PostgreSQL with collation "C": code point order, as in SQLite.
    Index("documents_by_name", "tenant_id", "collection_id", "filename_folded", "id"),
    Index("documents_by_size", "tenant_id", "collection_id", "size_bytes", "id"),
    # All that a limit or the backlog counts, so that no row is read for it.
    Index("documents_alive", "state", "expire_time", "delete_time"),
    Index(
        "documents_counted",
        *("tenant_id", "collection_id", "expire_time", "delete_time", "size_bytes", "replacement_bytes"),
    ),
)

_UNFINISHED = text("delete_time IS NOT NULL OR relabelled IS NOT NULL")
Index("documents_unfinished", documents.c.id, sqlite_where=_UNFINISHED, postgresql_where=_UNFINISHED)

# Keys to delete when due: added before a file is stored, removed together with the insert of the row that refers to it.
# So a crash at any moment leaves no orphaned file.
doomed_blobs = Table(
    "doomed_blobs",
    metadata,
    Column("key", Text, primary_key=True),
    Column("due_time", BigInteger, nullable=False),
    Index("doomed_blobs_by_time", "due_time"),
)

# Deleted documents, for watchers that were disconnected meanwhile; ids only, and not for long.
deleted_documents = Table(
    "deleted_documents",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("collection_id", Text, nullable=False),
    Column("delete_time", BigInteger, nullable=False),
    Index("deleted_documents_by_time", "collection_id", "delete_time", "id"),
    Index("deleted_documents_by_age", "delete_time"),
)

# Results of uploads with a request id, so that a repeated request gets the same answer; for a day.
upload_requests = Table(
    "upload_requests",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("request_id", String(64), primary_key=True),
    Column("content", String(64), nullable=False),
    Column("document_id", String(40), nullable=False),
    Column("duplicate", Integer, nullable=False),
    Column("merged", Integer, nullable=False),
    Column("create_time", BigInteger, nullable=False),
    Index("upload_requests_by_age", "create_time"),
)
