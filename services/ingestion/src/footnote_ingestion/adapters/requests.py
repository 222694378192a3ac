"""Upload results by request id, in the same database and transactions as the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.schema import upload_requests
from footnote_ingestion.model.repeats import Outcome, RequestKey
from footnote_ingestion.model.values import deletion_micros, now_micros

_KEPT_MICROS = 24 * 3600 * 1_000_000


class RequestTable:
    """Keeps the results of uploads for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, keys: Sequence[RequestKey]) -> dict[RequestKey, Outcome]:
        """Return the results of uploads of one user; unknown ones are left out."""
        async with self._database.read() as connection:
            return await find(connection, keys)


async def find(connection: AsyncConnection, keys: Sequence[RequestKey]) -> dict[RequestKey, Outcome]:
    """Return the results of uploads of one user, at least one; unknown ones are left out."""
    tenant_id, user_id = keys[0].tenant_id, keys[0].user_id
    table = upload_requests.c
    query = select(table.request_id, table.content, table.document_id, table.duplicate, table.merged).where(
        table.tenant_id == tenant_id,
        table.user_id == user_id,
        table.request_id.in_([key.request_id for key in keys]),
        table.create_time > deletion_micros() - _KEPT_MICROS,  # those that `note_all` does not delete
    )
    return {
        RequestKey(tenant_id, user_id, row.request_id): Outcome(
            row.content, row.document_id, bool(row.duplicate), bool(row.merged)
        )
        for row in await connection.execute(query)
    }


async def note(connection: AsyncConnection, key: RequestKey, outcome: Outcome) -> None:
    """Record the result of an upload in this transaction, and delete expired records."""
    await note_all(connection, {key: outcome})


async def note_all(connection: AsyncConnection, outcomes: Mapping[RequestKey, Outcome]) -> None:
    """Record the results of uploads in this transaction, and delete expired records."""
    now, old = now_micros(), deletion_micros() - _KEPT_MICROS
    await connection.execute(delete(upload_requests).where(upload_requests.c.create_time <= old))
    rows = [
        {
            "tenant_id": key.tenant_id,
            "user_id": key.user_id,
            "request_id": key.request_id,
            "content": outcome.content,
            "document_id": outcome.document_id,
            "duplicate": int(outcome.duplicate),
            "merged": int(outcome.merged),
            "create_time": now,
        }
        for key, outcome in outcomes.items()
    ]
    await connection.execute(insert(upload_requests), rows)
