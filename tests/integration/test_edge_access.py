"""Private collections at the public API: every RPC and door, for owners, those they share with, and everybody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, ReplayAnswerRequest, SearchRequest
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    DeleteCollectionRequest,
    GetCollectionRequest,
    ListCollectionsRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest, SearchMemoryRequest
from footnote.edge.v1.documents_pb2 import (
    DeleteDocumentRequest,
    Document,
    DownloadDocumentRequest,
    GetChunkRequest,
    GetDocumentRequest,
    ListChunksRequest,
    ListDocumentsRequest,
    ReindexDocumentsRequest,
    ReplaceDocumentRequest,
    ReplaceMetadata,
    UpdateDocumentRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentsRequest,
)
from footnote.edge.v1.vectors_pb2 import (
    AddVectorsRequest,
    DeleteVectorsRequest,
    GetVectorRequest,
    ListVectorsRequest,
)
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_ASSISTANT, MESSAGE_ROLE_USER, MemoryMessage
from footnote.types.v1.collection_pb2 import (
    ACCESS_READ,
    ACCESS_WRITE,
    VISIBILITY_PRIVATE,
    VISIBILITY_SHARED,
    Collection,
    Grant,
)
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_edge.app import build
from footnote_kit.degradations import word
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FootnoteError, NotFound, PermissionDenied, Unavailable
from footnote_kit.testing import Served, serve_app
from google.protobuf.field_mask_pb2 import FieldMask
from support.answer_parts import EVERY_PART
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

NONE, READ, WRITE, MANAGE = range(4)
SECRET = "Tea is brewed by the moon."
GRANTS = [Grant(user_id="rita", access=ACCESS_READ), Grant(group="office", access=ACCESS_WRITE)]


class Caller:
    """A caller of the public API."""

    def __init__(self, served: Served, user: str, role: str, groups: str = "", tenant: str = "t") -> None:
        self.stub = EdgeStub(served.channel)
        self.headers = {
            "x-footnote-tenant": tenant, "x-footnote-user": user, "x-footnote-role": role, "x-footnote-groups": groups,
        }  # fmt: skip
        self.http = f"http://{served.runtime.announced['http']}"

    async def call(self, name: str, request: Any) -> Any:
        """Call an RPC; all responses where it streams them."""
        made = getattr(self.stub, name)(request, metadata=tuple(self.headers.items()), timeout=30)
        if hasattr(made, "__aiter__"):
            return [event async for event in made]
        return await made

    async def upload(self, text: str, collection: str) -> Document:
        head = UploadMetadata(collection=collection, filename="a.txt")
        parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=text.encode())]
        return (await self.call("UploadDocument", iter(parts))).document

    async def replace(self, document_id: str, text: str) -> Any:
        head = ReplaceMetadata(document_id=document_id)
        parts = [ReplaceDocumentRequest(metadata=head), ReplaceDocumentRequest(data=text.encode())]
        return await self.call("ReplaceDocument", iter(parts))

    async def update(self, collection: Collection, *paths: str) -> Collection:
        request = UpdateCollectionRequest(
            collection=collection.id or collection.name, resource=collection, update_mask=FieldMask(paths=paths)
        )
        return (await self.call("UpdateCollection", request)).collection


CALLERS = {
    "owner": ("ann", "writer", "", MANAGE),
    "owner, now a reader": ("ann", "reader", "", READ),
    "reader": ("eve", "reader", "", NONE),
    "writer": ("eve", "writer", "", NONE),
    "granted to read": ("rita", "writer", "", READ),
    "of the group that writes": ("gus", "writer", "lab,office", WRITE),
    "of the group, a reader": ("gus", "reader", "office", READ),
    "of another group": ("gus", "writer", "Office", NONE),
    "admin": ("adm", "admin", "", MANAGE),
}
# What is done -> what it needs, by document id ("d") and collection id ("c").
DONE: dict[str, tuple[int, Callable[[Caller, dict[str, str]], Any]]] = {
    "GetCollection": (READ, lambda w, i: w.call("GetCollection", GetCollectionRequest(collection=i["c"]))),
    "UpdateCollection": (MANAGE, lambda w, i: w.update(Collection(id=i["c"], description="x"), "description")),
    "AddVectors": (WRITE, lambda w, i: w.call("AddVectors", AddVectorsRequest(collection=i["c"]))),
    "GetVector": (READ, lambda w, i: w.call("GetVector", GetVectorRequest(collection=i["c"], vector_id="v"))),
    "ListVectors": (READ, lambda w, i: w.call("ListVectors", ListVectorsRequest(collection=i["c"]))),
    "DeleteVectors": (WRITE, lambda w, i: w.call("DeleteVectors", DeleteVectorsRequest(collection=i["c"], ids=["v"]))),
    "UploadDocument": (WRITE, lambda w, i: w.upload(SECRET, i["c"])),
    "GetDocument": (READ, lambda w, i: w.call("GetDocument", GetDocumentRequest(document_id=i["d"]))),
    "WatchDocument": (READ, lambda w, i: w.call("WatchDocument", WatchDocumentRequest(document_id=i["d"]))),
    "WatchDocuments": (
        READ, lambda w, i: w.call("WatchDocuments", WatchDocumentsRequest(collection=i["c"], until_idle=True)),
    ),
    "GetChunk": (READ, lambda w, i: w.call("GetChunk", GetChunkRequest(chunk_id=f"{i['d']}:1:0"))),
    "ListChunks": (READ, lambda w, i: w.call("ListChunks", ListChunksRequest(document_id=i["d"]))),
    "ListDocuments": (READ, lambda w, i: w.call("ListDocuments", ListDocumentsRequest(collection=i["c"]))),
    "DownloadDocument": (READ, lambda w, i: w.call("DownloadDocument", DownloadDocumentRequest(document_id=i["d"]))),
    "ReplaceDocument": (WRITE, lambda w, i: w.replace(i["d"], SECRET)),
    "ReindexDocuments": (
        WRITE, lambda w, i: w.call("ReindexDocuments", ReindexDocumentsRequest(document_ids=[i["d"]])),
    ),
    "ReindexDocuments of a collection": (
        WRITE, lambda w, i: w.call("ReindexDocuments", ReindexDocumentsRequest(collection=i["c"])),
    ),
    "CreateConversation": (
        READ, lambda w, i: w.call("CreateConversation", CreateConversationRequest(collections=[i["c"]])),
    ),
    "UpdateDocument": (
        WRITE,
        lambda w, i: w.call(
            "UpdateDocument", UpdateDocumentRequest(document_id=i["d"], resource=Document(tags=["x"]))
        ),
    ),
    "DeleteDocument": (WRITE, lambda w, i: w.call("DeleteDocument", DeleteDocumentRequest(document_id=i["d"]))),
    "DeleteCollection": (
        MANAGE, lambda w, i: w.call("DeleteCollection", DeleteCollectionRequest(collection=i["c"])),
    ),
}  # fmt: skip


@pytest.fixture
async def served(world: World, tmp_path: Path) -> AsyncIterator[Served]:
    """Edge before the doubles of its stages, with a folder of its own."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses, data_dir=tmp_path) as running:
        yield running


def caller(served: Served, who: str) -> Caller:
    user, role, groups, _ = CALLERS[who]
    return Caller(served, user, role, groups)


async def filled(served: Served) -> dict[str, str]:
    """Make ann's private collection with one document, and return the ids of both."""
    ann = caller(served, "owner")
    wanted = Collection(name="plans", visibility=VISIBILITY_PRIVATE, grants=GRANTS)
    made = (await ann.call("CreateCollection", CreateCollectionRequest(collection=wanted))).collection
    document = await ann.upload(SECRET, "plans")
    events = await ann.call("WatchDocument", WatchDocumentRequest(document_id=document.id))
    assert events[-1].document.state == DOCUMENT_STATE_INDEXED
    return {"c": made.id, "d": document.id}


async def outcome(does: Callable[[Caller, dict[str, str]], Any], who: Caller, ids: dict[str, str]) -> tuple[str, str]:
    try:
        await does(who, ids)
    except FootnoteError as error:
        words = f"{error.message} {error.reason} {error.metadata}"
        for one in ids.values():
            words = words.replace(one, "…")
        return type(error).__name__, words
    return "ok", ""


async def test_everything_done_for_every_caller(served: Served, world: World) -> None:
    nothing = {"c": "0" * 32, "d": "1" * 32}
    cells = 0
    for rpc, (needed, does) in DONE.items():
        ids = await filled(served)
        for who, (*_, held) in CALLERS.items():
            client = caller(served, who)
            counted = [len(world.calls)]
            absent = await outcome(does, client, nothing)
            counted.append(len(world.calls))
            went = await outcome(does, client, ids)
            cell = (rpc, who, went)
            if held == NONE:
                assert went == absent, cell
                # A reader may not write anywhere, by its role.
                expected = "PermissionDenied" if needed > READ and "reader" in CALLERS[who][1] else "NotFound"
                assert went[0] == expected, cell
            elif held < needed:
                assert went[0] == "PermissionDenied", cell
            else:
                assert went[0] == "ok", cell
            if held < needed:
                assert ids["d"] in world.documents, cell
                assert world.chunks[ids["d"]], cell
                assert world.collections[ids["c"]].description == "", cell
            elif rpc.startswith("Delete"):
                ids = await filled(served) if rpc.endswith("Collection") else ids | {"d": await renewed(served)}
            elif rpc == "UpdateCollection":
                world.collections[ids["c"]].description = ""
            cells += 1
        for one in list(world.collections):
            del world.collections[one]
    assert cells == len(DONE) * len(CALLERS)


async def renewed(served: Served) -> str:
    ann = caller(served, "owner")
    document = await ann.upload(SECRET, "plans")
    await ann.call("WatchDocument", WatchDocumentRequest(document_id=document.id))
    return document.id


async def test_lists_and_answers_hold_nothing_hidden_on_any_door(served: Served) -> None:
    ids = await filled(served)
    for who, (*_, held) in CALLERS.items():
        client = caller(served, who)
        listed = await client.call("ListDocuments", ListDocumentsRequest())
        found = await client.call("Search", SearchRequest(query="tea ?"))
        answer = (await client.call("Ask", AskRequest(question="tea ?")))[-1].completed
        collections = await client.call("ListCollections", ListCollectionsRequest())
        said = f"{listed.documents} {found} {answer} {collections.collections}"
        assert (ids["d"] in said, "moon" in said, "plans" in said) == (bool(held),) * 3, who
        async with httpx2.AsyncClient(base_url=client.http, headers=client.headers, timeout=30) as http:
            for path in ("/v1/documents", "/v1/collections", "/collections", "/v1/models"):
                text = (await http.get(path)).text
                assert ("plans" in text or ids["d"] in text) == bool(held), (who, path)
            for path in (f"/v1/documents/{ids['d']}", f"/v1/documents/{ids['d']}:download", f"/collections/{ids['c']}"):
                assert (await http.get(path)).status_code == (200 if held else 404), (who, path)
            chat = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}]}
            assert ("moon" in (await http.post("/v1/chat/completions", json=chat)).text) == bool(held), who


async def test_who_makes_shares_and_opens_collections(served: Served) -> None:
    ann, eve, adm = (caller(served, who) for who in ("owner", "reader", "admin"))
    with pytest.raises(PermissionDenied):
        await ann.call("CreateCollection", CreateCollectionRequest(collection=Collection(name="open")))
    private = Collection(name="mine", visibility=VISIBILITY_PRIVATE)
    with pytest.raises(PermissionDenied):
        await eve.call("CreateCollection", CreateCollectionRequest(collection=private))
    ids = await filled(served)
    get = GetDocumentRequest(document_id=ids["d"])
    shared = Collection(id=ids["c"], grants=[Grant(user_id="eve")])
    await ann.update(shared, "grants")
    assert (await eve.call("GetDocument", get)).document.id == ids["d"]
    await ann.update(Collection(id=ids["c"]), "grants")
    with pytest.raises(NotFound):  # at once, where the change was made
        await eve.call("GetDocument", get)
    await adm.update(Collection(id=ids["c"], visibility=VISIBILITY_SHARED), "visibility")
    assert (await eve.call("GetDocument", get)).document.id == ids["d"]


async def test_files_that_name_no_collection_never_go_into_anothers(served: Served, world: World) -> None:
    ann, eve = caller(served, "owner"), caller(served, "writer")
    trap = Collection(name="default", visibility=VISIBILITY_PRIVATE, grants=[Grant(user_id="eve", access=ACCESS_WRITE)])
    made = (await ann.call("CreateCollection", CreateCollectionRequest(collection=trap))).collection
    document = await eve.upload("my secret", "")
    assert document.collection_id != made.id
    assert world.collections[document.collection_id].visibility == VISIBILITY_SHARED


async def test_a_document_is_not_deleted_when_its_collection_goes_out_of_sight(served: Served, world: World) -> None:
    ids = await filled(served)
    gus, delete = caller(served, "of the group that writes"), DeleteDocumentRequest(document_id=ids["d"])
    world.failures["DeleteDocumentChunks"] = NotFound("Collection not found", reason="COLLECTION_NOT_FOUND")
    with pytest.raises(NotFound, match=f"Document '{ids['d']}' not found"):
        await gus.call("DeleteDocument", delete)
    assert ids["d"] in world.documents
    assert not world.requests("DeleteDocument")
    del world.failures["DeleteDocumentChunks"]
    del world.collections[ids["c"]]
    with pytest.raises(NotFound):
        await gus.call("DeleteDocument", delete)
    assert ids["d"] in world.documents
    await caller(served, "admin").call("DeleteDocument", delete)
    assert ids["d"] not in world.documents


async def test_watches_end_when_access_is_withdrawn(served: Served, world: World) -> None:
    ids = await filled(served)
    rita, ann = caller(served, "granted to read"), caller(served, "owner")
    world.documents[ids["d"]].state = 2  # type: ignore[assignment]
    watches = [
        asyncio.create_task(rita.call("WatchDocument", WatchDocumentRequest(document_id=ids["d"]))),
        asyncio.create_task(rita.call("WatchDocuments", WatchDocumentsRequest(collection=ids["c"]))),
    ]
    await asyncio.sleep(1.5)
    assert not [watch for watch in watches if watch.done()]
    began = time.monotonic()
    await ann.update(Collection(id=ids["c"]), "grants")
    for watch in watches:
        with pytest.raises(NotFound):
            await watch
    assert time.monotonic() - began < 10


async def test_stored_answers_lose_what_can_no_longer_be_read(served: Served, world: World) -> None:
    ids = await filled(served)
    rita, ann = caller(served, "granted to read"), caller(served, "owner")
    made = await rita.call("CreateConversation", CreateConversationRequest())
    conversation = made.conversation.id
    ask = AskRequest(question="tea ?", conversation_id=conversation, include=EVERY_PART)
    before = (await rita.call("Ask", ask))[-1].completed
    assert [one.collection_id for one in (*before.sources, *before.manifest.sources)] == [ids["c"]] * 2
    messages = ListMessagesRequest(conversation_id=conversation, include=EVERY_PART)
    assert "moon" in str((await rita.call("ListMessages", messages)).messages)

    await ann.update(Collection(id=ids["c"]), "grants")
    page = await rita.call("ListMessages", messages)
    assert page.total_size == 2
    assert page.messages[0].text == "tea ?"
    answer = page.messages[1]
    assert [word(one) for one in answer.degradations] == ["SOURCES_WITHHELD"]
    assert "moon" not in str(page.messages)
    assert ids["d"] not in str(page.messages)
    assert not answer.sources and not answer.answer.citations and not answer.manifest.sources  # noqa: PT018
    replayed = await rita.call("ReplayAnswer", ReplayAnswerRequest(answer_id=before.answer.id))
    assert "moon" not in str(replayed)
    again = (await rita.call("Ask", AskRequest(question="sugar ?", conversation_id=conversation)))[-1].completed
    assert "HISTORY_WITHHELD" in [word(one) for one in again.degradations]
    assert "moon" not in str(world.requests("BuildPrompt")[-1])

    world.recalled = [
        MemoryMessage(message_id=before.answer.id, role=MESSAGE_ROLE_ASSISTANT, text=before.answer.text),
        MemoryMessage(message_id=page.messages[0].id, role=MESSAGE_ROLE_USER, text="tea ?"),
    ]
    memory = SearchMemoryRequest(query="tea")
    remembered = await rita.call("SearchMemory", memory)
    assert remembered.context == "[user] tea ?"
    assert [one.text for one in remembered.source_messages] == ["tea ?"]
    assert [word(one) for one in remembered.degradations] == ["SOURCES_WITHHELD"]

    await ann.update(Collection(id=ids["c"], grants=GRANTS), "grants")
    assert "moon" in str((await rita.call("ListMessages", messages)).messages)
    assert "moon" in (await rita.call("SearchMemory", memory)).context


async def test_while_indexing_is_silent(served: Served, world: World) -> None:
    ids = await filled(served)
    gus, eve, adm = (caller(served, who) for who in ("of the group that writes", "writer", "admin"))
    get = GetDocumentRequest(document_id=ids["d"])
    await gus.upload("first", "plans")
    for method in ("AuthorizeCollections", "GetCollection"):
        world.failures[method] = Unavailable("The store is being moved")
    await asyncio.sleep(1.1)
    assert (await gus.call("GetDocument", get)).document.id == ids["d"]
    assert (await gus.upload("second", "plans")).id
    assert (await adm.call("GetDocument", get)).document.id == ids["d"]
    for attempt in (
        lambda: eve.call("GetDocument", get),
        lambda: gus.call("DeleteDocument", DeleteDocumentRequest(document_id=ids["d"])),
        lambda: gus.replace(ids["d"], "other"),
        lambda: eve.upload("x", "plans"),
    ):
        with pytest.raises(Unavailable):
            await attempt()
    assert ids["d"] in world.documents


async def test_jobs_act_on_the_services_own_account(served: Served, world: World) -> None:
    await filled(served)
    scopes = [first.scope for first in world.requests("IndexDocument")]
    assert [(one.tenant_id, one.user_id, list(one.roles)) for one in scopes] == [("t", "ann", [ROLE_SYSTEM])]
    lists = [one for one in world.requests("ListDocuments") if one.all_tenants]
    assert lists
    assert all(list(one.scope.roles) == [ROLE_SYSTEM] for one in lists)


async def test_a_search_asks_for_nothing_more(served: Served, world: World) -> None:
    await filled(served)
    rita = caller(served, "granted to read")
    world.calls.clear()
    await rita.call("Search", SearchRequest(query="tea"))
    asked = [
        name for name, request in world.calls if getattr(request, "scope", None) and request.scope.user_id == "rita"
    ]
    assert asked == ["Retrieve"]
