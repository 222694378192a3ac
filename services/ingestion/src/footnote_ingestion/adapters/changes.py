"""Changes since a time: documents by the time of their last change, and the ids of deleted ones."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.records import from_row
from footnote_ingestion.adapters.schema import deleted_documents, documents
from footnote_ingestion.model.values import Stored, now_micros


class ChangeTable:
    """Reads changes in the order of their time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def changed(self, tenant_id: str, collection_id: str, after: tuple[int, str], limit: int) -> list[Stored]:
        """Return documents that changed after a time (microseconds) and id, the earliest change first."""
        where = [
            documents.c.tenant_id == tenant_id,
            documents.c.collection_id == collection_id,
            alive(),
            or_(
                documents.c.update_time > after[0],
                and_(documents.c.update_time == after[0], documents.c.id > after[1]),
            ),
        ]
        page = select(documents).where(*where).order_by(documents.c.update_time, documents.c.id).limit(limit)
        async with self._database.read() as connection:
            return [from_row(row) for row in (await connection.execute(page)).mappings()]

    async def gone(
        self, tenant_id: str, collection_id: str, after: tuple[int, str], limit: int
    ) -> list[tuple[int, str]]:
        """Return times and ids of documents that were deleted after a time and id, the earliest first."""
        table = deleted_documents.c
        where = [
            table.tenant_id == tenant_id,
            table.collection_id == collection_id,
            or_(table.delete_time > after[0], and_(table.delete_time == after[0], table.id > after[1])),
        ]
        page = select(table.delete_time, table.id).where(*where).order_by(table.delete_time, table.id).limit(limit)
        async with self._database.read() as connection:
            return [(time, document_id) for time, document_id in (await connection.execute(page)).all()]

    async def forget_gone(self, before_micros: int) -> None:
        """Delete the records of deletions before a time."""
        async with self._database.write() as connection:
            old = deleted_documents.c.delete_time < before_micros
            await connection.execute(delete(deleted_documents).where(old))


def alive() -> ColumnElement[bool]:
    """Return the condition that a document has neither expired nor begun deletion."""
    unexpired = or_(documents.c.expire_time.is_(None), documents.c.expire_time > now_micros())
    return and_(unexpired, documents.c.delete_time.is_(None))


async def note_gone(connection: AsyncConnection, deleted: Sequence[Stored]) -> None:
    """Record documents that are deleted for good in this transaction."""
    now = now_micros()
    rows = [
        {
            "id": stored.document.id,
            "tenant_id": stored.document.tenant_id,
            "collection_id": stored.document.collection_id,
            "delete_time": now,
        }
        for stored in deleted
    ]
    if rows:
        await connection.execute(insert(deleted_documents), rows)
