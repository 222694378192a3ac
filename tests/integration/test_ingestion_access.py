"""Permissions for documents: every RPC of the ingestion service, for every caller, in every kind of collection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.collection_pb2 import ACCESS_READ, ACCESS_WRITE, VISIBILITY_PRIVATE, Collection, Grant
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_PROCESSING
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_SYSTEM, ROLE_WRITER
from footnote_ingestion.app import build
from footnote_kit.authorizer import FRESH_SECONDS
from footnote_kit.errors import (
    DeadlineExceeded,
    FootnoteError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Unavailable,
)
from footnote_kit.testing import Served, serve_app
from google.protobuf.field_mask_pb2 import FieldMask
from support import postgres
from support.doubles.collection_access import AccessDouble, serve_access
from support.ingestion_client import Client
from support.matrices import sqlite_alone

pytestmark = pytest.mark.full

NONE, READ, WRITE = range(3)


def scope(user: str, role: Any = ROLE_WRITER, *groups: str, tenant: str = "t") -> Scope:
    return Scope(tenant_id=tenant, user_id=user, roles=[role], groups=groups)


SHARED = Collection(id="shared", tenant_id="t", owner_id="adm")
PRIVATE = Collection(
    id="private", tenant_id="t", owner_id="ann", visibility=VISIBILITY_PRIVATE,
    grants=[Grant(user_id="rita", access=ACCESS_READ), Grant(group="office", access=ACCESS_WRITE)],
)  # fmt: skip
# Who asks -> what it may do with documents that are shared, private to ann, and of a collection that is gone.
CALLERS = {
    "owner": (scope("ann"), WRITE, WRITE, NONE),
    "owner, now a reader": (scope("ann", ROLE_READER), READ, READ, NONE),
    "reader": (scope("eve", ROLE_READER), READ, NONE, NONE),
    "writer": (scope("eve"), WRITE, NONE, NONE),
    "no role": (Scope(tenant_id="t", user_id="eve"), READ, NONE, NONE),
    "granted to read": (scope("rita"), WRITE, READ, NONE),
    "of the group that writes": (scope("gus", ROLE_WRITER, "office"), WRITE, WRITE, NONE),
    "of the group, a reader": (scope("gus", ROLE_READER, "office"), READ, READ, NONE),
    "admin": (scope("adm", ROLE_ADMIN), WRITE, WRITE, WRITE),
    "service": (scope("svc", ROLE_SYSTEM), WRITE, WRITE, WRITE),
    "other tenant's admin": (scope("ann", ROLE_ADMIN, tenant="u"), NONE, NONE, NONE),
    "other tenant's owner": (scope("ann", ROLE_WRITER, tenant="u"), NONE, NONE, NONE),
}


async def without_tables(call: Awaitable[Any]) -> None:
    """Wait for a call about tables; the documents of these tests have none, which only their readers learn."""
    try:
        await call
    except NotFound as error:
        if error.reason != "TABLE_NOT_FOUND":
            raise
    except InvalidArgument as error:
        if error.violations[0][0] != "document_ids":
            raise


RPCS: dict[str, tuple[int, Callable[[Client, str], Any]]] = {
    "GetDocument": (READ, lambda c, d: c.get(d)),
    "DownloadDocument": (READ, lambda c, d: c.download(d)),
    "ParseDocument": (READ, lambda c, d: c.parse(d)),
    "ReplaceDocument": (WRITE, lambda c, d: c.replace(d, f"{time.time_ns()}".encode())),
    "UpdateDocumentState": (WRITE, lambda c, d: c.move(d)),
    "UpdateDocument": (
        WRITE,
        lambda c, d: c.stub.UpdateDocument(
            pb.UpdateDocumentRequest(
                scope=c.scope, document_id=d, resource=Document(tags=["new"]), update_mask=FieldMask(paths=["tags"])
            )
        ),
    ),
    "ConfirmLabels": (
        WRITE,
        lambda c, d: c.upkeep.ConfirmLabels(upkeep.ConfirmLabelsRequest(scope=c.scope, document_id=d, etag="1")),
    ),
    "BeginDeletion": (
        WRITE,
        lambda c, d: c.upkeep.BeginDeletion(upkeep.BeginDeletionRequest(scope=c.scope, document_id=d)),
    ),
    "DescribeTables": (
        READ,
        lambda c, d: c.stub.DescribeTables(pb.DescribeTablesRequest(scope=c.scope, document_id=d)),
    ),
    "ReadTable": (
        READ,
        lambda c, d: without_tables(
            c.stub.ReadTable(pb.ReadTableRequest(scope=c.scope, document_id=d, number=1)),
        ),
    ),
    "QueryTables": (
        READ,
        lambda c, d: without_tables(
            c.stub.QueryTables(pb.QueryTablesRequest(scope=c.scope, document_ids=[d], query="SELECT 1")),
        ),
    ),
    "ComputeAnswer": (
        READ,
        lambda c, d: c.stub.ComputeAnswer(
            pb.ComputeAnswerRequest(scope=c.scope, question="What is the total?", document_ids=[d], locale="en")
        ),
    ),
    "DeleteDocument": (WRITE, lambda c, d: c.delete(d)),
}
SILENT = {"DeleteDocument", "ComputeAnswer"}
"""RPCs that pass over a document that their caller may not see."""
# The last is about no document.
OTHERS = {
    "UploadDocument", "ListDocuments", "ListDocumentChanges", "ListUnfinishedDocuments", "FindDocuments", "CountKept",
    "GetIsolation",
}  # fmt: skip


def test_every_rpc_is_looked_at() -> None:
    services = (pb.DESCRIPTOR.services_by_name["IngestionService"], upkeep.DESCRIPTOR.services_by_name["UpkeepService"])
    assert {method.name for service in services for method in service.methods} == {*RPCS, *OTHERS}


@pytest.fixture
def authority() -> AccessDouble:
    """The double of indexing that answers AuthorizeCollections."""
    return AccessDouble(SHARED, PRIVATE, Collection(id="gone", tenant_id="t", owner_id="ann"))


@pytest.fixture(params=["sqlite", "postgres"])
async def served(
    authority: AccessDouble, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Served]:
    """Ingestion on SQLite, then on PostgreSQL, before that double."""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "ingestion")
        monkeypatch.setenv("FOOTNOTE_INGESTION_DATABASE_URL", url)
    async with serve_access(authority) as indexing, serve_app(
        build, addresses={"indexing": indexing.address}
    ) as running:  # fmt: skip
        yield running


async def outcome(call: Callable[[Client, str], Any], client: Client, document_id: str) -> tuple[str, str]:
    try:
        await call(client, document_id)
    except FootnoteError as error:
        return type(error).__name__, f"{error.message} {error.reason} {error.metadata}".replace(document_id, "…")
    return "ok", ""


async def put(served: Served, collection: str) -> str:
    uploaded = await Client(served, scope("svc", ROLE_SYSTEM)).upload(b"The plan is secret.", collection=collection)
    return str(uploaded.document.id)


async def exists(served: Served, document_id: str) -> bool:
    return (await outcome(RPCS["GetDocument"][1], Client(served, scope("svc", ROLE_SYSTEM)), document_id))[0] == "ok"


async def test_every_rpc_for_every_caller(served: Served, authority: AccessDouble) -> None:
    authority.collections.pop()
    cells = 0
    for rpc, (needed, call) in RPCS.items():
        documents = {name: await put(served, name) for name in ("shared", "private", "gone")}
        for who, (caller, *held_in) in CALLERS.items():
            client = Client(served, caller)
            for (name, document_id), held in zip(list(documents.items()), held_in, strict=True):
                before = len(authority.calls)
                absent = await outcome(call, client, "0" * 32)
                between = len(authority.calls)
                went = await outcome(call, client, document_id)
                cell = (rpc, who, name, went)
                if held == NONE:
                    assert went == absent, cell
                    assert went[0] == ("ok" if rpc in SILENT else "NotFound"), cell
                    assert await exists(served, document_id), cell
                    if caller.tenant_id == "t":
                        assert between - before == len(authority.calls) - between == 1, cell
                else:
                    assert went[0] == ("ok" if held >= needed else "PermissionDenied"), cell
                    if rpc == "DeleteDocument":
                        assert await exists(served, document_id) == (held < needed), cell
                if not await exists(served, document_id):
                    documents[name] = await put(served, name)
                cells += 1
    assert cells == len(RPCS) * len(CALLERS) * 3


async def test_uploads_and_duplicates(served: Served, authority: AccessDouble) -> None:
    authority.collections.pop()
    for name in ("shared", "private"):
        await put(served, name)
    for who, (caller, *held_in) in CALLERS.items():
        client = Client(served, caller)
        for name, held in zip(("shared", "private", "gone"), held_in, strict=True):
            absent = await outcome(lambda c, n: c.upload(b"The plan is secret.", collection=n), client, "none")
            went = await outcome(lambda c, n: c.upload(b"The plan is secret.", collection=n), client, name)
            if held == NONE or (name == "gone" and who == "admin"):
                assert went == absent, (who, name)
                assert went[0] == ("ok" if who == "service" else "NotFound"), (who, name)
            else:
                assert went[0] == ("ok" if held >= WRITE else "PermissionDenied"), (who, name)


async def test_changes_are_for_those_who_may_read(served: Served, authority: AccessDouble) -> None:
    authority.collections.pop()
    for name in ("shared", "private"):
        await put(served, name)

    told: list[str] = []

    async def changes(client: Client, name: str) -> None:
        request = pb.ListDocumentChangesRequest(scope=client.scope, collection_id=name)
        told[:] = [one.id async for part in client.stub.ListDocumentChanges(request) for one in part.documents]

    for who, (caller, *held_in) in CALLERS.items():
        client = Client(served, caller)
        absent = await outcome(changes, client, "none")
        # Of a collection that is gone the documents are the tenant's administrators': for them it is only empty.
        assert absent[0] == ("ok" if {ROLE_ADMIN, ROLE_SYSTEM} & set(caller.roles) else "NotFound"), who
        for name, held in zip(("shared", "private"), held_in[:2], strict=True):
            went = await outcome(changes, client, name)
            assert went == (("ok", "") if held >= READ else absent), (who, name)
            assert bool(told) == (held >= READ), (who, name)
            told.clear()


async def test_lists_and_counts_hold_what_may_be_read(served: Served, authority: AccessDouble) -> None:
    authority.collections.pop()
    documents = {name: await put(served, name) for name in ("shared", "private", "gone")}
    for who, (caller, *held_in) in CALLERS.items():
        client = Client(served, caller)
        seen = {documents[name] for name, held in zip(documents, held_in, strict=True) if held}
        for query in ({}, {"page_size": 1}, {"filename_contains": "NOTE"}):
            page = await client.list(**query)
            assert page.total_size == len(seen), (who, query)
            assert {one.id for one in page.documents} <= seen, (who, query)
        assert {one.id for one in (await client.list()).documents} == seen
        for name, held in zip(documents, held_in, strict=True):
            if held:
                assert (await client.list(collection_ids=[name])).total_size == 1, (who, name)
            elif caller.tenant_id == "t":
                with pytest.raises(NotFound, match=f"Collection '{name}' not found"):
                    await client.list(collection_ids=["shared", name])
        if who != "service":
            with pytest.raises(PermissionDenied, match="all tenants"):
                await client.list(all_tenants=True)
            with pytest.raises(PermissionDenied, match="all tenants"):
                await client.upkeep.ListUnfinishedDocuments(upkeep.ListUnfinishedDocumentsRequest(scope=client.scope))
            with pytest.raises(PermissionDenied, match="all tenants"):
                await client.upkeep.FindDocuments(upkeep.FindDocumentsRequest(scope=client.scope))
            undo = upkeep.BeginDeletionRequest(scope=client.scope, document_id=documents["shared"], undo=True)
            with pytest.raises(PermissionDenied, match="take a deletion back"):
                await client.upkeep.BeginDeletion(undo)


@sqlite_alone("served")
async def test_access_withdrawn_ends_within_a_moment(served: Served, authority: AccessDouble) -> None:
    document_id = await put(served, "private")
    rita = Client(served, scope("rita"))
    assert (await rita.get(document_id)).id == document_id
    private = Collection()
    private.CopyFrom(PRIVATE)
    private.ClearField("grants")
    authority.collections[1] = private
    until = time.monotonic() + FRESH_SECONDS + 5
    while (await outcome(RPCS["GetDocument"][1], rita, document_id))[0] == "ok":
        assert time.monotonic() < until
    assert (await rita.list()).total_size == 0


@sqlite_alone("served")
@pytest.mark.parametrize("who", ["gus", "adm"])
async def test_a_file_that_outlasts_its_collection_is_refused(
    served: Served, authority: AccessDouble, who: str
) -> None:
    """Nobody would find or delete it any more: the deletion of the collection has deleted what was there."""
    client = Client(served, scope("adm", ROLE_ADMIN) if who == "adm" else CALLERS["of the group that writes"][0])

    async def messages() -> AsyncIterator[pb.UploadDocumentRequest]:
        about = pb.UploadMetadata(collection_id="private", filename="long.txt")
        yield pb.UploadDocumentRequest(scope=client.scope, metadata=about)
        yield pb.UploadDocumentRequest(data=b"The plan ")
        while not authority.calls:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        authority.collections.pop(1)
        yield pb.UploadDocumentRequest(data=b"is secret.")

    with pytest.raises(NotFound, match="Collection 'private' not found"):
        await client.stub.UploadDocument(messages())
    service = Client(served, scope("svc", ROLE_SYSTEM))
    counted = await service.upkeep.CountKept(upkeep.CountKeptRequest(scope=service.scope))
    assert (counted.tenant.documents, counted.tenant.bytes) == (0, 0)


@sqlite_alone("served")
async def test_while_indexing_is_down_what_was_known_serves_reading_and_uploads(
    served: Served, authority: AccessDouble
) -> None:
    document_id = await put(served, "private")
    rita, gus, eve = (
        Client(served, one) for one in (scope("rita"), CALLERS["of the group that writes"][0], scope("e"))
    )
    await rita.get(document_id)
    await rita.list()
    await gus.upload(b"first", collection="private")
    authority.down = Unavailable("The store is being moved")
    time.sleep(FRESH_SECONDS)  # noqa: ASYNC251 - nothing else is to happen meanwhile
    assert (await rita.get(document_id)).id == document_id
    assert (await rita.download(document_id))[1]
    assert (await rita.list()).total_size == 2
    assert (await gus.upload(b"second", collection="private")).document.id
    for call in (
        lambda: eve.get(document_id), lambda: eve.get("0" * 32), eve.list, lambda: rita.get("0" * 32),
        lambda: eve.upload(b"x", collection="private"), lambda: gus.upload(b"x", collection="shared"),
        lambda: gus.delete(document_id), lambda: gus.replace(document_id, b"y"), lambda: gus.move(document_id),
    ):  # fmt: skip
        with pytest.raises(Unavailable) as caught:
            await call()
        assert caught.value.retry_after
    adm = Client(served, scope("adm", ROLE_ADMIN))
    assert (await adm.upload(b"third", collection="private")).document.id
    assert await exists(served, document_id)
    job = Client(served, scope("gus", ROLE_SYSTEM))
    await job.move(document_id, DOCUMENT_STATE_PROCESSING)


@sqlite_alone("served")
@pytest.mark.parametrize("who", ["gus", "adm"])
async def test_an_upload_waits_once_for_a_silent_indexing(served: Served, authority: AccessDouble, who: str) -> None:
    client = Client(served, scope("adm", ROLE_ADMIN) if who == "adm" else CALLERS["of the group that writes"][0])
    await client.upload(b"first", collection="private")
    authority.down = DeadlineExceeded("The store stands still")
    time.sleep(FRESH_SECONDS)  # noqa: ASYNC251 - nothing else is to happen meanwhile
    authority.calls.clear()
    assert (await client.upload(b"second", collection="private")).document.id
    assert len(authority.calls) == 1


async def test_a_list_over_thousands_of_collections(tmp_path: Path) -> None:
    authority = AccessDouble(
        *(Collection(id=f"{number:032x}", tenant_id="t", owner_id="adm") for number in range(10_000))
    )
    async with serve_access(authority) as indexing, serve_app(
        build, addresses={"indexing": indexing.address}
    ) as running:  # fmt: skip
        await put(running, f"{7:032x}")
        await put(running, f"{50_000:032x}")
        client = Client(running, scope("eve", ROLE_READER))
        assert (await client.list()).total_size == 1
        began = time.perf_counter()
        assert (await client.list()).total_size == 1
        print(f"list over 10 000 collections: {time.perf_counter() - began:.3f} s")


async def test_what_others_keep_is_counted_for_administrators_only(served: Served, authority: AccessDouble) -> None:
    authority.collections.pop()
    texts = {"ann": (b"a", b"bb"), "Zoe": (b"ccc",), "eve": (b"dddd",), "ähm": (b"e",)}
    for owner, contents in texts.items():
        for content in contents:
            await Client(served, scope(owner, ROLE_SYSTEM)).upload(content, collection="shared")
    for who, (caller, *_) in CALLERS.items():
        stub = Client(served, caller).upkeep
        counted = await stub.CountKept(upkeep.CountKeptRequest(scope=caller))
        mine = texts.get(caller.user_id, ()) if caller.tenant_id == "t" else ()
        assert (counted.own.documents, counted.own.bytes) == (len(mine), sum(map(len, mine))), who
        sees_all = bool({ROLE_ADMIN, ROLE_SYSTEM} & set(caller.roles))
        assert counted.HasField("tenant") == sees_all, who
        request = upkeep.CountKeptRequest(scope=caller, owners=3, after_owner="Zoe")
        if not sees_all:
            with pytest.raises(PermissionDenied):
                await stub.CountKept(request)
        elif caller.tenant_id == "t":
            assert (counted.tenant.documents, counted.tenant.bytes) == (5, 11), who
            rest = (await stub.CountKept(request)).owners
            assert [(one.owner_id, one.documents) for one in rest] == [("ann", 2), ("eve", 1), ("ähm", 1)], who
        else:
            assert not (await stub.CountKept(request)).owners
            assert counted.tenant.documents == 0
