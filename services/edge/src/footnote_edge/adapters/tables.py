"""The edge's own tables: conversations, messages, feedback, and its memory of collections."""

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from footnote_edge.adapters.earlier_payloads import VERSION

WHOLE = text("answer_id IS NULL")
UNREMEMBERED = text("embed_time IS NULL AND superseded_by IS NULL AND conversation_id IS NOT NULL")


class Base(DeclarativeBase):
    """Declarative base of the edge's tables."""


class ConversationRow(Base):
    """A conversation of one user; `topic` is the search text for follow-up questions."""

    __tablename__ = "conversations"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(256))
    title: Mapped[str] = mapped_column(Text, default="")
    titled_of: Mapped[str | None] = mapped_column(String(40), default=None)
    """The question that the title was made of; None for a title of its user's."""
    collections: Mapped[str] = mapped_column(Text, default="[]")
    """The names that the user gave to its collections by id, as JSON; a list of names in rows of an earlier version."""
    topic: Mapped[str] = mapped_column(Text, default="")
    local_only: Mapped[bool] = mapped_column(default=False)
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    update_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))

    __table_args__ = (Index("conversations_by_user", "tenant_id", "user_id", "update_time"),)


class MessageRow(Base):
    """A message or a standalone answer; `payload` is a footnote.edge.v1.ConversationMessage."""

    __tablename__ = "messages"

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    conversation_id: Mapped[str | None] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True, default=None
    )
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(256))
    role: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    payload: Mapped[bytes] = mapped_column(LargeBinary, default=b"")
    payload_version: Mapped[int] = mapped_column(default=VERSION, server_default="0")
    """Format of the payload, `earlier_payloads.VERSION`; 0 if it could not be translated."""
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    embed_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    embedder: Mapped[str | None] = mapped_column(Text, default=None)
    """Which embedder made its vector; None where memory holds none, or indexing did not name it."""
    place: Mapped[int | None] = mapped_column(default=None)
    """Position of an answer that replaced another; None means its own `sequence`."""
    question_id: Mapped[str | None] = mapped_column(String(40), index=True, default=None)
    superseded_by: Mapped[str | None] = mapped_column(String(40), default=None)
    topic: Mapped[str] = mapped_column(Text, default="", server_default="")
    """For an answer: the conversation's topic after it."""
    folded: Mapped[str] = mapped_column(Text, default="", server_default="")
    """The case-folded text, for search."""
    asked: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)
    """For a question: its footnote.edge.v1.AskRequest, without fields that concern only that call."""
    branch: Mapped[str | None] = mapped_column(String(40), default=None)
    """For a message that an edit put aside: the question with which it was; None for one in its conversation."""
    fork: Mapped[str | None] = mapped_column(String(40), default=None)
    """For a question: the same value as the other versions of it, if an edit kept any."""
    shared: Mapped[bool] = mapped_column(default=False, server_default=false())
    """It was in its conversation when that was shared last, and has not left it since."""
    text_hash: Mapped[str | None] = mapped_column(String(64), default=None)
    """For an answer: the hash that identifies its text when a caller sends it back as history."""

    __table_args__ = (
        Index("messages_by_text", "text_hash"),
        Index("messages_unremembered", "create_time", sqlite_where=UNREMEMBERED, postgresql_where=UNREMEMBERED),
    )


class ShareRow(Base):
    """A conversation that its user shares: those of its messages that are `shared`; or one answer of it."""

    __tablename__ = "shares"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    answer_id: Mapped[str | None] = mapped_column(
        ForeignKey("messages.id", ondelete="CASCADE"), unique=True, default=None
    )
    """The answer that is shared with its question; None where the conversation is."""
    collection_ids: Mapped[str] = mapped_column(Text)
    """The collections that the conversation asked when it was shared, as JSON: a reader must see all of them."""
    share_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))

    __table_args__ = (
        Index(
            "shares_of_conversations", "conversation_id", unique=True,
            sqlite_where=WHOLE, postgresql_where=WHOLE,
        ),
    )  # fmt: skip


class MessageOriginRow(Base):
    """A document that a message derives from, directly or through earlier messages; an empty id means unknown."""

    __tablename__ = "message_origins"

    message_id: Mapped[str] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(256), primary_key=True, index=True)
    document_id: Mapped[str] = mapped_column(String(256), primary_key=True, index=True)
    revision: Mapped[int] = mapped_column(default=0)


class ForgottenRow(Base):
    """What is deleted, of which nothing derived is kept: the id of a document or collection, or an answer's hash.

    For a row with own vectors `origins.row_key`, kept for a day.
    """

    __tablename__ = "forgotten"

    id: Mapped[str] = mapped_column(String(256), primary_key=True)
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)


class FeedbackRow(Base):
    """One reader's verdict on an answer (citation 0) or on one of its citations; a new one replaces the old."""

    __tablename__ = "feedback"

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    tenant_id: Mapped[str] = mapped_column(String(256), index=True)
    user_id: Mapped[str] = mapped_column(String(256))
    answer_id: Mapped[str] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    citation: Mapped[int]
    rating: Mapped[int]
    comment: Mapped[str] = mapped_column(Text, default="")
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))

    __table_args__ = (UniqueConstraint("answer_id", "citation", "user_id", name="feedback_once"),)


class RequestIdRow(Base):
    """A repeatable call: the hash of its request, and the seed of the ids that it created."""

    __tablename__ = "request_ids"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    request_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[str] = mapped_column(String(64))
    seed: Mapped[str] = mapped_column(String(40))
    made: Mapped[bool] = mapped_column(default=False, server_default=false())
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)


class KnownCollectionRow(Base):
    """A collection as last seen, so that edge accepts uploads while indexing is down."""

    __tablename__ = "known_collections"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    name: Mapped[str] = mapped_column(String(160), primary_key=True)
    payload: Mapped[bytes] = mapped_column(LargeBinary)


class ApiKeyRow(Base):
    """An API key; of its secret the row holds only the hash."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    hash: Mapped[str] = mapped_column(String(64))
    tenant_id: Mapped[str] = mapped_column(String(256), index=True)
    user_id: Mapped[str] = mapped_column(String(256))
    role: Mapped[int]
    groups: Mapped[str] = mapped_column(Text, default="[]", server_default="[]")
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    expire_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    revoke_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)


class TenantLimitsRow(Base):
    """An operator's limits for one tenant; None means the deployment's limit, 0 means unlimited."""

    __tablename__ = "tenant_limits"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    documents: Mapped[int | None] = mapped_column(BigInteger, default=None)
    bytes: Mapped[int | None] = mapped_column(BigInteger, default=None)
    collections: Mapped[int | None] = mapped_column(BigInteger, default=None)
    tokens_per_day: Mapped[int | None] = mapped_column(BigInteger, default=None)
    cost_per_day: Mapped[float | None] = mapped_column(default=None)
    update_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class UsageRow(Base):
    """A tenant's usage on one day in UTC, as 2026-11-22."""

    __tablename__ = "usage_days"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    embedding_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    cost_usd: Mapped[float] = mapped_column(default=0.0)


class UserUsageRow(Base):
    """The usage of one user on one day in UTC; the tenant's own row holds the sum."""

    __tablename__ = "user_usage_days"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    embedding_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    cost_usd: Mapped[float] = mapped_column(default=0.0)


class ActivityRow(Base):
    """Number of times a tenant did something within an hour in UTC, as 2026-11-22T15."""

    __tablename__ = "activity_hours"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    hour: Mapped[str] = mapped_column(String(13), primary_key=True, index=True)
    measure: Mapped[str] = mapped_column(String(40), primary_key=True)
    amount: Mapped[int] = mapped_column(BigInteger)


DELETING = text("kind = 2 AND end_time IS NULL")
"""Collection deletions that have not ended; 2 is OPERATION_KIND_DELETE_COLLECTION."""


SYNCHRONISING = text("kind = 3 AND end_time IS NULL")
"""Source synchronisations that have not ended; 3 is OPERATION_KIND_SYNC_SOURCE."""


class OperationRow(Base):
    """A long-running operation and its state; `cancelling` asks it to end."""

    __tablename__ = "operations"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(256))
    kind: Mapped[int]
    state: Mapped[int]
    cancelling: Mapped[bool] = mapped_column(default=False)
    collection_id: Mapped[str] = mapped_column(String(64), default="")
    source_id: Mapped[str] = mapped_column(String(40), default="", server_default="")
    whole: Mapped[bool] = mapped_column(default=False)
    failed_only: Mapped[bool] = mapped_column(default=False)
    outdated_for: Mapped[str] = mapped_column(String(64), default="", server_default="")
    total: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    skipped: Mapped[int] = mapped_column(default=0)
    chunks: Mapped[int] = mapped_column(default=0)
    error: Mapped[bytes] = mapped_column(LargeBinary, default=b"")
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    end_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None, index=True)

    __table_args__ = (
        Index("operations_by_time", "tenant_id", "create_time", "id"),
        # Of two simultaneous deletions of one collection, the second call joins the first.
        Index("operations_deleting", "collection_id", unique=True, sqlite_where=DELETING, postgresql_where=DELETING),
        # Prevents two replicas from synchronising one source at the same time.
        Index(
            "operations_synchronising", "source_id", unique=True,
            sqlite_where=SYNCHRONISING, postgresql_where=SYNCHRONISING,
        ),
    )  # fmt: skip


class OperationDocumentRow(Base):
    """A document of an operation: its revision before or, once begun, after; and the outcome."""

    __tablename__ = "operation_documents"

    operation_id: Mapped[str] = mapped_column(ForeignKey("operations.id", ondelete="CASCADE"), primary_key=True)
    document_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(64))
    revision: Mapped[int]
    begun: Mapped[bool] = mapped_column(default=False)
    outcome: Mapped[int] = mapped_column(default=0)

    __table_args__ = (Index("operation_documents_by_outcome", "operation_id", "outcome"),)


class SourceRow(Base):
    """A source that a collection mirrors; `secrets` are encrypted, `run_token` fences off other runs."""

    __tablename__ = "sources"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(256))
    collection_id: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(400))
    kind: Mapped[str] = mapped_column(String(64))
    settings: Mapped[str] = mapped_column(Text, default="{}")
    secrets: Mapped[bytes] = mapped_column(LargeBinary, default=b"")
    secret_names: Mapped[str] = mapped_column(Text, default="[]")
    secret_key: Mapped[str] = mapped_column(String(16), default="")
    """Identifies the key that encrypted `secrets`: the beginning of its hash."""
    interval_seconds: Mapped[int] = mapped_column(default=3600)
    paused: Mapped[bool] = mapped_column(default=False)
    deleting: Mapped[bool] = mapped_column(default=False)
    state: Mapped[int] = mapped_column(default=1)
    error: Mapped[bytes] = mapped_column(LargeBinary, default=b"")
    warnings: Mapped[str] = mapped_column(Text, default="[]")
    etag: Mapped[str] = mapped_column(String(40))
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    update_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    in_step_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    away_since: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    next_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None, index=True)
    run_id: Mapped[str] = mapped_column(String(40), default="")
    """The operation that listed the source last."""
    run_token: Mapped[str] = mapped_column(String(40), default="")
    run_cursor: Mapped[str] = mapped_column(Text, default="")
    run_listed: Mapped[int] = mapped_column(default=0)
    """State of that operation's listing: 0 in progress, 1 complete, 2 partial."""
    creator: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)

    __table_args__ = (
        Index("sources_by_time", "tenant_id", "create_time", "id"),
        UniqueConstraint("tenant_id", "collection_id", "name", name="sources_named_once"),
    )


class SourceItemRow(Base):
    """An item of a source: the state of its document, and of the last listing."""

    __tablename__ = "source_items"

    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of `item`, which may be long."""
    item: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    address: Mapped[str] = mapped_column(Text, default="")
    memo: Mapped[str] = mapped_column(Text, default="{}")
    """Private notes of the source kind about the item, as JSON."""
    owner: Mapped[str] = mapped_column(Text, default="")
    groups: Mapped[str] = mapped_column(Text, default="[]")
    size: Mapped[int | None] = mapped_column(BigInteger, default=None)
    listed_version: Mapped[str] = mapped_column(Text, default="")
    version: Mapped[str] = mapped_column(Text, default="")
    label: Mapped[str] = mapped_column(Text, default="")
    """The origin in its document's metadata, as JSON."""
    sha256: Mapped[str] = mapped_column(String(64), default="")
    document_id: Mapped[str] = mapped_column(String(64), default="", index=True)
    revision: Mapped[int] = mapped_column(default=0)
    """The revision that the synchronisation waits for; 0 for none."""
    nonce: Mapped[str] = mapped_column(String(32))
    state: Mapped[int] = mapped_column(default=1)
    reason: Mapped[str] = mapped_column(String(32), default="")
    message: Mapped[str] = mapped_column(Text, default="")
    attempts: Mapped[int] = mapped_column(default=0)
    retry_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    sync_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    seen_run: Mapped[str] = mapped_column(String(40), default="")

    __table_args__ = (
        Index("source_items_by_state", "source_id", "state", "key"),
        Index("source_items_by_hash", "source_id", "sha256"),
    )


class EvaluationRow(Base):
    """A run of golden questions: `head` and `questions` are JSON, without anything made of documents."""

    __tablename__ = "evaluations"

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    collection_id: Mapped[str] = mapped_column(String(256), index=True)
    user_id: Mapped[str] = mapped_column(String(256))
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)
    head: Mapped[str] = mapped_column(Text)
    questions: Mapped[str] = mapped_column(Text)
