"""The edge's own tables: conversations, messages, feedback, and what it remembers of collections."""

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from footnote_edge.adapters.earlier_payloads import VERSION

UNREMEMBERED = text("embed_time IS NULL AND superseded_by IS NULL AND conversation_id IS NOT NULL")


class Base(DeclarativeBase):
    """Declarative base of the edge's tables."""


class ConversationRow(Base):
    """A conversation of one user; `topic` is what follow-up questions are searched with."""

    __tablename__ = "conversations"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(256))
    title: Mapped[str] = mapped_column(Text, default="")
    collections: Mapped[str] = mapped_column(Text, default="[]")
    topic: Mapped[str] = mapped_column(Text, default="")
    local_only: Mapped[bool] = mapped_column(default=False)
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    update_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))

    __table_args__ = (Index("conversations_by_user", "tenant_id", "user_id", "update_time"),)


class MessageRow(Base):
    """A message, or an answer outside any conversation; `payload` is a footnote.edge.v1.ConversationMessage."""

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
    """What the payload means, `earlier_payloads.VERSION`; 0 for one that could not be translated."""
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    embed_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    place: Mapped[int | None] = mapped_column(default=None)
    """Where an answer stands that took another's place; None is its own `sequence`."""
    question_id: Mapped[str | None] = mapped_column(String(40), index=True, default=None)
    superseded_by: Mapped[str | None] = mapped_column(String(40), default=None)
    topic: Mapped[str] = mapped_column(Text, default="", server_default="")
    """Of an answer: the conversation's topic after it."""
    folded: Mapped[str] = mapped_column(Text, default="", server_default="")
    """The text without case, in which it is searched."""
    asked: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)
    """Of a question: the footnote.edge.v1.AskRequest that it came in, without what belongs to that one call."""
    text_hash: Mapped[str | None] = mapped_column(String(64), default=None)
    """Of an answer: by it the text is recognised when a caller sends it back as history."""

    __table_args__ = (
        Index("messages_by_text", "text_hash"),
        Index("messages_unremembered", "create_time", sqlite_where=UNREMEMBERED, postgresql_where=UNREMEMBERED),
    )


class MessageOriginRow(Base):
    """A document that a message was made of, directly or through earlier messages; an empty id is not known."""

    __tablename__ = "message_origins"

    message_id: Mapped[str] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(256), primary_key=True, index=True)
    document_id: Mapped[str] = mapped_column(String(256), primary_key=True, index=True)
    revision: Mapped[int] = mapped_column(default=0)


class ForgottenRow(Base):
    """The id of a document or collection, or the hash of an answer, that was deleted: nothing keeps what came of it."""

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
    """A call that its caller may repeat: a hash of what it asked, and the seed of the ids of what came of it."""

    __tablename__ = "request_ids"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    request_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[str] = mapped_column(String(64))
    seed: Mapped[str] = mapped_column(String(40))
    made: Mapped[bool] = mapped_column(default=False, server_default=false())
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)


class KnownCollectionRow(Base):
    """A collection as last seen, so that uploads are accepted while indexing is down."""

    __tablename__ = "known_collections"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    name: Mapped[str] = mapped_column(String(160), primary_key=True)
    payload: Mapped[bytes] = mapped_column(LargeBinary)


class ApiKeyRow(Base):
    """A key; of its secret only the hash."""

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
    """What an operator has set for one tenant; None leaves it to the deployment, 0 is no limit."""

    __tablename__ = "tenant_limits"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    documents: Mapped[int | None] = mapped_column(BigInteger, default=None)
    bytes: Mapped[int | None] = mapped_column(BigInteger, default=None)
    collections: Mapped[int | None] = mapped_column(BigInteger, default=None)
    tokens_per_day: Mapped[int | None] = mapped_column(BigInteger, default=None)
    cost_per_day: Mapped[float | None] = mapped_column(default=None)
    update_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class UsageRow(Base):
    """What a tenant used on one day in UTC, as 2026-11-22."""

    __tablename__ = "usage_days"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    embedding_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    cost_usd: Mapped[float] = mapped_column(default=0.0)


class UserUsageRow(Base):
    """What one user of a tenant used on one day in UTC; the tenant's own row holds the sum."""

    __tablename__ = "user_usage_days"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    embedding_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    cost_usd: Mapped[float] = mapped_column(default=0.0)


class ActivityRow(Base):
    """How often something was done in a tenant within an hour in UTC, as 2026-11-22T15."""

    __tablename__ = "activity_hours"

    tenant_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    hour: Mapped[str] = mapped_column(String(13), primary_key=True, index=True)
    measure: Mapped[str] = mapped_column(String(40), primary_key=True)
    amount: Mapped[int] = mapped_column(BigInteger)


DELETING = text("kind = 2 AND end_time IS NULL")
"""Deletions of collections that have not ended; 2 is OPERATION_KIND_DELETE_COLLECTION."""


SYNCHRONISING = text("kind = 3 AND end_time IS NULL")
"""Synchronisations of sources that have not ended; 3 is OPERATION_KIND_SYNC_SOURCE."""


class OperationRow(Base):
    """Long work that a caller began, and how it stands; `cancelling` asks it to end."""

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
        # Of two deletions of one collection at once the second is the first.
        Index("operations_deleting", "collection_id", unique=True, sqlite_where=DELETING, postgresql_where=DELETING),
        # No two replicas synchronise one source at once.
        Index(
            "operations_synchronising", "source_id", unique=True,
            sqlite_where=SYNCHRONISING, postgresql_where=SYNCHRONISING,
        ),
    )  # fmt: skip


class OperationDocumentRow(Base):
    """A document of an operation: the revision it had or, once begun, got; and what became of that."""

    __tablename__ = "operation_documents"

    operation_id: Mapped[str] = mapped_column(ForeignKey("operations.id", ondelete="CASCADE"), primary_key=True)
    document_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(64))
    revision: Mapped[int]
    begun: Mapped[bool] = mapped_column(default=False)
    outcome: Mapped[int] = mapped_column(default=0)

    __table_args__ = (Index("operation_documents_by_outcome", "operation_id", "outcome"),)


class SourceRow(Base):
    """A source whose items a collection keeps in step; `secrets` are encrypted, `run_token` fences off other runs."""

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
    """Which key encrypted `secrets`: the beginning of its hash."""
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
    """The operation that listed last."""
    run_token: Mapped[str] = mapped_column(String(40), default="")
    run_cursor: Mapped[str] = mapped_column(Text, default="")
    run_listed: Mapped[int] = mapped_column(default=0)
    """How far that operation's listing came: 0 on its way, 1 complete, 2 partial."""

    __table_args__ = (
        Index("sources_by_time", "tenant_id", "create_time", "id"),
        UniqueConstraint("tenant_id", "collection_id", "name", name="sources_named_once"),
    )


class SourceItemRow(Base):
    """An item of a source: what its document has, and what the last listing said."""

    __tablename__ = "source_items"

    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of `item`, which may be long."""
    item: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    address: Mapped[str] = mapped_column(Text, default="")
    memo: Mapped[str] = mapped_column(Text, default="{}")
    """What the kind of source noted of it for itself, as JSON."""
    owner: Mapped[str] = mapped_column(Text, default="")
    groups: Mapped[str] = mapped_column(Text, default="[]")
    size: Mapped[int | None] = mapped_column(BigInteger, default=None)
    listed_version: Mapped[str] = mapped_column(Text, default="")
    version: Mapped[str] = mapped_column(Text, default="")
    label: Mapped[str] = mapped_column(Text, default="")
    """The origin that its document's metadata has, as JSON."""
    sha256: Mapped[str] = mapped_column(String(64), default="")
    document_id: Mapped[str] = mapped_column(String(64), default="", index=True)
    revision: Mapped[int] = mapped_column(default=0)
    """The revision whose end is waited for; 0 when nothing is."""
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


class ReplicaRow(Base):
    """A replica that works on jobs, and when it was last alive: milliseconds since 1970 by the database's clock."""

    __tablename__ = "replicas"

    name: Mapped[str] = mapped_column(String(256), primary_key=True)
    beat: Mapped[int] = mapped_column(BigInteger)


class TraceQuestionRow(Base):
    """What a replica of edge asks another of a trace, and its answer: messages of TelemetryService.GetTrace."""

    __tablename__ = "trace_questions"

    question: Mapped[str] = mapped_column(String(40), primary_key=True)
    addressee: Mapped[str] = mapped_column(String(256), primary_key=True)
    request: Mapped[bytes] = mapped_column(LargeBinary)
    answer: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)
