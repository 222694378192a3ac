"""Upload results by request id, in the same database and transactions as the documents."""

from __future__ import annotations

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.schema import upload_requests
from footnote_ingestion.model.repeats import Outcome, RequestKey
from footnote_ingestion.model.values import now_micros

_KEPT_MICROS = 24 * 3600 * 1_000_000


class RequestTable:
    """Keeps the results of uploads for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key: RequestKey) -> Outcome | None:
        """Return the result of an upload, None for an unknown one."""
        async with self._database.read() as connection:
            return await find(connection, key)


async def find(connection: AsyncConnection, key: RequestKey) -> Outcome | None:
    """Return the result of an upload, None for an unknown one."""
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
    """Record the result of an upload in this transaction, and delete expired records."""
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
