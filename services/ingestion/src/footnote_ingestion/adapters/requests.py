"""Uploads by their request ids, in the table beside the documents and in the same transactions."""

from __future__ import annotations

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.schema import upload_requests
from footnote_ingestion.model.repeats import Outcome, RequestKey
from footnote_ingestion.model.values import now_micros

_KEPT_MICROS = 24 * 3600 * 1_000_000


class RequestTable:
    """Remembers for a day what uploads came to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key: RequestKey) -> Outcome | None:
        """Return what an upload came to, None for one that is not known."""
        async with self._database.read() as connection:
            return await find(connection, key)


async def find(connection: AsyncConnection, key: RequestKey) -> Outcome | None:
    """Return what an upload came to, None for one that is not known."""
    table = upload_requests.c
    query = select(table.content, table.document_id, table.duplicate, table.merged).where(
        table.tenant_id == key.tenant_id,
        table.user_id == key.user_id,
        table.request_id == key.request_id,
        table.create_time > now_micros() - _KEPT_MICROS,
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else Outcome(row.content, row.document_id, bool(row.duplicate), bool(row.merged))


async def note(connection: AsyncConnection, key: RequestKey, outcome: Outcome) -> None:
    """Remember what an upload comes to if this transaction does; what is too old is forgotten with it."""
    await connection.execute(
        delete(upload_requests).where(upload_requests.c.create_time <= now_micros() - _KEPT_MICROS)
    )
    await connection.execute(
        insert(upload_requests).values(
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            request_id=key.request_id,
            content=outcome.content,
            document_id=outcome.document_id,
            duplicate=int(outcome.duplicate),
            merged=int(outcome.merged),
            create_time=now_micros(),
        )
    )
