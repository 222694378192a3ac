"""Permissions at the indexing service: every RPC that names a collection, for every kind of caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.internal.indexing.v1alpha1 import layout_service_pb2 as layout
from footnote.stages.v1 import scope_pb2, stored_document_pb2
from footnote.types.v1 import answer_pb2, collection_pb2, role_pb2
from footnote.types.v1.collection_pb2 import ACCESS_READ, ACCESS_WRITE, VISIBILITY_PRIVATE, Collection, Grant
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_indexing.app import build
from footnote_kit.errors import AlreadyExists, FootnoteError, InvalidArgument, NotFound, PermissionDenied
from footnote_kit.testing import serve_app
from support import postgres
from support.blocks import article
from support.indexing import Client, requests
from support.matrices import sqlite_alone

pytestmark = pytest.mark.full

READER, WRITER, ADMIN, SYSTEM = (
    role_pb2.ROLE_READER, role_pb2.ROLE_WRITER, role_pb2.ROLE_ADMIN, role_pb2.ROLE_SYSTEM,
)  # fmt: skip
NONE, READ, WRITE, MANAGE = range(4)


@pytest.fixture(params=["sqlite", "postgresql"])
async def channel(uri: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A channel to indexing on SQLite, then on PostgreSQL."""
    if request.param == "postgresql":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "indexing")
        monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", url)
    async with serve_app(build, vector_store_uri=uri) as served:
        yield served.channel


def scope(user: str, role: Any = WRITER, *groups: str, tenant: str = "t") -> scope_pb2.Scope:
    return scope_pb2.Scope(tenant_id=tenant, user_id=user, roles=[role], groups=groups)


# Who asks -> what it may do in a private collection of the writer ann, and in one shared with all of the tenant.
CALLERS = {
    "owner": (scope("ann"), MANAGE, WRITE),
    "owner, now a reader": (scope("ann", READER), READ, READ),
    "reader": (scope("eve", READER), NONE, READ),
    "writer": (scope("eve"), NONE, WRITE),
    "no role": (scope_pb2.Scope(tenant_id="t", user_id="eve"), NONE, READ),
    "admin": (scope("adm", ADMIN), MANAGE, MANAGE),
    "service": (scope("svc", SYSTEM), MANAGE, MANAGE),
    "granted to read": (scope("rita"), READ, WRITE),
    "granted to write": (scope("wim"), WRITE, WRITE),
    "granted to write, but a reader": (scope("wim", READER), READ, READ),
    "of the group that reads": (scope("gus", WRITER, "lab"), READ, WRITE),
    "of the group that writes": (scope("gus", WRITER, "lab", "office"), WRITE, WRITE),
    "of other groups": (scope("gus", WRITER, "Lab", "ann", "rita"), NONE, WRITE),
    "other tenant's admin": (scope("ann", ADMIN, "lab", "office", tenant="u"), NONE, NONE),
    "other tenant's owner": (scope("ann", WRITER, tenant="u"), NONE, NONE),
}
GRANTS = [
    Grant(user_id="rita", access=ACCESS_READ), Grant(user_id="wim", access=ACCESS_WRITE),
    Grant(group="lab", access=ACCESS_READ), Grant(group="office", access=ACCESS_WRITE),
]  # fmt: skip


async def stream(client: Client, name: str) -> None:
    header = stored_document_pb2.Document(
        id=f"d-{client.scope.user_id}-{name}", collection_id=name, revision=1, filename="d.md"
    )
    async for _ in client.stub.IndexDocument(requests(client.scope, header, article(1)), timeout=60):
        pass


def update(client: Client, collection: Collection, *paths: str) -> Any:
    request = pb.UpdateCollectionRequest(
        scope=client.scope, collection=collection.id or collection.name, resource=collection
    )
    request.update_mask.paths.extend(paths)
    return client.stub.UpdateCollection(request)


async def chunk(client: Client, name: str) -> None:
    """Ask for chunks of a missing revision: only readers of the collection learn that it is missing."""
    request = pb.ListChunksRequest(scope=client.scope, collection_id=name, document_id="none", revision=1)
    with pytest.raises(NotFound) as caught:
        await client.stub.ListChunks(request)
    if caught.value.reason != "CHUNK_NOT_FOUND":
        raise caught.value


async def row(client: Client, name: str) -> None:
    """Ask for a missing row: only readers of the collection learn that it is missing."""
    with pytest.raises(NotFound) as caught:
        await client.stub.GetVector(pb.GetVectorRequest(scope=client.scope, collection=name, vector_id="none"))
    if caught.value.reason != "VECTOR_NOT_FOUND":
        raise caught.value


RPCS: dict[str, tuple[int, Callable[[Client, str], Any]]] = {
    "GetCollection": (READ, lambda c, n: c.get(n)),
    "ResolveCollections": (READ, lambda c, n: c.resolve(n)),
    "LocateCollections": (READ, lambda c, n: c.locate(n)),
    "GetIndexStats": (READ, lambda c, n: c.stats(n)),
    "IndexDocument": (WRITE, stream),
    "DeleteDocumentChunks": (
        WRITE,
        lambda c, n: c.stub.DeleteDocumentChunks(
            pb.DeleteDocumentChunksRequest(scope=c.scope, collection_id=n, document_id="none")
        ),
    ),
    "CancelDocument": (
        WRITE,
        lambda c, n: c.stub.CancelDocument(
            pb.CancelDocumentRequest(scope=c.scope, collection_id=n, document_id="none", revision=1)
        ),
    ),
    "UpdateDocumentChunks": (
        WRITE,
        lambda c, n: c.stub.UpdateDocumentChunks(
            pb.UpdateDocumentChunksRequest(
                scope=c.scope, document=stored_document_pb2.Document(id="none", collection_id=n)
            )
        ),
    ),
    "AddVectors": (
        WRITE,
        lambda c, n: c.stub.AddVectors(
            pb.AddVectorsRequest(
                scope=c.scope, collection=n, rows=[VectorRow(id="v", text="x", vector=[1.0] * 384)]
            )
        ),
    ),
    "GetVector": (READ, row),
    "ListChunks": (READ, chunk),
    "ListVectors": (READ, lambda c, n: c.stub.ListVectors(pb.ListVectorsRequest(scope=c.scope, collection=n))),
    "DeleteVectors": (
        WRITE,
        lambda c, n: c.stub.DeleteVectors(
            pb.DeleteVectorsRequest(scope=c.scope, collection=n, ids=["none"], allow_missing=True)
        ),
    ),
    "UpdateCollection": (MANAGE, lambda c, n: update(c, Collection(name=n, description="changed"), "description")),
    "HideCollection": (
        MANAGE, lambda c, n: c.stub.HideCollection(pb.HideCollectionRequest(scope=c.scope, collection=n)),
    ),
    "DeleteCollection": (
        MANAGE, lambda c, n: c.stub.DeleteCollection(pb.DeleteCollectionRequest(scope=c.scope, collection=n)),
    ),
}  # fmt: skip
# What no collection is named by, or everything visible is meant; tested by themselves below.
OTHERS = {
    "CreateCollection", "ListCollections", "AuthorizeCollections", "IndexMessages", "DeleteMessages",
    "ListProviders", "ValidateProvider", "CheckProvider",
    "GetChunk",  # by its own id; in test_indexing_chunks.py
}  # fmt: skip


def test_every_rpc_is_looked_at() -> None:
    services = (pb.DESCRIPTOR.services_by_name["IndexingService"], layout.DESCRIPTOR.services_by_name["LayoutService"])
    assert {method.name for service in services for method in service.methods} == {*RPCS, *OTHERS}


async def make(channel: Any, as_: scope_pb2.Scope, name: str, **fields: Any) -> Collection:
    wanted = Collection(name=name, **fields)
    request = pb.CreateCollectionRequest(scope=as_, collection=wanted)
    made: Collection = (await Client(channel, as_).stub.CreateCollection(request)).collection
    return made


async def outcome(call: Callable[[Client, str], Any], client: Client, name: str) -> tuple[str, str]:
    """Say how a call went, with the error's words where the name itself is left out."""
    try:
        await call(client, name)
    except FootnoteError as error:
        return type(error).__name__, f"{error.message} {error.reason} {error.metadata}".replace(name, "…")
    return "ok", ""


async def test_every_rpc_for_every_caller(channel: Any) -> None:
    cells = 0
    for rpc, (needed, call) in RPCS.items():
        private = await make(channel, scope("ann"), "anns", visibility=VISIBILITY_PRIVATE, grants=GRANTS)
        shared = await make(channel, scope("adm", ADMIN), "everybodys")
        for who, (caller, in_private, in_shared) in CALLERS.items():
            client = Client(channel, caller)
            for collection, held in ((private, in_private), (shared, in_shared)):
                absent = await outcome(call, client, "0" * 32)
                went = await outcome(call, client, collection.id)
                cell = (rpc, who, collection.name)
                if held == NONE:
                    assert went == absent, cell
                    assert went[0] == "NotFound", cell
                else:
                    assert went[0] == ("ok" if held >= needed else "PermissionDenied"), (cell, went)
                if rpc in ("DeleteCollection", "HideCollection") and went[0] == "ok":
                    again = {"visibility": VISIBILITY_PRIVATE, "grants": GRANTS} if collection is private else {}
                    maker = scope("ann") if collection is private else scope("adm", ADMIN)
                    made = await make(channel, maker, collection.name, **again)
                    collection.CopyFrom(made)
                cells += 1
        for one in (private, shared):
            await RPCS["DeleteCollection"][1](Client(channel, scope("adm", ADMIN)), one.id)
    assert cells == len(RPCS) * len(CALLERS) * 2


async def test_a_hidden_collection_is_there_for_services_alone(channel: Any) -> None:
    adm, system = scope("adm", ADMIN), scope("edge", SYSTEM)
    kept = await make(channel, adm, "hidden")

    def hide(as_: scope_pb2.Scope, name: str, *, restore: bool = False) -> Any:
        request = pb.HideCollectionRequest(scope=as_, collection=name, restore=restore)
        return Client(channel, as_).stub.HideCollection(request)

    assert (await hide(adm, "hidden")).collection_id == kept.id
    await hide(system, kept.id)  # once more
    for caller in (adm, scope("ann"), scope("eve", READER)):
        client = Client(channel, caller)
        listed = await client.stub.ListCollections(pb.ListCollectionsRequest(scope=caller))
        assert kept.id not in {one.id for one in listed.collections}
        held = await client.stub.AuthorizeCollections(
            pb.AuthorizeCollectionsRequest(scope=caller, collection_ids=[kept.id])
        )
        assert not held.collections
        for name in (kept.id, "hidden"):
            for call in (client.get(name), client.locate(name), hide(caller, name), hide(caller, name, restore=True)):
                with pytest.raises(NotFound):
                    await call
    assert (await Client(channel, system).get(kept.id)).name == "hidden"
    other = await make(channel, adm, "hidden")
    with pytest.raises(AlreadyExists):
        await hide(system, kept.id, restore=True)
    await RPCS["DeleteCollection"][1](Client(channel, adm), other.id)
    for _ in range(2):
        await hide(system, kept.id, restore=True)
    assert (await Client(channel, adm).get("hidden")).id == kept.id
    await RPCS["HideCollection"][1](Client(channel, adm), kept.id)
    await RPCS["DeleteCollection"][1](Client(channel, system), kept.id)


async def test_lists_hold_what_may_be_seen_and_grants_are_for_those_who_manage(channel: Any) -> None:
    private = await make(channel, scope("ann"), "anns", visibility=VISIBILITY_PRIVATE, grants=GRANTS)
    shared = await make(channel, scope("adm", ADMIN), "everybodys")
    words = {READ: (ACCESS_READ, False), WRITE: (ACCESS_WRITE, False), MANAGE: (ACCESS_WRITE, True)}
    for who, (caller, in_private, in_shared) in CALLERS.items():
        stub = Client(channel, caller).stub
        expected = {one.id: held for one, held in ((private, in_private), (shared, in_shared)) if held}
        listed = await stub.ListCollections(pb.ListCollectionsRequest(scope=caller))
        assert {one.id for one in listed.collections} == set(expected), who
        assert listed.total_size == len(expected), who
        for one in listed.collections:
            seen = await Client(channel, caller).get(one.id)
            seen.ClearField("effective_settings")  # lists leave them out
            assert seen == one
            wanted = GRANTS if one.id == private.id and in_private == MANAGE else []
            assert list(one.grants) == wanted, who
            held = expected[one.id]
            assert (one.may_write, one.may_manage) == (held >= WRITE, held >= MANAGE), who
        for ids in ([], [shared.id, private.id, "nothing"]):
            request = pb.AuthorizeCollectionsRequest(scope=caller, collection_ids=ids)
            held = (await stub.AuthorizeCollections(request)).collections
            assert {one.collection_id: (one.access, one.may_manage) for one in held} == {
                key: words[value] for key, value in expected.items()
            }, who
        everything = await Client(channel, caller).locate()
        assert {one.collection.id for one in everything.collections} == set(expected), who
        stats = await stub.GetIndexStats(pb.GetIndexStatsRequest(scope=caller))
        assert {one.collection_id for one in stats.collections} == set(expected), who


async def test_who_may_make_and_share_what(channel: Any) -> None:
    for role in (READER, WRITER):
        with pytest.raises(PermissionDenied):
            await make(channel, scope("ann", role), "open")
    with pytest.raises(PermissionDenied):
        await make(channel, scope("ann", READER), "mine", visibility=VISIBILITY_PRIVATE)
    with pytest.raises(InvalidArgument, match="for private collections"):
        await make(channel, scope("adm", ADMIN), "open", grants=GRANTS)
    made = await make(channel, scope("ann"), "mine", visibility=VISIBILITY_PRIVATE)
    ann, adm, rita = (Client(channel, one) for one in (scope("ann"), scope("adm", ADMIN), scope("rita", READER)))
    opened = Collection(id=made.id, visibility=collection_pb2.VISIBILITY_SHARED)
    with pytest.raises(PermissionDenied, match="role admin"):
        await update(ann, opened, "visibility")
    shared = (await update(ann, Collection(id=made.id, grants=GRANTS[:1]), "grants")).collection
    assert list(shared.grants) == GRANTS[:1]
    assert (await rita.get("mine")).id == made.id
    with pytest.raises(InvalidArgument, match="for private collections"):
        await update(adm, opened, "visibility")
    assert not (await update(ann, Collection(id=made.id), "grants")).collection.grants
    with pytest.raises(NotFound):
        await rita.get("mine")
    assert (await update(adm, opened, "visibility")).collection.owner_id == "ann"
    assert (await rita.get("mine")).id == made.id
    with pytest.raises(PermissionDenied, match="not change"):
        await update(ann, Collection(id=made.id, description="still mine?"), "description")


async def test_names_tell_nothing_of_what_is_hidden(channel: Any) -> None:
    ann, bob, adm = scope("ann"), scope("bob"), scope("adm", ADMIN)
    private = {"visibility": VISIBILITY_PRIVATE}
    anns = await make(channel, ann, "plans", **private)
    bobs = await make(channel, bob, "plans", **private, grants=[Grant(user_id="rita")])
    with pytest.raises(AlreadyExists):
        await make(channel, ann, "plans", **private)
    as_ = {name: Client(channel, one) for name, one in (("ann", ann), ("bob", bob), ("adm", adm))}
    rita = Client(channel, scope("rita", READER))
    assert (await as_["ann"].get("plans")).id == anns.id
    assert (await as_["bob"].get("plans")).id == bobs.id
    assert (await rita.get("plans")).id == bobs.id
    with pytest.raises(InvalidArgument, match=f"give the id of one: .*{bobs.id}"):
        await as_["adm"].get("plans")
    everybodys = await make(channel, adm, "plans")
    with pytest.raises(AlreadyExists):
        await make(channel, adm, "plans")
    for name, expected in (("ann", anns), ("bob", bobs), ("adm", everybodys)):
        assert (await as_[name].get("plans")).id == expected.id
        own = anns if name == "ann" else bobs
        assert (await as_[name].get(own.id)).id == own.id
    assert (await rita.get("plans")).id == everybodys.id
    assert (await rita.get(bobs.id)).id == bobs.id
    with pytest.raises(AlreadyExists):
        await update(as_["adm"], Collection(id=anns.id, visibility=collection_pb2.VISIBILITY_SHARED), "visibility")
    more = [f"x{n}" for n in range(4)]
    for name in more:
        await make(channel, adm, name)
    seen, token = [], ""
    while True:
        request = pb.ListCollectionsRequest(scope=adm, page_size=2, page_token=token)
        page = await as_["adm"].stub.ListCollections(request)
        seen += [one.id for one in page.collections]
        if not (token := page.next_page_token):
            break
    assert len(seen) == len(set(seen)) == page.total_size == 7


@sqlite_alone("channel")
async def test_a_user_cannot_overwrite_or_forget_the_messages_of_another(channel: Any) -> None:
    async def remember(user: str, text: str) -> None:
        message = answer_pb2.MemoryMessage(message_id="m1", conversation_id="c1", text=text)
        request = pb.IndexMessagesRequest(scope=scope(user), messages=[message])
        assert (await Client(channel, scope(user)).stub.IndexMessages(request)).count == 1

    async def forget(user: str) -> int:
        request = pb.DeleteMessagesRequest(scope=scope(user), conversation_id="c1")
        return int((await Client(channel, scope(user)).stub.DeleteMessages(request)).count)

    await remember("ann", "the invoice of March")
    await remember("eve", "nothing")
    assert await forget("eve") == 1
    assert await forget("eve") == 0
    assert await forget("ann") == 1
