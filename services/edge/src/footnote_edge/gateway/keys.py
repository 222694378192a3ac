"""API keys, the first one included: long random secrets, stored as hashes, with tenant, user, role and expiry time."""

import asyncio
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cachetools import LRUCache
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER, Role
from footnote_kit.errors import InvalidArgument, Unauthenticated
from footnote_kit.logs import get_logger
from footnote_kit.paging import Page
from footnote_kit.validation import MOST_GROUPS, checked_group, checked_name

from footnote_edge.gateway.ports import ApiKey, Keys, key_missing
from footnote_edge.gateway.principals import REFUSAL, Identity, KeyRefused, Proof

PREFIX = "fn"
SECRET_BYTES = 32
CACHE_SECONDS = 5.0
"""Seconds for which a key revoked on another replica may still work here."""
CACHE_SIZE = 10_000
LABEL = 200
"""Maximum length of a label, in characters."""


class ApiKeys:
    """Creates, checks and revokes keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._cache: LRUCache[str, tuple[float, ApiKey]] = LRUCache(CACHE_SIZE)
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
        key = ApiKey(
            id=key_id or secrets.token_hex(8),
            label=label,
            tenant_id=checked_name("tenant", tenant_id),
            user_id=checked_name("user_id", user_id),
            role=role,
            groups=tuple(sorted({checked_group("groups", group) for group in groups})),
            hash=_digest(secret),
            create_time=now,
            expire_time=None if lifetime is None else now + lifetime,
        )
        if await self._keys.add(key):
            return key, f"{PREFIX}_{key.id}_{secret}"
        known = await self._keys.read(key.id)  # created by a repeat of this call
        if known is None or known.tenant_id != tenant_id:
            raise key_missing(key.id)
        return known, ""

    async def listed(self, tenant_id: str = "", *, ended: bool = True) -> list[ApiKey]:
        """Return the keys of a tenant, or all, newest first; `ended` keys are included by default."""
        return await self._keys.listed(tenant_id, ended=ended)

    async def page(
        self, tenant_id: str, page: Page, user_id: str = "", *, ended: bool = False
    ) -> tuple[list[ApiKey], str, int]:
        """Return a page of a tenant's keys, newest first, of one user if named; the next page's token; the total.

        Includes `ended` keys only on request.
        """
        return await self._keys.page(tenant_id, page, user_id, ended=ended)

    async def revoke(self, key_id: str, tenant_id: str = "", *, force: bool = True) -> ApiKey:
        """Revoke a key, of this tenant if one is named; a revoked key stays as it was.

        Raises NotFound for an unknown id. Without `force`, raises FailedPrecondition for the last usable administrator
        key of its tenant.
        """
        async with self._revoking:
            key = await self._keys.revoke(key_id, tenant_id, force=force)
        self._revocations += 1
        self._cache.pop(key_id, None)
        return key

    async def identify(self, text: str) -> Identity:
        """Return the identity of a key's holder; raises Unauthenticated for any other text."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        key = await self._read(key_id) if prefix == PREFIX and key_id else None
        # Compare even if no such key exists, so that timing reveals nothing.
        same = hmac.compare_digest(_digest(secret), key.hash if key is not None else _digest(""))
        if key is None:
            raise Unauthenticated(REFUSAL)
        if not same or key.ended:
            raise KeyRefused(key.tenant_id, key.id)
        scope = Scope(tenant_id=key.tenant_id, user_id=key.user_id, roles=[key.role], groups=key.groups)
        return Identity(scope, Proof.KEY, key.id, key.label, key.expire_time)

    async def check(self, key_id: str) -> None:
        """Raise Unauthenticated if a valid key has ended since."""
        key = await self._read(key_id)
        if key is None:
            raise Unauthenticated(REFUSAL)
        if key.ended:
            raise KeyRefused(key.tenant_id, key.id)

    async def _read(self, key_id: str) -> ApiKey | None:
        now = time.monotonic()
        known = self._cache.get(key_id)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1]
        revocations = self._revocations
        key = await self._keys.read(key_id)
        if key is None or revocations != self._revocations:
            return key  # it may have been revoked during the read: do not cache it
        self._cache[key_id] = (now, key)
        return key


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: they cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


FIRST_KEY = "first admin key"
TENANT, USER = "default", "admin"

_log = get_logger(__name__)


async def first_key(keys: ApiKeys, file: Path) -> None:
    """Write a new administrator's key to `file` if no key exists, not even a revoked or expired one.

    Replaces the file of an earlier deployment. Raises OSError if it cannot be written; then no key is created.
    """
    if await keys.listed():
        return
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = await asyncio.to_thread(_create, draft)
    try:
        _, text = await keys.create(FIRST_KEY, TENANT, USER, ROLE_ADMIN)
        await asyncio.to_thread(_finish, descriptor, text, draft, file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _log.info("first_key_written", file=str(file))


def _create(draft: Path) -> int:
    draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _finish(descriptor: int, text: str, draft: Path, file: Path) -> None:
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(f"{text}\n")
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)
