"""Conditions on the table of revisions and conversions of its rows, shared by the tables of this folder."""

import hashlib

import sqlalchemy as sa
from footnote_database.transactions import now_ms
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_indexing.adapters.tables import revisions
from footnote_indexing.model import CURRENT, WRITING, Entry, RevisionKey

WRITER_TIMEOUT_MS = 600_000
"""How long a superseded writer may still be at work; its leftover rows are purged only after that."""


def is_revision(key: RevisionKey) -> sa.ColumnElement[bool]:
    """Return the condition that a row is this revision's."""
    return sa.and_(of_document(key), revisions.c.revision == key.revision)


def key_values(key: RevisionKey) -> dict[str, object]:
    """Return the columns of a row's key."""
    return {name: getattr(key, name) for name in ("collection_id", "index_version", "document_id", "revision")}


def of_document(key: RevisionKey) -> sa.ColumnElement[bool]:
    """Return the condition that a row is of the same document and index version."""
    return sa.and_(
        revisions.c.collection_id == key.collection_id,
        revisions.c.index_version == key.index_version,
        revisions.c.document_id == key.document_id,
    )


def entry_of(row: sa.Row[tuple[object, ...]]) -> Entry:
    """Convert a row of the table."""
    return Entry(
        RevisionKey(row.collection_id, row.index_version, row.document_id, row.revision),
        row.state,
        row.fingerprint,
        (row.strategy, row.choice),
        row.chunks_expected,
        row.chunks_stored,
        bool(row.contextual_header),
        int(row.vectors_owed or 0),
    )


async def hold_rows(connection: AsyncConnection, document_id: str) -> None:
    """Wait until no other replica rewrites rows of a document, and keep others waiting until the transaction ends.

    It locks no row of the table: publishing and deleting do not wait. In SQLite it does nothing: there is no replica.
    """
    if connection.dialect.name == "postgresql":
        key = int.from_bytes(hashlib.sha256(b"rows\0" + document_id.encode()).digest()[:8], signed=True)
        await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def being_written() -> sa.ColumnElement[bool]:
    """Return the condition that a writer may be at work on a revision's rows, so that a purge must be repeated."""
    claimed = sa.func.coalesce(revisions.c.claimed_until, 0) > now_ms()
    rewritten = sa.and_(revisions.c.state == CURRENT, sa.or_(revisions.c.vectors_owed > 0, claimed))
    return sa.or_(revisions.c.state == WRITING, rewritten)


def searched() -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that a revision is searched and has not expired."""
    return revisions.c.state == CURRENT, unexpired()


def unexpired() -> sa.ColumnElement[bool]:
    """Return the condition that a revision has not expired."""
    return sa.or_(revisions.c.expire_at.is_(None), revisions.c.expire_at > now_ms())
