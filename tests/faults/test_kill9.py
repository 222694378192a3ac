"""kill -9 of the product at random moments while it takes in files: nothing accepted is lost, stuck or doubled.

`FOOTNOTE_KILLS=30` asks for that many kills, `FOOTNOTE_SEED` repeats the moments of an earlier run.
"""

import asyncio
import collections
import json
import os
import random
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import (
    QueryChunksRequest,
    UploadDocumentsRequest,
    UploadMetadata,
    WatchDocumentsRequest,
)
from footnote.indexing.v1.indexing_service_pb2 import GetIndexStatsRequest
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import DeadlineExceeded, InvalidArgument, Unavailable
from footnote_kit.testing import stage_channel
from footnote_store.store import VectorStore
from pymilvus import MilvusClient
from support import postgres
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.shared import shared_dir

KILLS = int(os.environ.get("FOOTNOTE_KILLS", "0"))
"""How many kills; 0 for few, which differ between the tests."""

SEED = int(os.environ.get("FOOTNOTE_SEED", "0")) or random.randrange(1, 10**6)
LONGEST_ROUND = 3.0
"""Seconds between a start and the kill that follows, at most."""

NAME = "files"
FINAL = (doc.DOCUMENT_STATE_INDEXED, doc.DOCUMENT_STATE_ERROR)
SCOPE = Scope(tenant_id="default", user_id="local", roles=[ROLE_ADMIN])

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600 + 60 * KILLS)]


def texts(folder: Path, count: int) -> list[Path]:
    """Texts of various lengths, 20 to 600 paragraphs."""
    made = []
    for number in range(count):
        path = folder / f"text-{number}.md"
        lines = (f"Fact {line} of file {number} is {line * number}." for line in range(20 * (number % 30 + 1)))
        path.write_text(f"# File {number}\n\n" + "\n\n".join(lines))
        made.append(path)
    return made


def notes(folder: Path, count: int) -> list[Path]:
    """Texts of some 200 bytes."""
    made = []
    for number in range(count):
        path = folder / f"note-{number}.txt"
        path.write_text(f"Note {number} says that {number} times {number} is {number * number}.\n" * 4)
        made.append(path)
    return made


def real_files() -> list[Path]:
    """The shared collection of real and hostile files; empty where it is not at hand."""
    shared = shared_dir()
    if shared is None:
        return []
    found = [path for folder in ("pdf", "office") for path in sorted((shared / "data/files" / folder).iterdir())]
    return [path for path in found if path.name not in ("README.md", "MANIFEST.tsv")]


async def upload_all(running: Deployment, files: list[Path], at_once: int = 4) -> set[str]:
    """Upload every file, again and again while the server dies under it; return the ids that were accepted."""
    accepted: set[str] = set()
    gate = asyncio.Semaphore(at_once)

    async def one(path: Path) -> None:
        while True:
            async with gate:
                try:
                    async with edge_client(running.address()) as client:
                        accepted.add((await client.upload(path, collection=NAME)).document.id)
                    return
                except (Unavailable, DeadlineExceeded):
                    await asyncio.sleep(0.1)  # it is down; there is no event for its return
                except InvalidArgument:
                    return  # a file that cannot be taken, and was not

    await asyncio.gather(*(one(path) for path in files))
    return accepted


async def upload_together(running: Deployment, files: list[Path], at_once: int = 16) -> set[str]:
    """Do the same with so many files in a call; a call is repeated with the request ids that it had."""
    accepted: set[str] = set()

    async def some(paths: list[Path]) -> None:
        messages = [
            UploadDocumentsRequest(
                metadata=UploadMetadata(collection=NAME, filename=path.name, request_id=uuid4().hex),
                data=path.read_bytes(),
            )
            for path in paths
        ]
        while True:
            try:
                async with edge_client(running.address()) as client:
                    answer = await client.stub.UploadDocuments(iter(messages), timeout=60)
            except (Unavailable, DeadlineExceeded):
                await asyncio.sleep(0.1)  # it is down; there is no event for its return
                continue
            accepted.update(one.stored.document.id for one in answer.files if one.HasField("stored"))
            if all(one.HasField("stored") for one in answer.files):
                return

    await asyncio.gather(*(some(files[start : start + at_once]) for start in range(0, len(files), at_once)))
    return accepted


async def states(running: Deployment) -> "collections.Counter[bool]":
    """Count the documents that have ended (True) and those that have not."""
    async with edge_client(running.address()) as client:
        return collections.Counter(document.state in FINAL for document in await client.documents(NAME))


async def at_work(running: Deployment) -> "collections.Counter[bool]":
    """Count them as soon as some have been accepted that have not ended."""
    async with asyncio.timeout(240):
        while True:
            count = await states(running)
            if count[False]:
                return count


@pytest.fixture(params=["sqlite", "postgres"])
async def running(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Deployment]:
    """All in one process, with its engine; every ledger in SQLite or in PostgreSQL."""
    env: dict[str, str] = {}
    if request.param == "postgres":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
        env = {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")}
    folder = tmp_path / "data"
    folder.mkdir()
    started = Deployment(folder, env=env)
    try:
        await asyncio.to_thread(started.start)
        yield started
    finally:
        await asyncio.to_thread(started.stop)


@pytest.fixture
def separate(tmp_path: Path) -> Iterator[Deployment]:
    """One process per service."""
    folder = tmp_path / "data"
    folder.mkdir()
    with deployment(folder, separate=True) as started:
        yield started


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Deployment]:
    """All services as `serve all` divides them, SQLite."""
    folder = tmp_path / "data"
    folder.mkdir()
    with deployment(folder) as started:
        yield started


async def test_kills_at_random_moments_lose_nothing(
    running: Deployment, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    backend = request.node.callspec.params["running"]
    kills = KILLS or {"sqlite": 5, "postgres": 3}[backend]
    files = (real_files() if backend == "sqlite" and not KILLS else []) or texts(tmp_path, 15 * kills)
    moments = random.Random(SEED)
    moments.shuffle(files)
    print(f"{kills} kills on {backend}, {len(files)} files, FOOTNOTE_SEED={SEED}")
    await create_collection(running)
    uploads, interrupted = [], 0
    for kill in range(kills):
        uploads.append(asyncio.create_task(upload_all(running, files[kill::kills])))
        if kill and moments.random() < 0.25:
            # While the one before is still coming up, or has just begun to look at what it finds.
            moment, note = moments.uniform(0, LONGEST_ROUND), "of starting"
            await asyncio.to_thread(running.kill)
            await asyncio.to_thread(running.spawn)
            await asyncio.sleep(moment)
        else:
            # However fast the machine is, one kill at least comes while there is work.
            moment = moments.uniform(0, LONGEST_ROUND) if interrupted else 0.0
            await asyncio.sleep(moment)
            count = await states(running) if interrupted else await at_work(running)
            interrupted += count[False] > 0
            note = f"of work, {count[True]} documents done, {count[False]} not"
        await asyncio.to_thread(running.kill)
        began = time.monotonic()
        await asyncio.to_thread(running.start)
        print(f"kill {kill + 1} after {moment:.2f} s {note}; up again after {time.monotonic() - began:.1f} s")
    accepted = set().union(*[await upload for upload in uploads])
    assert interrupted, "no kill came while there was work"
    assert accepted
    await everything_ends(running)
    await check(running, accepted)


async def test_killing_one_service_after_the_other_loses_nothing(separate: Deployment, tmp_path: Path) -> None:
    files = texts(tmp_path, 30)
    moments = random.Random(SEED)
    print(f"FOOTNOTE_SEED={SEED}")
    await create_collection(separate)
    uploads = []
    victims = ("indexing", "ingestion", "edge", "store")
    for number, victim in enumerate(victims):
        uploads.append(asyncio.create_task(upload_all(separate, files[number :: len(victims)])))
        moment = moments.uniform(0, LONGEST_ROUND)
        await asyncio.sleep(moment)
        await asyncio.to_thread(separate.kill, victim)
        await asyncio.to_thread(separate.start, victim)
        print(f"{victim} killed after {moment:.2f} s")
    accepted = set().union(*[await upload for upload in uploads])
    assert len(accepted) == len(files)
    await everything_ends(separate)
    await check(separate, accepted)


@pytest.mark.parametrize("upload", [upload_all, upload_together])
async def test_kills_amid_groups_lose_nothing(whole: Deployment, tmp_path: Path, upload: Any) -> None:
    """Notes of a few lines, so many at once that they are processed in groups."""
    kills, moments = KILLS or 3, random.Random(SEED)
    files = notes(tmp_path, 60 * kills)
    print(f"{kills} kills, {len(files)} files, FOOTNOTE_SEED={SEED}")
    await create_collection(whole)
    uploads = []
    for kill in range(kills):
        uploads.append(asyncio.create_task(upload(whole, files[kill::kills], at_once=16)))
        await at_work(whole)
        await asyncio.sleep(moments.uniform(0, 0.5))
        await asyncio.to_thread(whole.kill)
        await asyncio.to_thread(whole.start)
    accepted = set().union(*[await one for one in uploads])
    assert len(accepted) == len(files)
    await everything_ends(whole)
    await check(whole, accepted)
    done = [json.loads(line) for line in whole.log().splitlines() if '"group_processed"' in line]
    assert max(one["documents"] for one in done) > 1


async def create_collection(running: Deployment) -> None:
    async with edge_client(running.address()) as client:
        collection = Collection(name=NAME, settings=CollectionSettings(max_documents=10_000))
        await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))


async def everything_ends(running: Deployment) -> None:
    """Watch the collection until no document is in work."""
    async with open_channel(running.address(), peer="edge") as channel:
        request = WatchDocumentsRequest(collection=NAME, until_idle=True)
        async for _ in EdgeStub(channel).WatchDocuments(request, timeout=300):
            pass


async def check(running: Deployment, accepted: set[str]) -> None:
    """Compare the ledger with the store, chunk by chunk."""
    async with edge_client(running.address()) as client:
        documents = await client.documents(NAME)
        # An upload whose answer was lost was accepted too, and its file recognised the second time.
        assert {document.id for document in documents} == accepted
        for document in documents:
            assert document.state in FINAL, document
            if document.state == doc.DOCUMENT_STATE_ERROR:
                assert document.failure.reason != doc.FAILURE_REASON_UNSPECIFIED
                assert document.failure.message
                assert document.failure.hint
            else:
                assert document.chunk_count > 0
        expected = {one.id: one.chunk_count for one in documents if one.state == doc.DOCUMENT_STATE_INDEXED}
        assert len(expected) > len(accepted) // 2
        ids = await chunk_ids(client)
    per_document = collections.Counter(document for document, _ in ids.values())
    assert per_document == expected
    assert len(set(ids.values())) == len(ids), "two chunks stand at the same place of a document"
    await rows_settle(running, sum(expected.values()))
    # Now the store itself, with no service between that could hide a row.
    rows = await stored_rows(running)
    assert len({id_ for id_, _ in rows}) == len(rows), "an id stands in the store twice"
    assert collections.Counter(document for _, document in rows) == expected
    print(f"{len(documents)} documents, {len(expected)} of them indexed with {len(rows)} chunks, all in the store")


async def stored_rows(running: Deployment) -> list[tuple[str, str]]:
    """Return id and document of every row in the vector store, hidden or not, whatever collection it is of."""
    uri = running.store_uri()
    client = await asyncio.to_thread(MilvusClient, uri)
    try:
        spaces = await asyncio.to_thread(client.list_collections)
    finally:
        await asyncio.to_thread(client.close)
    store = VectorStore(uri)
    try:
        return [
            (chunk.id, chunk.document_id)
            for space in spaces
            if space.startswith("chunks_")
            for chunk in await store.query(space, "", 10**6, timeout=60)
        ]
    finally:
        await store.close()


async def chunk_ids(client: EdgeClient) -> dict[str, tuple[str, int]]:
    """Return document and place of every chunk that searches see, by id."""
    found: dict[str, tuple[str, int]] = {}
    while True:
        request = QueryChunksRequest(collection=NAME, page_size=1000, offset=len(found))
        page = await client.stub.QueryChunks(request, timeout=60)
        for chunk in page.chunks:
            assert chunk.id not in found
            found[chunk.id] = (chunk.document_id, chunk.ordinal)
        if not page.chunks:
            return found


async def rows_settle(running: Deployment, expected: int) -> None:
    """Wait until the store holds the expected rows and no others: broken-off revisions are swept after a while."""
    indexing = stage_channel(running.address("indexing"), "indexing", running.credential())
    async with asyncio.timeout(240), indexing as channel:
        while True:
            request = GetIndexStatsRequest(scope=SCOPE, collections=[NAME])
            stats = (await IndexingServiceStub(channel).GetIndexStats(request)).collections[0]
            assert stats.visible_rows == expected
            if stats.rows == expected:
                return
            await asyncio.sleep(0.5)  # the sweeper has a clock of its own
