"""kill -9 of the whole product, five times while it takes in files: nothing accepted is lost, stuck or doubled."""

import asyncio
import collections
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.edge.v1 import edge_service_pb2 as pb
from footnote.edge.v1.edge_service_pb2_grpc import EdgeServiceStub
from footnote.indexing.v1.indexing_service_pb2 import GetIndexStatsRequest
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.collection_pb2 import Collection, CollectionSettings
from footnote.types.v1.scope_pb2 import ROLE_ADMIN, Scope
from footnote_kit.clients import open_channel
from footnote_kit.errors import DeadlineExceeded, InvalidArgument, Unavailable
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.shared import shared_dir

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

KILLS = 5
NAME = "files"
FINAL = (doc.DOCUMENT_STATE_INDEXED, doc.DOCUMENT_STATE_ERROR)
SCOPE = Scope(tenant_id="default", user_id="local", roles=[ROLE_ADMIN])


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Texts of various lengths."""
    made = []
    for number in range(60):
        path = tmp_path / f"text-{number}.md"
        lines = (f"Fact {line} of file {number} is {line * number}." for line in range(20 * (number + 1)))
        path.write_text(f"# File {number}\n\n" + "\n\n".join(lines))
        made.append(path)
    return made


@pytest.fixture
def files(texts: list[Path]) -> list[Path]:
    """The shared collection of real and hostile files; where it is not at hand, the texts."""
    shared = shared_dir()
    if shared is None:
        return texts
    found = [path for folder in ("pdf", "office") for path in sorted((shared / "data/files" / folder).iterdir())]
    return [path for path in found if path.name not in ("README.md", "MANIFEST.tsv")]


async def upload_all(running: Deployment, files: list[Path]) -> set[str]:
    """Upload every file, again and again while the server dies under it; return the ids that were accepted."""
    accepted: set[str] = set()
    gate = asyncio.Semaphore(4)

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


async def finished(client: EdgeClient) -> int:
    return sum(document.state in FINAL for document in await client.documents(NAME))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """All in one process, with its engine."""
    folder = tmp_path / "data"
    folder.mkdir()
    with deployment(folder) as started:
        yield started


@pytest.fixture
def separate(tmp_path: Path) -> Iterator[Deployment]:
    """One process per service."""
    folder = tmp_path / "data"
    folder.mkdir()
    with deployment(folder, separate=True) as started:
        yield started


async def test_five_kills_lose_nothing(running: Deployment, files: list[Path]) -> None:
    uploads = await begin(running, files)
    for kill in range(KILLS):
        await reach(running, goal=(kill + 1) * len(files) // (KILLS + 2))
        await asyncio.to_thread(running.kill)
        await asyncio.to_thread(running.start)
    accepted = await uploads
    assert accepted
    await everything_ends(running)
    await check(running, accepted)


async def test_killing_one_service_after_the_other_loses_nothing(separate: Deployment, texts: list[Path]) -> None:
    uploads = await begin(separate, texts)
    victims = ("indexing", "ingestion", "edge", "store", "indexing")
    for number, victim in enumerate(victims, 1):
        await reach(separate, goal=number * len(texts) // (len(victims) + 2))
        await asyncio.to_thread(separate.kill, victim)
        await asyncio.to_thread(separate.start, victim)
    accepted = await uploads
    assert len(accepted) == len(texts)
    await everything_ends(separate)
    await check(separate, accepted)


async def begin(running: Deployment, files: list[Path]) -> "asyncio.Task[set[str]]":
    """Make the collection and begin to upload."""
    async with edge_client(running.address()) as client:
        collection = Collection(name=NAME, settings=CollectionSettings(max_documents=10_000))
        await client.stub.CreateCollection(pb.CreateCollectionRequest(collection=collection))
    return asyncio.create_task(upload_all(running, files))


async def reach(running: Deployment, goal: int) -> None:
    """Wait until so many documents have ended."""
    async with asyncio.timeout(300), edge_client(running.address()) as client:
        while await finished(client) < goal:
            continue  # each look is a call, so that this does not spin


async def everything_ends(running: Deployment) -> None:
    """Watch the collection until no document is in work."""
    async with open_channel(running.address(), peer="edge") as channel:
        request = pb.WatchDocumentsRequest(collection=NAME, until_idle=True)
        async for _ in EdgeServiceStub(channel).WatchDocuments(request, timeout=300):
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
                assert document.chunks_stored == document.chunks_expected > 0
        expected = {one.id: one.chunks_stored for one in documents if one.state == doc.DOCUMENT_STATE_INDEXED}
        assert len(expected) > len(accepted) // 2
        ids = await chunk_ids(client)
    per_document = collections.Counter(document for document, _ in ids.values())
    assert per_document == expected
    assert len(set(ids.values())) == len(ids), "two chunks stand at the same place of a document"
    await rows_settle(running, sum(expected.values()))


async def chunk_ids(client: EdgeClient) -> dict[str, tuple[str, int]]:
    """Return document and place of every chunk that searches see, by id."""
    found: dict[str, tuple[str, int]] = {}
    while True:
        request = pb.QueryChunksRequest(collection=NAME, limit=1000, offset=len(found))
        page = await client.stub.QueryChunks(request, timeout=60)
        for chunk in page.chunks:
            assert chunk.id not in found
            found[chunk.id] = (chunk.document_id, chunk.ordinal)
        if not page.chunks:
            return found


async def rows_settle(running: Deployment, expected: int) -> None:
    """Wait until the store holds the expected rows and no others: broken-off revisions are swept after a while."""
    async with asyncio.timeout(90), open_channel(running.address("indexing"), peer="indexing") as channel:
        while True:
            request = GetIndexStatsRequest(scope=SCOPE, collections=[NAME])
            stats = (await IndexingServiceStub(channel).GetIndexStats(request)).collections[0]
            assert stats.visible_rows == expected
            if stats.rows == expected:
                return
            await asyncio.sleep(0.5)  # the sweeper has a clock of its own
