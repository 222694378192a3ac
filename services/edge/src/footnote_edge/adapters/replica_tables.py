"""The tables by which replicas know of each other: who is alive, has which documents, is asked for which trace."""

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from footnote_edge.adapters.tables import Base


class ReplicaRow(Base):
    """A replica that works on jobs, and its last heartbeat: milliseconds since 1970 by the database's clock."""

    __tablename__ = "replicas"

    name: Mapped[str] = mapped_column(String(256), primary_key=True)
    beat: Mapped[int] = mapped_column(BigInteger)


class GroupClaimRow(Base):
    """A document that waits in, or is processed by, a group of a replica; valid while the replica's lease is."""

    __tablename__ = "group_claims"

    document_id: Mapped[str] = mapped_column(String(256), primary_key=True)
    replica: Mapped[str] = mapped_column(String(256), index=True)
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class TraceQuestionRow(Base):
    """A trace request from one edge replica to another, and its answer: messages of TelemetryService.GetTrace."""

    __tablename__ = "trace_questions"

    question: Mapped[str] = mapped_column(String(40), primary_key=True)
    addressee: Mapped[str] = mapped_column(String(256), primary_key=True)
    request: Mapped[bytes] = mapped_column(LargeBinary)
    answer: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)
