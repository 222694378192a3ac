"""API keys: long random secrets of which only the hash is kept, each with a tenant, a user, a role and an end."""

import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from footnote.types.v1.scope_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER, Role, Scope
from footnote_kit.errors import InvalidArgument, NotFound, Unauthenticated
from footnote_kit.identifiers import MOST_GROUPS, checked_group, checked_name
from sqlalchemy import select, update

from footnote_edge.database import Database, utc
from footnote_edge.settings import Settings
from footnote_edge.tables import ApiKeyRow

PREFIX = "fn"
SECRET_BYTES = 32
CACHE_SECONDS = 5.0
"""How long a key may be used after its revocation on another replica."""
CACHE_SIZE = 10_000

REFUSAL = "The key or token is missing, unknown, expired or revoked."
"""One sentence for all of it: which of these it is helps only those who guess."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it may be shown: everything but the secret. Times are in UTC."""

    id: str
    name: str
    tenant_id: str
    user_id: str
    role: Role.ValueType
    groups: tuple[str, ...]
    create_time: datetime
    expire_time: datetime | None
    revoke_time: datetime | None


class ApiKeys:
    """Makes, checks and revokes keys."""

    def __init__(self, database: Database) -> None:
        self._sessions = database.sessions
        self._cache: OrderedDict[str, tuple[float, ApiKeyRow]] = OrderedDict()

    async def create(
        self,
        name: str,
        tenant_id: str,
        user_id: str,
        role: Role.ValueType,
        lifetime: timedelta | None = None,
        groups: Sequence[str] = (),
    ) -> tuple[ApiKey, str]:
        """Make a key and return it with its text, which is never shown again."""
        if role not in (ROLE_READER, ROLE_WRITER, ROLE_ADMIN):
            raise InvalidArgument.field("role", "must be reader, writer or admin")
        if lifetime is not None and lifetime <= timedelta():
            raise InvalidArgument.field("lifetime", "must be positive")
        if len(groups) > MOST_GROUPS:
            raise InvalidArgument.field("groups", f"must be at most {MOST_GROUPS}")
        now = datetime.now(UTC)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        row = ApiKeyRow(
            id=secrets.token_hex(8),
            name=name[:200],
            hash=_digest(secret),
            tenant_id=checked_name("tenant", tenant_id),
            user_id=checked_name("user", user_id),
            role=role,
            groups=json.dumps(sorted({checked_group("groups", group) for group in groups})),
            create_time=now,
            expire_time=None if lifetime is None else now + lifetime,
        )
        async with self._sessions.begin() as session:
            session.add(row)
        return _key(row), f"{PREFIX}_{row.id}_{secret}"

    async def listed(self, tenant_id: str = "") -> list[ApiKey]:
        """Return the keys of a tenant, or all, oldest first."""
        query = select(ApiKeyRow).order_by(ApiKeyRow.create_time)
        if tenant_id:
            query = query.where(ApiKeyRow.tenant_id == tenant_id)
        async with self._sessions() as session:
            return [_key(row) for row in (await session.scalars(query)).all()]

    async def revoke(self, key_id: str) -> None:
        """End a key for good; raises NotFound when there is none of that id."""
        statement = update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(revoke_time=datetime.now(UTC))
        async with self._sessions.begin() as session:
            changed = (await session.execute(statement)).rowcount  # type: ignore[attr-defined]
        self._cache.pop(key_id, None)
        if not changed:
            raise NotFound(f"There is no key '{key_id}'", reason="CREDENTIALS_INVALID")

    async def scope_of(self, text: str) -> Scope:
        """Return the scope of whoever holds this key; raises Unauthenticated for any other text."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        row = await self._row(key_id) if prefix == PREFIX and key_id else None
        # Compared also when there is no such key, so that the time taken does not tell.
        same = hmac.compare_digest(_digest(secret), row.hash if row is not None else _digest(""))
        if row is None or not same or _ended(row):
            raise Unauthenticated(REFUSAL)
        return Scope(
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            roles=[row.role],  # type: ignore[list-item]
            groups=json.loads(row.groups),
        )

    async def _row(self, key_id: str) -> ApiKeyRow | None:
        now = time.monotonic()
        known = self._cache.get(key_id)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        async with self._sessions() as session:
            row = await session.get(ApiKeyRow, key_id)
        if row is None:
            return None
        self._cache[key_id] = (now, row)
        self._cache.move_to_end(key_id)
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return row


async def offline(data_dir: Path) -> tuple[Database, ApiKeys]:
    """Open the keys of a deployment without its service, for the command line: somebody must make the first one."""
    database = Database(Settings().sqlalchemy_url(data_dir / "edge"))
    await database.migrate()
    return database, ApiKeys(database)


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: there is nothing to guess from.
    return hashlib.sha256(secret.encode()).hexdigest()


def _ended(row: ApiKeyRow) -> bool:
    return row.revoke_time is not None or (row.expire_time is not None and utc(row.expire_time) <= datetime.now(UTC))


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        name=row.name,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        role=row.role,  # type: ignore[arg-type]
        groups=tuple(json.loads(row.groups)),
        create_time=utc(row.create_time),
        expire_time=row.expire_time and utc(row.expire_time),
        revoke_time=row.revoke_time and utc(row.revoke_time),
    )
