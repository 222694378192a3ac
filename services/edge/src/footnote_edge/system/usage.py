"""Callers' storage and usage today, and access to these figures."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1.upkeep_service_pb2 import CountKeptRequest, CountKeptResponse, Kept
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.access import sees_all
from footnote_kit.errors import NotOffered, PermissionDenied
from footnote_kit.paging import LARGEST_SIZE, Page

from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent
from footnote_edge.ports import Stages


@dataclass(frozen=True, slots=True)
class Counts:
    """Stored documents, the bytes of their files, usage today; collections if counted."""

    documents: int = 0
    bytes: int = 0
    spent: Spent = field(default_factory=Spent)
    collections: int | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """The caller's usage, and the tenant's for those who may see it."""

    own: Counts
    tenant: Counts | None


class UsageReports:
    """Combines the stages' stored amounts and the meter's usage."""

    def __init__(self, stages: Stages, meter: Meter, timeout: float) -> None:
        self._stages = stages
        self._meter = meter
        self._timeout = timeout

    async def of(self, scope: Scope) -> Use:
        """Return the caller's stored amounts and usage."""
        stored = await self._stored(scope)
        own = _counts(stored.own, await self._meter.today_of(scope.tenant_id, scope.user_id))
        if not sees_all(scope):
            return Use(own, None)
        request = indexing.ListCollectionsRequest(scope=scope, page_size=1)
        listed = await self._stages.indexing.ListCollections(request, timeout=self._timeout)
        return Use(own, _counts(stored.tenant, await self._meter.today(scope.tenant_id), listed.total_size))

    async def days(self, tenant: str, first: str) -> dict[str, Spent]:
        """Return a tenant's usage on each day from `first` on, given as 2026-11-22."""
        return await self._meter.days(tenant, first)

    async def page(self, scope: Scope, page: Page) -> tuple[list[tuple[str, Counts]], str]:
        """Return a page of the tenant's users by id, each with its usage, and the next page's token.

        Raises PermissionDenied for callers that are not administrators.
        """
        after = page.position[0] if page.position else ""
        most = page.size + 1
        stored = {one.owner_id: one for one in (await self._stored(scope, most, after)).owners}
        spent = await self._meter.users_today(scope.tenant_id, after, most)
        # Each side returns its first users, so the first ones of the union are complete.
        names = sorted({*stored, *spent})
        shown = names[: page.size]
        nothing = Kept()
        found = [(name, _counts(stored.get(name, nothing), spent.get(name, Spent()))) for name in shown]
        return found, page.token((shown[-1],)) if len(names) > len(shown) else ""

    async def _stored(self, scope: Scope, owners: int = 0, after: str = "") -> CountKeptResponse:
        request = CountKeptRequest(scope=scope, owners=owners, after_owner=after)
        try:
            counted: CountKeptResponse = await self._stages.ingestion_upkeep.CountKept(request, timeout=self._timeout)
        except NotOffered:  # by a third-party ingestion stage
            return await counted_by_listing(self._stages, request, self._timeout)
        return counted


async def counted_by_listing(stages: Stages, request: CountKeptRequest, timeout: float) -> CountKeptResponse:
    """Count the documents that the caller may see as CountKept does, by listing all of them."""
    scope = request.scope
    if request.owners and not sees_all(scope):
        raise PermissionDenied("Only administrators see the storage of other users")
    by_owner: defaultdict[str, Kept] = defaultdict(Kept)
    token = ""
    while True:
        page = ingestion.ListDocumentsRequest(scope=scope, page_size=LARGEST_SIZE, page_token=token)
        listed: ingestion.ListDocumentsResponse = await stages.ingestion.ListDocuments(page, timeout=timeout)
        for one in listed.documents:
            by_owner[one.owner_id].documents += 1
            by_owner[one.owner_id].bytes += one.size_bytes + one.replacement.size_bytes
        token = listed.next_page_token
        if not token:
            break
    for owner, stored in by_owner.items():
        stored.owner_id = owner
    found = CountKeptResponse(own=by_owner.get(scope.user_id, Kept(owner_id=scope.user_id)))
    if sees_all(scope):
        every = by_owner.values()
        found.tenant.MergeFrom(Kept(documents=sum(x.documents for x in every), bytes=sum(x.bytes for x in every)))
        names = sorted(owner for owner in by_owner if owner > request.after_owner)[: request.owners]
        found.owners.extend(by_owner[name] for name in names)
    return found


def day_end(now: datetime | None = None) -> datetime:
    """Return the end of the current usage day, in UTC."""
    now = now or datetime.now(UTC)
    return datetime.combine(now.date() + timedelta(days=1), time(), UTC)


def _counts(stored: Kept, spent: Spent, collections: int | None = None) -> Counts:
    return Counts(stored.documents, stored.bytes, spent, collections)
