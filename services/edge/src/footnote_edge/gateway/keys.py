"""API keys: long random secrets, stored as hashes, each with a tenant, a user, a role and an expiry time."""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cachetools import LRUCache
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER, Role
from footnote_database.parts import Parts
from footnote_database.times import utc
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound, Unauthenticated
from footnote_kit.identifiers import MOST_GROUPS, checked_group, checked_name
from footnote_kit.paging import Page
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from footnote_edge.adapters.database import Database
from footnote_edge.adapters.tables import ApiKeyRow
from footnote_edge.audit.journal import Journal
from footnote_edge.gateway.principals import REFUSAL, Identity, KeyRefused, Proof
from footnote_edge.settings import Settings

PREFIX = "fn"
SECRET_BYTES = 32
CACHE_SECONDS = 5.0
"""Seconds for which a key revoked on another replica may still work here."""
CACHE_SIZE = 10_000
LABEL = 200
"""Maximum length of a label, in characters."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The public form of a key: everything but the secret. Times are in UTC."""

    id: str
    label: str
    tenant_id: str
    user_id: str
    role: Role.ValueType
    groups: tuple[str, ...]
    create_time: datetime
    expire_time: datetime | None
    revoke_time: datetime | None


class ApiKeys:
    """Creates, checks and revokes keys."""

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        """Take the database; with a `journal`, changes are audited here, in the same transaction."""
        self._sessions = database.sessions
        self._journal = journal
        self._cache: LRUCache[str, tuple[float, ApiKeyRow]] = LRUCache(CACHE_SIZE)
        self._revocations = 0
        self._revoking = asyncio.Lock()

    async def create(
        self,
        label: str,
        tenant_id: str,
        user_id: str,
        role: Role.ValueType,
        lifetime: timedelta | None = None,
        groups: Sequence[str] = (),
        key_id: str = "",
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its text, which is never shown again.

        If `key_id` exists already, return that key without a text: its secret is no longer known.
        """
        if role not in (ROLE_READER, ROLE_WRITER, ROLE_ADMIN):
            raise InvalidArgument.field("role", "must be reader, writer or admin")
        if lifetime is not None and lifetime <= timedelta():
            raise InvalidArgument.field("ttl", "must be positive")
        if not (label.strip() and len(label) <= LABEL and label.isprintable()):
            raise InvalidArgument.field("label", f"must be 1 to {LABEL} printable characters")
        if len(groups) > MOST_GROUPS:
            raise InvalidArgument.field("groups", f"must be at most {MOST_GROUPS}")
        now = datetime.now(UTC)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        row = ApiKeyRow(
            id=key_id or secrets.token_hex(8),
            name=label,
            hash=_digest(secret),
            tenant_id=checked_name("tenant", tenant_id),
            user_id=checked_name("user_id", user_id),
            role=role,
            groups=json.dumps(sorted({checked_group("groups", group) for group in groups})),
            create_time=now,
            expire_time=None if lifetime is None else now + lifetime,
        )
        try:
            async with self._sessions.begin() as session:
                session.add(row)
                if self._journal is not None:
                    await self._journal.write(session, "CreateKey", row.tenant_id, f"keys/{row.id}")
        except IntegrityError:  # created by a repeat of this call
            return await self._get(tenant_id, row.id), ""
        return _key(row), f"{PREFIX}_{row.id}_{secret}"

    async def listed(self, tenant_id: str = "", *, ended: bool = True) -> list[ApiKey]:
        """Return the keys of a tenant, or all, newest first; `ended` keys are included by default."""
        query = select(ApiKeyRow).order_by(ApiKeyRow.create_time.desc(), ApiKeyRow.id)
        if tenant_id:
            query = query.where(ApiKeyRow.tenant_id == tenant_id)
        if not ended:
            query = query.where(_usable())
        async with self._sessions() as session:
            return [_key(row) for row in (await session.scalars(query)).all()]

    async def page(
        self, tenant_id: str, page: Page, user_id: str = "", *, ended: bool = False
    ) -> tuple[list[ApiKey], str, int]:
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
        shown = rows[: page.size]
        more = len(rows) > len(shown)
        token = page.token((shown[-1].create_time.isoformat(), shown[-1].id)) if more else ""
        return [_key(row) for row in shown], token, total or 0

    async def revoke(self, key_id: str, tenant_id: str = "", *, force: bool = True) -> ApiKey:
        """Revoke a key, of this tenant if one is named; a revoked key stays as it was.

        Raises NotFound for an unknown id. Without `force`, raises FailedPrecondition for the last usable administrator
        key of its tenant.
        """
        async with self._revoking, self._sessions.begin() as session:
            row = await session.get(ApiKeyRow, key_id)
            if row is None or (tenant_id and row.tenant_id != tenant_id):
                raise missing(key_id)
            if row.revoke_time is None:
                if not force:
                    await _check_not_last(session, row)
                row.revoke_time = datetime.now(UTC)
                if self._journal is not None:
                    await self._journal.write(session, "RevokeKey", row.tenant_id, f"keys/{row.id}")
        self._revocations += 1
        self._cache.pop(key_id, None)
        return _key(row)

    async def identify(self, text: str) -> Identity:
        """Return the identity of a key's holder; raises Unauthenticated for any other text."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        row = await self._row(key_id) if prefix == PREFIX and key_id else None
        # Compare even if no such key exists, so that timing reveals nothing.
        same = hmac.compare_digest(_digest(secret), row.hash if row is not None else _digest(""))
        if row is None:
            raise Unauthenticated(REFUSAL)
        if not same or _ended(row):
            raise KeyRefused(row.tenant_id, row.id)
        scope = Scope(
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            roles=[row.role],  # type: ignore[list-item]
            groups=json.loads(row.groups),
        )
        return Identity(scope, Proof.KEY, row.id, row.name, row.expire_time and utc(row.expire_time))

    async def check(self, key_id: str) -> None:
        """Raise Unauthenticated if a valid key has ended since."""
        row = await self._row(key_id)
        if row is None:
            raise Unauthenticated(REFUSAL)
        if _ended(row):
            raise KeyRefused(row.tenant_id, row.id)

    async def _get(self, tenant_id: str, key_id: str) -> ApiKey:
        async with self._sessions() as session:
            row = await session.get(ApiKeyRow, key_id)
        if row is None or row.tenant_id != tenant_id:
            raise missing(key_id)
        return _key(row)

    async def _row(self, key_id: str) -> ApiKeyRow | None:
        now = time.monotonic()
        known = self._cache.get(key_id)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        revocations = self._revocations
        async with self._sessions() as session:
            row = await session.get(ApiKeyRow, key_id)
        if row is None or revocations != self._revocations:
            return row  # it may have been revoked during the read: do not cache it
        self._cache[key_id] = (now, row)
        return row


async def offline(data_dir: Path) -> tuple[Database, ApiKeys]:
    """Open the keys of a deployment without its service, so that the command line can create the first one."""
    database = Database(Settings().sqlalchemy_url(data_dir / "edge"))
    await database.migrate(parts=Parts(data_dir))
    return database, ApiKeys(database, Journal(database))


def missing(key_id: str) -> NotFound:
    """Return the error for a missing key, or one of another tenant."""
    return NotFound(f"There is no key '{key_id}'", reason="KEY_NOT_FOUND", metadata={"key_id": key_id})


async def _check_not_last(session: AsyncSession, row: ApiKeyRow) -> None:
    """Raise FailedPrecondition if a key is the last usable administrator key of its tenant."""
    if row.role != ROLE_ADMIN or _ended(row):
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
            f"Key '{row.id}' is the last usable one of an administrator of this tenant; make another first, or set "
            "force: then only the deployment's operator can make keys of this tenant",
            reason="LAST_ADMIN_KEY",
            metadata={"key_id": row.id},
        )


def _usable() -> ColumnElement[bool]:
    lasting = or_(ApiKeyRow.expire_time.is_(None), ApiKeyRow.expire_time > datetime.now(UTC))
    return and_(ApiKeyRow.revoke_time.is_(None), lasting)


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: they cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


def _ended(row: ApiKeyRow) -> bool:
    return row.revoke_time is not None or (row.expire_time is not None and utc(row.expire_time) <= datetime.now(UTC))


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        label=row.name,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        role=row.role,  # type: ignore[arg-type]
        groups=tuple(json.loads(row.groups)),
        create_time=utc(row.create_time),
        expire_time=row.expire_time and utc(row.expire_time),
        revoke_time=row.revoke_time and utc(row.revoke_time),
    )
