"""What the gateway stores, and what it needs of the store: keys, limits, usage and request ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Protocol

from footnote.edge.v1.keys_pb2 import Key
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import Usage
from footnote.types.v1.role_pb2 import Role
from footnote_kit.errors import NotFound
from footnote_kit.paging import Page

Account = tuple[str, str] | tuple[str, str, str]
"""An account: a tenant and a day, as 2026-11-22, and optionally a user."""
SPENT = ("prompt_tokens", "completion_tokens", "embedding_tokens", "cost_usd")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret, of which only the hash is stored. Times are in UTC."""

    id: str
    label: str
    tenant_id: str
    user_id: str
    role: Role.ValueType
    groups: tuple[str, ...]
    hash: str = field(repr=False)
    create_time: datetime
    expire_time: datetime | None
    revoke_time: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether the key is revoked or expired."""
        return self.revoke_time is not None or (self.expire_time is not None and self.expire_time <= datetime.now(UTC))

    def message(self) -> Key:
        """Return the key as its administrators see it."""
        shown = Key(id=self.id, label=self.label, user_id=self.user_id, role=self.role, groups=self.groups)
        shown.create_time.FromDatetime(self.create_time)
        if self.expire_time is not None:
            shown.expire_time.FromDatetime(self.expire_time)
        if self.revoke_time is not None:
            shown.revoke_time.FromDatetime(self.revoke_time)
        return shown


class Keys(Protocol):
    """The stored keys; see `adapters.keys.KeyTable`."""

    async def add(self, key: ApiKey) -> bool:
        """Store a new key; False if its id exists."""

    async def read(self, key_id: str) -> ApiKey | None:
        """Return a key of any tenant; None for an unknown one."""

    async def listed(self, tenant_id: str, *, ended: bool) -> list[ApiKey]:
        """Return the keys of a tenant, or all, newest first."""

    async def page(self, tenant_id: str, page: Page, user_id: str, *, ended: bool) -> tuple[list[ApiKey], str, int]:
        """Return a page of a tenant's keys, newest first; the next page's token; the total."""

    async def revoke(self, key_id: str, tenant_id: str, *, force: bool) -> ApiKey:
        """Revoke a key; raises as `ApiKeys.revoke`."""


def key_missing(key_id: str) -> NotFound:
    """Return the error for a missing key, or one of another tenant."""
    return NotFound(f"There is no key '{key_id}'", reason="KEY_NOT_FOUND", metadata={"key_id": key_id})


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits of a tenant's storage and usage, 0 for unlimited; a day is one in UTC, cost is in US dollars."""

    documents: int = 0
    bytes: int = 0
    collections: int = 0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0

    @property
    def daily(self) -> bool:
        """Whether daily usage is limited."""
        return bool(self.tokens_per_day or self.cost_per_day)


@dataclass(frozen=True, slots=True)
class TenantOverrides:
    """A tenant's own limits by name; `update_time` in UTC, None if it has none."""

    tenant_id: str
    limits: Mapping[str, float] = field(default_factory=dict)
    update_time: datetime | None = None


LIMITS = tuple(field.name for field in fields(Allowance))
"""Names of the limits."""


class TenantLimits(Protocol):
    """Tenants' own limits; see `adapters.limits.LimitTable`."""

    async def read(self, tenant: str) -> TenantOverrides:
        """Return a tenant's own limits."""

    async def change(self, tenant: str, changes: Mapping[str, float | None]) -> TenantOverrides:
        """Change limits and return the tenant's own; None removes one."""

    async def listed(self) -> list[TenantOverrides]:
        """Return all tenants with own limits, by id."""

    async def page(self, page: Page) -> tuple[list[TenantOverrides], str]:
        """Return a page of these, and the next page's token."""


@dataclass(slots=True)
class Spent:
    """Tokens and US dollars spent."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Spent":
        """Return a stage's reported usage."""
        return cls(*(getattr(usage, name) for name in SPENT))

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        return self.prompt_tokens + self.completion_tokens + self.embedding_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) + getattr(other, name) for name in SPENT))

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) - getattr(other, name) for name in SPENT))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in SPENT)


class DailyUsage(Protocol):
    """Usage by tenant and day, and by user; see `adapters.usage.UsageTable`."""

    async def of(self, tenant: str, day: str) -> Spent:
        """Return a tenant's usage on a day."""

    async def days(self, tenant: str, first: str) -> dict[str, Spent]:
        """Return a tenant's usage by day from `first` on; days without usage are missing."""

    async def of_user(self, tenant: str, day: str, user: str) -> Spent:
        """Return a user's usage on a day."""

    async def users(self, tenant: str, day: str, after: str, most: int) -> dict[str, Spent]:
        """Return users' usage on a day: at most `most` users, by id, after the given one."""

    async def add(self, items: dict[Account, Spent]) -> None:
        """Add usage, all of it or none."""

    async def take(self, tenant: str, day: str, spent: Spent, allowance: Allowance) -> bool:
        """Reserve usage if any of the tenant's allowance is left; return whether it was."""


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A call by its request id: the hash of its request, the seed of its ids, and whether its object was created."""

    content: str
    seed: str
    create_time: datetime
    made: bool = False


class Requests(Protocol):
    """Calls by tenant, user and request id; see `adapters.request_ids.RequestTable`."""

    async def find(self, scope: Scope, request_id: str, since: datetime) -> StoredRequest | None:
        """Return a call made after a time; an older one is deleted."""

    async def add(self, scope: Scope, request_id: str, request: StoredRequest) -> bool:
        """Store a call; False if the id is in use."""

    async def note_made(self, scope: Scope, request_id: str, seed: str) -> None:
        """Note that the call's object was created."""

    async def forget(self, scope: Scope, request_id: str, seed: str) -> None:
        """Delete a call."""

    async def sweep(self, before: datetime) -> None:
        """Delete calls made before a time."""
