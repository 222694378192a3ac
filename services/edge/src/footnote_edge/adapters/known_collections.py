"""The table of collections as each user last wrote to them."""

import unicodedata
from collections.abc import Sequence

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from google.protobuf.message import DecodeError
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm.exc import StaleDataError

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import KnownCollectionRow


class KnownCollectionTable:
    """Reads and writes remembered collections."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions

    async def read(self, scope: Scope, name: str) -> Collection | None:
        """Return a user's remembered collection; None for one that is unknown or cannot be read."""
        query = select(KnownCollectionRow.payload).where(
            KnownCollectionRow.tenant_id == scope.tenant_id,
            KnownCollectionRow.user_id == scope.user_id,
            KnownCollectionRow.name == _composed(name),
        )
        async with self._sessions() as session:
            payload = (await session.scalars(query)).one_or_none()
        try:
            return None if payload is None else Collection.FromString(payload)
        except DecodeError:
            return None

    async def keep(self, scope: Scope, name: str, collection: Collection) -> None:
        """Remember a collection for a user."""
        row = {"tenant_id": scope.tenant_id, "user_id": scope.user_id, "name": _composed(name)}
        try:
            await self._write(KnownCollectionRow(**row, payload=collection.SerializeToString()))
        except (IntegrityError, StaleDataError):
            # Another writer created or deleted the row between our read and our write: accept its state this time.
            await self._write(KnownCollectionRow(**row, payload=collection.SerializeToString()))

    async def forget(self, tenant_id: str, names: Sequence[str]) -> None:
        """Forget a collection of a tenant under all of its names."""
        mine = (
            KnownCollectionRow.tenant_id == tenant_id,
            KnownCollectionRow.name.in_({*names, *map(_composed, names)}),
        )
        async with self._sessions.begin() as session:
            await session.execute(delete(KnownCollectionRow).where(*mine))

    async def _write(self, row: KnownCollectionRow) -> None:
        async with self._sessions.begin() as session:
            await session.merge(row)


def _composed(name: str) -> str:
    """Return the form in which indexing knows a name, so that one collection is not remembered under several."""
    return unicodedata.normalize("NFC", name)
