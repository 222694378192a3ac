"""Allowances of tenants: the deployment's limits, and an operator's limits for individual tenants."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict

from cachetools import TTLCache
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page
from footnote_kit.validation import checked_name

from footnote_edge.gateway.ports import LIMITS, Allowance, TenantLimits, TenantOverrides
from footnote_edge.settings import Settings

CACHE_SECONDS = 5.0
"""Seconds until a running edge sees a change."""

CACHE_SIZE = 10_000


class Allowances:
    """Reads and changes the allowances of tenants."""

    def __init__(self, limits: TenantLimits, settings: Settings) -> None:
        self._limits = limits
        self._usual = Allowance(
            documents=settings.max_documents_per_tenant,
            bytes=settings.max_bytes_per_tenant,
            collections=settings.max_collections_per_tenant,
            tokens_per_day=settings.max_tokens_per_day,
            cost_per_day=settings.max_cost_per_day,
        )
        self._cache: TTLCache[str, Allowance] = TTLCache(CACHE_SIZE, CACHE_SECONDS)

    async def of(self, tenant: str) -> Allowance:
        """Return a tenant's allowance; a change is visible within CACHE_SECONDS."""
        if (known := self._cache.get(tenant)) is not None:
            return known
        found = Allowance(**{**asdict(self._usual), **(await self._limits.read(tenant)).limits})
        self._cache[tenant] = found
        return found

    async def own(self, tenant: str) -> TenantOverrides:
        """Return a tenant's own limits from the database."""
        return await self._limits.read(tenant)

    async def set(self, tenant: str, changes: Mapping[str, float | None]) -> TenantOverrides:
        """Change a tenant's own limits and return them; limits not named stay, None removes one.

        Raises InvalidArgument for a negative limit.
        """
        checked_name("tenant_id", tenant)
        for name, value in changes.items():
            if value is not None and not 0 <= value < float("inf"):
                raise InvalidArgument.field(name, "must not be negative; 0 is no limit")
        found = await self._limits.change(tenant, changes)
        self._cache.pop(tenant, None)
        return found

    async def clear(self, tenant: str) -> bool:
        """Remove a tenant's own limits; False if it had none."""
        had = bool((await self.own(tenant)).limits)
        await self.set(tenant, dict.fromkeys(LIMITS))
        return had

    async def listed(self) -> list[tuple[str, dict[str, float]]]:
        """Return the tenants that have their own limits, with these."""
        return [(own.tenant_id, dict(own.limits)) for own in await self._limits.listed()]

    async def page(self, page: Page) -> tuple[list[TenantOverrides], str]:
        """Return a page of tenants with their own limits, by id, and the next page's token."""
        return await self._limits.page(page)


def raising(tenant: str, option: str, limit: float) -> str:
    """Return the command that doubles a tenant's limit."""
    return f"footnote limits set {shlex.quote(tenant)} --{option} {2 * limit:.12g}"
