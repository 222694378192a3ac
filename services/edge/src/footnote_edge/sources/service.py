"""Sources at the public API: create, get, change, synchronise, watch, delete."""

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import uuid4

from footnote.edge.v1 import sources_pb2 as pb
from footnote.edge.v1.operations_pb2 import OPERATION_KIND_DELETE_SOURCE, Operation
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.access import Access
from footnote_kit.errors import (
    Aborted,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from footnote_kit.paging import Page, fitting, moment, text
from footnote_kit.validation import changed_fields
from google.protobuf.json_format import MessageToDict

from footnote_edge.collections.collections import Collections
from footnote_edge.collections.permissions import Permissions
from footnote_edge.documents.operations import Operations
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.ports import OperationStore, new_operation
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.settings import Settings
from footnote_edge.sources import creators
from footnote_edge.sources.registry import Kinds, check
from footnote_edge.sources.schedule import Schedule
from footnote_edge.sources.secrets import Sealed, Vault
from footnote_edge.sources.stored import ItemStore, SourceStore, StoredSource, source_missing
from footnote_edge.sources.views import item_view, source_view

FIELDS = ("name", "settings", "secrets", "interval", "paused")
LEAST_INTERVAL, LONGEST_INTERVAL, DEFAULT_INTERVAL = timedelta(minutes=1), timedelta(days=31), timedelta(hours=1)
_LONGEST_NAME = 100
_LEAST_PAUSE = 0.1


class Sources:
    """Operations on sources, after an access check."""

    def __init__(
        self,
        source_store: SourceStore,
        items: ItemStore,
        kinds: Kinds,
        vault: Vault,
        schedule: Schedule,
        operation_store: OperationStore,
        operations: Operations,
        jobs: Jobs,
        collections: Collections,
        permissions: Permissions,
        request_ids: RequestIds,
        bus: ProgressBus,
        settings: Settings,
    ) -> None:
        self._source_store = source_store
        self._items = items
        self._kinds = kinds
        self._vault = vault
        self._schedule = schedule
        self._operation_store = operation_store
        self._operations = operations
        self._jobs = jobs
        self._collections = collections
        self._permissions = permissions
        self._request_ids = request_ids
        self._bus = bus
        self._most = settings.max_sources_per_tenant
        self._poll = settings.watch_poll_seconds
        self._lifetime = settings.watch_lifetime_seconds

    async def create(self, scope: Scope, request: pb.CreateSourceRequest) -> pb.Source:
        """Create a source, once under the request's id, and begin its first synchronisation."""
        return await self._request_ids.once(
            scope,
            request,
            lambda wanted: self._create(scope, request.source, wanted),
            lambda made: self.get(scope, made),
        )

    async def _create(self, scope: Scope, wanted: pb.Source, source_id: str) -> pb.Source:
        source_id = source_id or uuid4().hex
        if await self._source_store.read(source_id) is not None:
            return await self.get(scope, source_id)
        kind = self._kinds.require(wanted.kind)
        settings, secrets = _plain(wanted, "settings"), _plain(wanted, "secrets")
        check(kind, settings, secrets, "source")
        name, interval = _name(wanted.name, "source"), _interval(wanted, "source")
        if wanted.id:
            raise InvalidArgument.field("source.id", "is chosen by the server")
        if not wanted.collection:
            raise InvalidArgument.field("source.collection", "must be given")
        collection = await self._collections.for_upload(scope, wanted.collection)
        await self._permissions.collection(scope, collection, Access.WRITE)
        if self._most and await self._source_store.count(scope.tenant_id) >= self._most:
            raise ResourceExhausted(
                f"The tenant may have no more than {self._most} sources.",
                metadata={"quota": "tenant_sources", "limit": str(self._most)},
            )
        sealed = self._vault.seal(source_id, secrets) if secrets else Sealed(b"", "")
        now = datetime.now(UTC)
        row = StoredSource(
            id=source_id, tenant_id=scope.tenant_id, user_id=scope.user_id, collection_id=collection.id, name=name,
            kind=kind.id, settings=json.dumps(settings), secrets=sealed.data, secret_key=sealed.key_id,
            secret_names=json.dumps(sorted(secrets)), interval_seconds=int(interval.total_seconds()),
            paused=wanted.paused, etag=uuid4().hex, create_time=now, update_time=now, state=pb.SOURCE_STATE_NEW,
            next_time=now + interval, creator=creators.stored(scope),
        )  # fmt: skip
        await self._source_store.add(row)
        if not row.paused:
            await self._schedule.begin(row)
        return await self.get(scope, source_id)

    async def get(self, scope: Scope, source_id: str) -> pb.Source:
        """Return a source; raises NotFound for one that the caller may not see."""
        return (await self._shown(scope, [await self._seen(scope, source_id)]))[0]

    async def page(self, scope: Scope, request: pb.ListSourcesRequest) -> pb.ListSourcesResponse:
        """Return a page of the sources that the caller may see."""
        page = Page.of(scope, request, kinds=(moment, text))
        if request.collection:
            collection = await self._collections.get(scope, request.collection, Access.WRITE, counted=False)
            visible = {collection.id}
        else:
            visible = await self._permissions.writable(scope, await self._source_store.collections(scope.tenant_id))
        rows, token = await self._source_store.page(scope, page, visible)
        shown = await self._shown(scope, rows)
        count = fitting(shown)
        if count < len(shown):
            token = page.token((_iso(rows[count - 1].create_time), rows[count - 1].id))
        return pb.ListSourcesResponse(sources=shown[:count], next_page_token=token)

    def kinds(self) -> pb.ListSourceKindsResponse:
        """Return the available kinds of sources."""
        return pb.ListSourceKindsResponse(kinds=self._kinds.descriptions())

    async def update(self, scope: Scope, request: pb.UpdateSourceRequest) -> pb.Source:
        """Change the masked fields; raises Aborted for another etag."""
        paths = changed_fields(request.update_mask, request.resource, FIELDS)
        row = await self._changeable(scope, request.source_id)
        wanted, kind = request.resource, self._kinds.require(row.kind)
        await self._check_identity(scope, row, wanted)
        values: dict[str, object] = {"creator": creators.stored(scope)} if row.user_id == scope.user_id else {}
        if "name" in paths:
            values["name"] = _name(wanted.name, "resource")
        if "interval" in paths:
            interval = _interval(wanted, "resource")
            values["interval_seconds"] = seconds = int(interval.total_seconds())
            if row.next_time is not None and seconds != row.interval_seconds:
                values["next_time"] = min(row.next_time, datetime.now(UTC) + interval)
        if "paused" in paths:
            values["paused"] = wanted.paused
        if "settings" in paths or "secrets" in paths:
            sealed = Sealed(row.secrets, row.secret_key)
            settings = _plain(wanted, "settings") if "settings" in paths else json.loads(row.settings)
            if row.secrets and "secrets" not in paths and row.user_id != scope.user_id:
                # Its settings say which host gets them.
                raise PermissionDenied(
                    "Only its creator can change a source's settings and keep its secrets; give the secrets as well."
                )
            secrets = _plain(wanted, "secrets") if "secrets" in paths else self._vault.open(row.id, sealed)
            check(kind, settings, secrets, "resource", stored="settings" not in paths)
            values["settings"] = json.dumps(settings)
            if "secrets" in paths:
                sealed = self._vault.seal(row.id, secrets) if secrets else Sealed(b"", "")
                values |= {"secrets": sealed.data, "secret_key": sealed.key_id}
                values["secret_names"] = json.dumps(sorted(secrets))
            values["next_time"] = datetime.now(UTC)  # its new settings may list other items
        await self._source_store.change(row.id, wanted.etag, uuid4().hex, values)
        return await self.get(scope, row.id)

    async def delete(self, scope: Scope, request: pb.DeleteSourceRequest) -> Operation | None:
        """Delete a source; return the operation that deletes its documents, None if they stay."""
        try:
            row = await self._changeable(scope, request.source_id)
        except NotFound:
            if not request.allow_missing:
                raise
            return None
        if row.deleting and (active := await self._source_store.active(row.id)) is not None:
            return await self._operations.get(scope, active.id)
        await self._source_store.mark_deleting(row.id)
        await self._stop(row)
        if not request.with_documents:
            await self._source_store.remove(row.id)
            return None
        operation = new_operation(scope, uuid4().hex, OPERATION_KIND_DELETE_SOURCE, row.collection_id)
        operation.source_id = row.id
        await self._operation_store.add(operation)
        await self._jobs.enqueue(operation)
        return await self._operations.get(scope, operation.id)

    async def sync(self, scope: Scope, source_id: str) -> Operation:
        """Begin to synchronise a source; return the operation, or the one already in progress.

        One that has listed the source already, or only retries failed items, is followed by another.
        """
        row = await self._seen(scope, source_id)
        if row.deleting:
            raise FailedPrecondition(
                "The source is being deleted.", metadata={"state": "DELETING", "requested": "SYNC_SOURCE"}
            )
        if row.user_id == scope.user_id and row.creator != creators.stored(scope):
            with suppress(Aborted):  # changed in between, with its creator
                await self._source_store.change(row.id, row.etag, row.etag, {"creator": creators.stored(scope)})
        found = await self._schedule.begin(row, user_id=scope.user_id)
        if found is None:
            found = await self._source_store.active(row.id)
            if found is None:  # it ended in between
                return await self.sync(scope, source_id)
            await self._schedule.follow(row, found)
        return self._operations.shown(found, {row.collection_id: await self._name_of(scope, row)})

    async def items(self, scope: Scope, request: pb.ListSourceItemsRequest) -> pb.ListSourceItemsResponse:
        """Return a page of a source's items."""
        if 0 in request.states:
            raise InvalidArgument.field("states", "must not hold UNSPECIFIED; empty means all")
        row = await self._seen(scope, request.source_id)
        page = Page.of(scope, request, kinds=(text, text))
        rows, token, total = await self._items.page(row.id, page, request.states)
        shown = [item_view(one) for one in rows]
        count = fitting(shown)
        if count < len(shown):
            token = page.token((rows[count - 1].item, rows[count - 1].key))
        return pb.ListSourceItemsResponse(items=shown[:count], next_page_token=token, total_size=total)

    async def watch(self, scope: Scope, source_id: str) -> AsyncGenerator[pb.Source]:
        """Yield a source at once and after each change; raises NotFound once it is deleted."""
        end = time.monotonic() + self._lifetime
        seen: pb.Source | None = None
        with self._bus.watching(source_id) as watcher:
            while True:
                now = await self.get(scope, source_id)
                if now != seen:
                    seen = now
                    yield now
                rest = end - time.monotonic()
                if rest <= 0:
                    return
                await watcher.pause(min(_LEAST_PAUSE, rest), min(self._poll, rest))

    async def _stop(self, row: StoredSource) -> None:
        """Cancel the synchronisation of a source."""
        if (active := await self._operation_store.synchronising(row.id)) is not None:
            await self._operation_store.stop(active)

    async def _seen(self, scope: Scope, source_id: str) -> StoredSource:
        """Return a source whose collection the caller may write to; raises NotFound."""
        if not source_id:
            raise InvalidArgument.field("source_id", "must be given")
        row = await self._source_store.get(scope, source_id)
        try:
            await self._permissions.collection(scope, Collection(id=row.collection_id), Access.WRITE)
        except (NotFound, PermissionDenied):
            raise source_missing(source_id) from None
        return row

    async def _changeable(self, scope: Scope, source_id: str) -> StoredSource:
        """Return a source that the caller created, or whose collection it may change; raises PermissionDenied."""
        row = await self._seen(scope, source_id)
        if row.user_id != scope.user_id:
            try:
                await self._permissions.collection(scope, Collection(id=row.collection_id), Access.MANAGE)
            except PermissionDenied:
                raise PermissionDenied(
                    "Only its creator and users who may change its collection can change this source."
                ) from None
        return row

    async def _check_identity(self, scope: Scope, row: StoredSource, wanted: pb.Source) -> None:
        """Raise InvalidArgument if a change names another id, kind or collection than the source's."""
        if wanted.id and wanted.id != row.id:
            raise InvalidArgument.field("resource.id", "must be that of the source")
        if wanted.kind and wanted.kind != row.kind:
            raise InvalidArgument.field("resource.kind", "cannot be changed; create another source")
        if wanted.collection and wanted.collection not in (row.collection_id, await self._name_of(scope, row)):
            raise InvalidArgument.field("resource.collection", "cannot be changed; create another source")

    async def _shown(self, scope: Scope, rows: list[StoredSource]) -> list[pb.Source]:
        counts = await self._source_store.counts([row.id for row in rows])
        names = await self._operations.names(scope, {row.collection_id for row in rows})
        shown = []
        for row in rows:
            active = await self._source_store.active(row.id)
            shown.append(source_view(row, names.get(row.collection_id, ""), counts[row.id], active))
        return shown

    async def _name_of(self, scope: Scope, row: StoredSource) -> str:
        return (await self._operations.names(scope, {row.collection_id})).get(row.collection_id, "")


def _plain(wanted: pb.Source, field: Literal["settings", "secrets"]) -> Mapping[str, object]:
    return MessageToDict(getattr(wanted, field)) if wanted.HasField(field) else {}


def _name(text: str, holder: str) -> str:
    name = text.strip()
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidArgument.field(f"{holder}.name", f"must have 1 to {_LONGEST_NAME} printable characters")
    return name


def _interval(wanted: pb.Source, holder: str) -> timedelta:
    if not wanted.HasField("interval"):
        return DEFAULT_INTERVAL
    interval: timedelta = wanted.interval.ToTimedelta()
    if not LEAST_INTERVAL <= interval <= LONGEST_INTERVAL:
        raise InvalidArgument.field(f"{holder}.interval", "must be from one minute to 31 days")
    return interval


def _iso(moment: datetime) -> str:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
