"""The edge's database: its own SQLite file, or its own schema in PostgreSQL.

A commit survives a power cut (synchronous FULL) in every service, so that their databases stay consistent with each
other.
"""

from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from footnote_database import transactions
from footnote_database.migrations import Migrations
from footnote_database.traits import Pool, Traits, Writers
from footnote_database.transactions import utc
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker

from footnote_edge.adapters import audit_table, replica_tables, tables
from footnote_edge.adapters.tables import Base

_METADATA = Base.metadata
assert audit_table.AuditEventRow.__tablename__ in _METADATA.tables
assert tables.EvaluationRow.__tablename__ in _METADATA.tables
assert replica_tables.ReplicaRow.__tablename__ in _METADATA.tables
MIGRATIONS = Migrations(versions=Path(__file__).parent / "migrations", metadata=_METADATA, lock=7100)
TRAITS = Traits(
    name="edge",
    migrations=MIGRATIONS,
    synchronous="FULL",
    busy_seconds=30,
    writers=Writers.DRIVER,
    foreign_keys=True,
    schema="edge",
    sqlite_pool=Pool(4, 4),
    postgres_pool=Pool(10, 10, seconds=10),
    holds="conversations, answers, API keys, limits, usage, sources and the audit log",
    # Without titles and names: users wrote them, and the log keeps no text of theirs.
    named={
        "conversations": "SELECT id || ' of ' || substr(update_time, 1, 19) FROM conversations",
        "API keys": "SELECT id || ' of ' || substr(create_time, 1, 19) FROM api_keys WHERE revoke_time IS NULL",
        "sources": "SELECT id || ' of ' || substr(create_time, 1, 19) FROM sources",
    },
)


class Database(transactions.Database):
    """Opens sessions."""

    def __init__(self, url: str) -> None:
        super().__init__(make_url(url), TRAITS)
        self.sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(self.engine, expire_on_commit=False)


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def record(kind: type[R], row: Base) -> R:
    """Return a row as a record; its times are in UTC."""
    values = {one.name: getattr(row, one.name) for one in fields(kind)}
    return kind(**{name: utc(value) if isinstance(value, datetime) else value for name, value in values.items()})
