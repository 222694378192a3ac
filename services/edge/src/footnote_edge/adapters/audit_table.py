"""The audit log's table: append-only, and rows are deleted only after their retention period."""

from sqlalchemy import BigInteger, Index, Integer, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from footnote_edge.adapters.tables import Base

GUARDS = {
    "sqlite": frozenset({"audit_events_unchanged", "audit_events_retained"}),
    "postgresql": frozenset({"audit_events_retained"}),
}
"""Triggers that refuse to change events or to delete young ones; a migration creates them."""


class AuditEventRow(Base):
    """One event; enums are numbers of footnote.edge.v1, times are milliseconds since 1970.

    The row has no foreign keys: a named resource may be deleted while the event stays. A trigger of the migration
    refuses to change an event, or to delete one younger than a day.
    """

    __tablename__ = "audit_events"

    # SQLite auto-increments only INTEGER columns.
    sequence: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    id: Mapped[str] = mapped_column(String(32), unique=True)
    time_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[str] = mapped_column(String(600))
    authentication: Mapped[int]
    key_id: Mapped[str] = mapped_column(String(40))
    door: Mapped[int]
    address: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    resource: Mapped[str] = mapped_column(String(300))
    changed_fields: Mapped[str] = mapped_column(Text)
    """A JSON list of field names."""
    providers: Mapped[str] = mapped_column(Text)
    """A JSON list, as in ["settings.generation.provider=openai"]."""
    outcome: Mapped[int]
    status: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str] = mapped_column(String(64))
    trace_id: Mapped[str] = mapped_column(String(32))
    request_id: Mapped[str] = mapped_column(String(128))
    count: Mapped[int] = mapped_column(BigInteger)
    last_ms: Mapped[int | None] = mapped_column(BigInteger, default=None)
    mixed: Mapped[bool] = mapped_column(server_default=false())

    __table_args__ = (Index("audit_events_by_tenant", "tenant_id", "sequence"),)
