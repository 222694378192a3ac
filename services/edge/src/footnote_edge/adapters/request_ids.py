"""The table of calls by request id."""

from datetime import datetime

from footnote.stages.v1.scope_pb2 import Scope
from footnote_database.transactions import utc
from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.exc import IntegrityError

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import RequestIdRow
from footnote_edge.gateway.ports import StoredRequest


class RequestTable:
    """Reads and writes the calls of one user at a time."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def find(self, scope: Scope, request_id: str, since: datetime) -> StoredRequest | None:
        """Return a call made after a time; an older one is deleted."""
        async with self._sessions.begin() as session:
            row = await session.get(RequestIdRow, (scope.tenant_id, scope.user_id, request_id))
            if row is not None and utc(row.create_time) <= since:
                await session.delete(row)
                return None
        return None if row is None else StoredRequest(row.content, row.seed, utc(row.create_time), row.made)

    async def add(self, scope: Scope, request_id: str, request: StoredRequest) -> bool:
        """Store a call; False if the id is in use."""
        row = RequestIdRow(
            tenant_id=scope.tenant_id,
            user_id=scope.user_id,
            request_id=request_id,
            content=request.content,
            seed=request.seed,
            made=request.made,
            create_time=request.create_time,
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
        except IntegrityError:  # a concurrent repeat of this call
            return False
        return True

    async def note_made(self, scope: Scope, request_id: str, seed: str) -> None:
        """Note that the call's object was created."""
        async with self._sessions.begin() as session:
            await session.execute(update(RequestIdRow).where(*_which(scope, request_id, seed)).values(made=True))

    async def forget(self, scope: Scope, request_id: str, seed: str) -> None:
        """Delete a call."""
        async with self._sessions.begin() as session:
            await session.execute(delete(RequestIdRow).where(*_which(scope, request_id, seed)))

    async def sweep(self, before: datetime) -> None:
        """Delete calls made before a time."""
        async with self._sessions.begin() as session:
            await session.execute(delete(RequestIdRow).where(RequestIdRow.create_time <= before))


def _which(scope: Scope, request_id: str, seed: str) -> tuple[ColumnElement[bool], ...]:
    return (
        RequestIdRow.tenant_id == scope.tenant_id,
        RequestIdRow.user_id == scope.user_id,
        RequestIdRow.request_id == request_id,
        RequestIdRow.seed == seed,
    )
