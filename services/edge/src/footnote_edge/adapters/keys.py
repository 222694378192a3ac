"""The table of API keys."""

import json
from datetime import UTC, datetime

from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_database.transactions import utc
from footnote_kit.errors import FailedPrecondition
from footnote_kit.paging import Page, fitting
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.audit import Journal
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ApiKeyRow
from footnote_edge.gateway.ports import ApiKey, key_missing


class KeyTable:
    """Reads and writes keys; with a `journal`, changes are audited in the same transaction."""

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        self._sessions = database.sessions
        self._journal = journal

    async def add(self, key: ApiKey) -> bool:
        """Store a new key; False if its id exists."""
        row = ApiKeyRow(
            id=key.id,
            name=key.label,
            hash=key.hash,
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            role=key.role,
            groups=json.dumps(key.groups),
            create_time=key.create_time,
            expire_time=key.expire_time,
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
                if self._journal is not None:
                    await self._journal.write(session, "CreateKey", key.tenant_id, f"keys/{key.id}")
        except IntegrityError:
            return False
        return True

    async def read(self, key_id: str) -> ApiKey | None:
        """Return a key of any tenant; None for an unknown one."""
        async with self._sessions() as session:
            row = await session.get(ApiKeyRow, key_id)
        return None if row is None else _key(row)

    async def listed(self, tenant_id: str, *, ended: bool) -> list[ApiKey]:
        """Return the keys of a tenant, or all, newest first."""
        query = select(ApiKeyRow).order_by(ApiKeyRow.create_time.desc(), ApiKeyRow.id)
        if tenant_id:
            query = query.where(ApiKeyRow.tenant_id == tenant_id)
        if not ended:
            query = query.where(_usable())
        async with self._sessions() as session:
            return [_key(row) for row in (await session.scalars(query)).all()]

    async def page(self, tenant_id: str, page: Page, user_id: str, *, ended: bool) -> tuple[list[ApiKey], str, int]:
        """Return a page of a tenant's keys, newest first, of one user if named; the next page's token; the total.

        Includes `ended` keys only on request.
        """
        chosen = [ApiKeyRow.tenant_id == tenant_id]
        if user_id:
            chosen.append(ApiKeyRow.user_id == user_id)
        if not ended:
            chosen.append(_usable())
        query = (
            select(ApiKeyRow).where(*chosen).order_by(ApiKeyRow.create_time.desc(), ApiKeyRow.id).limit(page.size + 1)
        )
        if page.position is not None:
            time, last = page.position
            same = and_(ApiKeyRow.create_time == time, ApiKeyRow.id > last)
            query = query.where(or_(ApiKeyRow.create_time < time, same))
        async with self._sessions() as session:
            rows = (await session.scalars(query)).all()
            total = await session.scalar(select(func.count()).select_from(ApiKeyRow).where(*chosen))
        keys = [_key(row) for row in rows]
        shown = min(page.size, fitting([key.message() for key in keys]))
        more = len(rows) > shown
        token = page.token((rows[shown - 1].create_time.isoformat(), rows[shown - 1].id)) if more else ""
        return keys[:shown], token, total or 0

    async def revoke(self, key_id: str, tenant_id: str, *, force: bool) -> ApiKey:
        """Revoke a key, of this tenant if one is named; a revoked key stays as it was.

        Raises NotFound for an unknown id. Without `force`, raises FailedPrecondition for the last usable administrator
        key of its tenant.
        """
        async with self._sessions.begin() as session:
            row = await session.get(ApiKeyRow, key_id)
            if row is None or (tenant_id and row.tenant_id != tenant_id):
                raise key_missing(key_id)
            if row.revoke_time is None:
                if not force:
                    await _check_not_last(session, row)
                row.revoke_time = datetime.now(UTC)
                if self._journal is not None:
                    await self._journal.write(session, "RevokeKey", row.tenant_id, f"keys/{row.id}")
        return _key(row)


async def _check_not_last(session: AsyncSession, row: ApiKeyRow) -> None:
    """Raise FailedPrecondition if a key is the last usable administrator key of its tenant."""
    if row.role != ROLE_ADMIN or _key(row).ended:
        return
    # Locked in a fixed order: when two administrators revoke each other's key, the second one fails. SQLite has no such
    # lock, but there this is the only process.
    query = (
        select(ApiKeyRow.id)
        .where(ApiKeyRow.tenant_id == row.tenant_id, ApiKeyRow.role == ROLE_ADMIN, _usable())
        .order_by(ApiKeyRow.id)
        .with_for_update()
    )
    if not [one for one in await session.scalars(query) if one != row.id]:
        raise FailedPrecondition(
            f"Key '{row.id}' is this tenant's last usable administrator key; create another first, or set force: "
            "then only the deployment's operator can create keys of this tenant",
            reason="LAST_ADMIN_KEY",
            metadata={"key_id": row.id},
        )


def _usable() -> ColumnElement[bool]:
    lasting = or_(ApiKeyRow.expire_time.is_(None), ApiKeyRow.expire_time > datetime.now(UTC))
    return and_(ApiKeyRow.revoke_time.is_(None), lasting)


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        label=row.name,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        role=row.role,  # type: ignore[arg-type]
        groups=tuple(json.loads(row.groups)),
        hash=row.hash,
        create_time=utc(row.create_time),
        expire_time=row.expire_time and utc(row.expire_time),
        revoke_time=row.revoke_time and utc(row.revoke_time),
    )
