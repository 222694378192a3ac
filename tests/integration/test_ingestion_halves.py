"""What a crash could leave half done at the stage, on both databases: noted requests, deletions, labels of chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.adapters.schema import documents
from footnote_ingestion.app import build
from footnote_ingestion.settings import Settings
from footnote_kit.errors import Aborted, FootnoteError, InvalidArgument, NotFound
from footnote_kit.testing import Served, serve_app
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import text, update
from support import postgres
from support.ingestion_client import Client

pytestmark = pytest.mark.full


@pytest.fixture(params=["sqlite", "postgres"])
async def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """Ingestion on SQLite, then on PostgreSQL."""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "ingestion")
        monkeypatch.setenv("FOOTNOTE_INGESTION_DATABASE_URL", url)
    async with serve_app(build) as running:
        yield running


@pytest.fixture
def client(served: Served) -> Client:
    """A client of ingestion that speaks for the system."""
    return Client(served, Scope(tenant_id="t", user_id="u", roles=[ROLE_SYSTEM]))


_TRIGGERS = {
    True: (
        "create trigger broken before insert on upload_requests begin select raise(abort, 'broken'); end",
        "drop trigger broken",
    ),
    False: (
        "create function broken() returns trigger as $$ begin raise exception 'broken'; end $$ language plpgsql; "
        "create trigger broken before insert on upload_requests for each row execute function broken()",
        "drop trigger broken on upload_requests",
    ),
}


@asynccontextmanager
async def broken(served: Served) -> AsyncIterator[None]:
    """Let every note of a request fail at the moment that it is written."""
    database = await Database.open(Settings().database_url, served.runtime.data_dir / "ingestion")
    make, drop = _TRIGGERS[database.is_sqlite]
    try:
        for statement in make.split("; create trigger"):
            async with database.write() as connection:
                await connection.execute(text(statement if "create" in statement[:6] else f"create trigger{statement}"))
        yield
        async with database.write() as connection:
            await connection.execute(text(drop))
    finally:
        await database.close()


@pytest.mark.parametrize("more", [{}, {"allow_duplicate": True}])
async def test_an_upload_and_its_request_id_are_kept_together_or_not_at_all(
    served: Served, client: Client, more: dict[str, Any]
) -> None:
    async with broken(served):
        with pytest.raises(FootnoteError):
            await client.upload(b"once", request_id="r", **more)
        assert (await client.list()).total_size == 0
    first = await client.upload(b"once", request_id="r", **more)
    assert not first.duplicate
    again = await client.upload(b"once", request_id="r", **more)
    assert (again.document.id, again.duplicate) == (first.document.id, False)
    assert (await client.list()).total_size == 1


async def test_what_a_duplicate_adds_and_its_request_id_are_kept_together(served: Served, client: Client) -> None:
    first = await client.upload(b"once", tags=["a"])
    async with broken(served):
        with pytest.raises(FootnoteError):
            await client.upload(b"once", tags=["b"], request_id="r")
        assert await client.get(first.document.id) == first.document
    for _ in range(2):
        added = await client.upload(b"once", tags=["b"], request_id="r")
        assert (added.duplicate, added.merged, list(added.document.tags)) == (True, True, ["a", "b"])


@pytest.mark.parametrize("more", [{}, {"allow_duplicate": True}])
async def test_one_request_sent_many_times_at_once_is_one_upload(client: Client, more: dict[str, Any]) -> None:
    sent = [client.upload(b"at once", f"{uuid4()}.txt", request_id="r", **more) for _ in range(2)]
    outcomes = await asyncio.gather(*sent, return_exceptions=True)
    assert sum(isinstance(one, InvalidArgument) and one.reason == "REQUEST_ID_REUSED" for one in outcomes) == 1
    same = await asyncio.gather(*(client.upload(b"other", request_id="s", **more) for _ in range(8)))
    assert len({(one.document.id, one.duplicate) for one in same}) == 1
    assert (await client.list()).total_size == 2


async def test_another_lifetime_is_another_content(client: Client) -> None:
    day = Duration(seconds=86_400)
    first = await client.upload(b"for a day", request_id="r", ttl=day)
    assert (await client.upload(b"for a day", request_id="r", ttl=day)).document.id == first.document.id
    for other in ({"ttl": Duration(seconds=60)}, {}):
        with pytest.raises(InvalidArgument) as caught:
            await client.upload(b"for a day", request_id="r", **other)
        assert caught.value.reason == "REQUEST_ID_REUSED"


async def begin(client: Client, document_id: str, etag: str = "", undo: bool = False) -> Document:
    request = upkeep.BeginDeletionRequest(scope=client.scope, document_id=document_id, etag=etag, undo=undo)
    return (await client.upkeep.BeginDeletion(request)).document


async def unfinished(client: Client) -> dict[str, tuple[bool, bool]]:
    found = []
    request = upkeep.ListUnfinishedDocumentsRequest(scope=client.scope, page_size=1)
    while True:
        page = await client.upkeep.ListUnfinishedDocuments(request)
        found += page.documents
        request.page_token = page.next_page_token
        if not request.page_token:
            return {one.document.id: (one.deletion, one.labels) for one in found}


async def retag(client: Client, document_id: str, *tags: str, etag: str = "") -> Document:
    request = pb.UpdateDocumentRequest(
        scope=client.scope,
        document_id=document_id,
        resource=Document(tags=tags, etag=etag),
        update_mask=FieldMask(paths=["tags"]),
    )
    return (await client.stub.UpdateDocument(request)).document


async def test_a_deletion_that_was_begun_hides_the_document_from_everything(client: Client) -> None:
    document = (await client.upload(b"doomed", max_tenant_documents=1)).document
    with pytest.raises(Aborted):
        await begin(client, document.id, "0")
    assert await begin(client, document.id, document.etag) == document
    for refused in (
        begin(client, document.id), client.get(document.id), client.download(document.id), client.parse(document.id),
        client.move(document.id, 2), client.replace(document.id, b"new"), retag(client, document.id, "x"),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await refused
    assert (await client.list()).total_size == 0
    assert await unfinished(client) == {document.id: (True, False)}
    copy = await client.upload(b"doomed", max_tenant_documents=1)
    assert not copy.duplicate
    await client.delete(document.id)
    assert await unfinished(client) == {}
    assert await begin(client, copy.document.id) == copy.document
    assert await begin(client, copy.document.id, undo=True) == copy.document
    assert await client.get(copy.document.id) == copy.document
    assert await unfinished(client) == {}
    with pytest.raises(NotFound):
        await begin(client, document.id, undo=True)


async def test_an_expired_document_is_left_to_edge_to_delete(served: Served, client: Client) -> None:
    """Edge also takes it out of the answers derived from it; only after a day does ingestion delete it by itself."""
    later = Timestamp(seconds=4_000_000_000)
    passing, left, lasting = [
        (await client.upload(data, expire_time=later)).document.id for data in (b"passes", b"is left", b"lasts")
    ]
    database = await Database.open(Settings().database_url, served.runtime.data_dir / "ingestion")
    try:
        table = DocumentTable(database)
        async with database.write() as connection:
            passed = update(documents).values(expire_time=1).where(documents.c.id.in_([passing, left]))
            await connection.execute(passed)
        assert await table.delete_expired() == 0
        assert await unfinished(client) == {passing: (True, False), left: (True, False)}
        await client.delete(passing)
        async with database.write() as connection:
            await connection.execute(update(documents).values(delete_time=1).where(documents.c.id == left))
        assert await table.delete_expired() == 1
    finally:
        await database.close()
    assert await unfinished(client) == {}
    assert [one.id for one in (await client.list()).documents] == [lasting]


async def test_of_a_change_and_a_deletion_that_saw_the_same_one_happens(client: Client) -> None:
    for number in range(20):
        document = (await client.upload(b"both %d" % number)).document
        calls = [begin(client, document.id, document.etag) for _ in range(2)]
        calls += [retag(client, document.id, str(one), etag=document.etag) for one in range(2)]
        calls.append(client.move(document.id, 2, etag=document.etag))
        outcomes = await asyncio.gather(*(calls[number % 3 :] + calls[: number % 3]), return_exceptions=True)
        assert sum(isinstance(one, Document) for one in outcomes) == 1, outcomes
        assert all(isinstance(one, Document | Aborted | NotFound) for one in outcomes), outcomes


async def test_labels_are_owed_to_the_chunks_until_that_very_change_is_confirmed(client: Client) -> None:
    document = (await client.upload(b"labels", tags=["a"])).document
    assert await unfinished(client) == {}
    first = await retag(client, document.id, "b")
    second = await retag(client, document.id, "c")
    assert await unfinished(client) == {document.id: (False, True)}

    async def confirm(etag: str) -> None:
        request = upkeep.ConfirmLabelsRequest(scope=client.scope, document_id=document.id, etag=etag)
        await client.upkeep.ConfirmLabels(request)

    await confirm(first.etag)
    assert await unfinished(client) == {document.id: (False, True)}
    moved = await client.move(document.id, 2)
    await confirm(moved.etag)
    assert await unfinished(client) == {}
    assert (await client.get(document.id)).etag == moved.etag != second.etag
    await client.upload(b"labels", tags=["d"])
    assert await unfinished(client) == {document.id: (False, True)}
    for bad in ("", "x", "9" * 19):
        with pytest.raises(InvalidArgument):
            await confirm(bad)
