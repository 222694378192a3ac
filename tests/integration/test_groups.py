"""Groups of small documents at the real stages: what fails, fails alone; the rest is as after one call for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as idx
from footnote.ingestion.v1 import ingestion_service_pb2 as ing
from footnote.internal.indexing.v1alpha1 import group_service_pb2 as indexing_groups
from footnote.internal.indexing.v1alpha1.group_service_pb2_grpc import GroupServiceStub as IndexingGroups
from footnote.internal.ingestion.v1alpha1 import group_service_pb2 as ingestion_groups
from footnote.internal.ingestion.v1alpha1.group_service_pb2_grpc import GroupServiceStub as IngestionGroups
from footnote.stages.v1 import parsing_pb2, stored_document_pb2
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1 import document_pb2
from footnote_indexing.app import build as build_indexing
from footnote_ingestion.app import build as build_ingestion
from footnote_kit.errors import Aborted, FailedPrecondition, PermissionDenied
from footnote_kit.status import from_proto
from footnote_kit.testing import serve_app
from support.blocks import PARAGRAPH, block, placed
from support.indexing import Client as IndexingClient
from support.indexing import requests
from support.ingestion_client import Client as IngestionClient

PROCESSING, INDEXED = document_pb2.DOCUMENT_STATE_PROCESSING, document_pb2.DOCUMENT_STATE_INDEXED


@pytest.fixture
async def indexing(uri: str) -> AsyncIterator[IndexingClient]:
    """A client of indexing over the real engine."""
    async with serve_app(build_indexing, vector_store_uri=uri) as served:
        yield IndexingClient(served.channel)


@pytest.fixture
async def ingestion() -> AsyncIterator[IngestionClient]:
    """A client of ingestion."""
    async with serve_app(build_ingestion) as served:
        yield IngestionClient(served)


def blocks_of(name: str, paragraphs: int = 2) -> list[parsing_pb2.Block]:
    return placed(
        [block(PARAGRAPH, f"Paragraph {number} of {name} tells of it alone.") for number in range(paragraphs)]
    )


async def index_group(
    client: IndexingClient, collection_id: str, names: Sequence[str], broken: str = "", revision: int = 1
) -> list[idx.IndexResult | Exception]:
    """Index documents as a group; `broken` ends without its metadata."""

    async def messages() -> AsyncIterator[indexing_groups.IndexDocumentsRequest]:
        yield indexing_groups.IndexDocumentsRequest(scope=client.scope)
        for name in names:
            header = stored_document_pb2.Document(
                id=name, collection_id=collection_id, revision=revision, filename=f"{name}.txt"
            )
            parts = [part async for part in requests(client.scope, header, blocks_of(name))]
            yield indexing_groups.IndexDocumentsRequest(parts=parts[:-1] if name == broken else parts)

    answer = await IndexingGroups(client.channel).IndexDocuments(messages(), timeout=60)
    assert len(answer.documents) == len(names)
    return [one.result if one.HasField("result") else from_proto(one.error) for one in answer.documents]


async def test_a_group_is_searched_and_its_broken_document_fails_alone(indexing: IndexingClient) -> None:
    collection = await indexing.create("group")
    alone = await indexing.index(collection.id, "alone", blocks_of("alone"))
    first, broken, last = await index_group(indexing, collection.id, ["first", "broken", "last"], broken="broken")
    assert isinstance(broken, Exception)
    for one in (first, last):
        assert isinstance(one, idx.IndexResult)
        assert one.chunks_stored == one.chunks_expected == alone.chunks_expected
        assert (one.chunking_strategy, one.chunking_choice) == (alone.chunking_strategy, alone.chunking_choice)
        assert one.settings_digest == alone.settings_digest
        assert one.embedded == alone.embedded > 0
        assert one.usage.embedding_tokens > 0
    stats, _ = await indexing.stats("group")
    assert stats.documents == 3
    assert stats.rows == stats.visible_rows == 3 * alone.chunks_stored
    resolved = (await indexing.locate("group")).collections[0]
    assert list(resolved.hidden_revisions) == []
    continued = await indexing.index(collection.id, "broken", blocks_of("broken"))
    assert continued.chunks_stored == alone.chunks_stored


async def test_a_group_takes_new_documents_only(indexing: IndexingClient) -> None:
    collection = await indexing.create("known")
    await indexing.index(collection.id, "known", blocks_of("known"))
    known, new, twice = await index_group(indexing, collection.id, ["known", "new", "new"])
    assert isinstance(known, FailedPrecondition)
    assert isinstance(new, idx.IndexResult)
    assert isinstance(twice, FailedPrecondition)
    [later] = await index_group(indexing, collection.id, ["later"], revision=2)
    assert isinstance(later, FailedPrecondition)
    stats, _ = await indexing.stats("known")
    assert stats.documents == 2


async def test_two_groups_of_the_same_documents_write_each_once(indexing: IndexingClient) -> None:
    collection = await indexing.create("twice")
    names = [f"same-{number}" for number in range(8)]
    both = await asyncio.gather(*(index_group(indexing, collection.id, names) for _ in range(2)))
    done = [[isinstance(one, idx.IndexResult) for one in outcomes] for outcomes in both]
    assert [sum(pair) for pair in zip(*done, strict=True)] == [1] * len(names)
    stats, _ = await indexing.stats("twice")
    stored = sum(one.chunks_stored for outcomes in both for one in outcomes if isinstance(one, idx.IndexResult))
    assert stats.rows == stats.visible_rows == stored
    assert stats.documents == len(names)


async def test_what_is_cancelled_before_its_group_stays_out(indexing: IndexingClient) -> None:
    collection = await indexing.create("cancelled")
    request = idx.CancelDocumentRequest(
        scope=indexing.scope, collection_id=collection.id, document_id="unwanted", revision=1
    )
    await indexing.stub.CancelDocument(request)
    unwanted, wanted = await index_group(indexing, collection.id, ["unwanted", "wanted"])
    assert isinstance(unwanted, Exception)
    assert isinstance(wanted, idx.IndexResult)
    stats, _ = await indexing.stats("cancelled")
    assert stats.documents == 1
    assert stats.rows == wanted.chunks_stored


async def test_what_is_deleted_before_its_group_stays_out(indexing: IndexingClient) -> None:
    collection = await indexing.create("deleted")
    request = idx.DeleteDocumentChunksRequest(scope=indexing.scope, collection_id=collection.id, document_id="unwanted")
    deletions = [indexing.stub.DeleteDocumentChunks(request) for _ in range(3)]
    assert [one.chunks_deleted for one in await asyncio.gather(*deletions)] == [0, 0, 0]
    unwanted, wanted = await index_group(indexing, collection.id, ["unwanted", "wanted"])
    assert isinstance(unwanted, FailedPrecondition)
    assert isinstance(wanted, idx.IndexResult)
    with pytest.raises(Aborted):  # its job takes it alone then
        await indexing.index(collection.id, "unwanted", placed([block(PARAGRAPH, "Deleted.")]))
    stats, _ = await indexing.stats("deleted")
    assert (stats.documents, stats.rows) == (1, wanted.chunks_stored)


async def move_all(
    client: IngestionClient, moves: Sequence[ing.UpdateDocumentStateRequest], scope: Scope | None = None
) -> list[stored_document_pb2.Document | Exception]:
    request = ingestion_groups.MoveDocumentsRequest(scope=scope or client.scope, moves=moves)
    answer = await IngestionGroups(client.channel).MoveDocuments(request, timeout=60)
    return [one.document if one.HasField("document") else from_proto(one.error) for one in answer.documents]


async def test_documents_are_moved_together_and_refused_alone(ingestion: IngestionClient) -> None:
    ids = [(await ingestion.upload(f"Note {number}.".encode())).document.id for number in range(3)]
    moves = [ing.UpdateDocumentStateRequest(document_id=one, revision=1, state=PROCESSING) for one in ids]
    moves[1].state = INDEXED
    moves.append(ing.UpdateDocumentStateRequest(document_id="missing", revision=1, state=PROCESSING))
    first, illegal, last, missing = await move_all(ingestion, moves)
    assert isinstance(illegal, FailedPrecondition)
    assert isinstance(missing, Exception)
    for one in (first, last):
        assert isinstance(one, stored_document_pb2.Document)
        assert one.state == PROCESSING
        assert one == await ingestion.get(one.id)
    assert (await ingestion.get(ids[1])).state == document_pb2.DOCUMENT_STATE_UPLOADED
    with pytest.raises(PermissionDenied):
        await move_all(ingestion, moves, Scope(tenant_id="t", user_id="u"))


async def test_documents_are_parsed_one_after_the_other(ingestion: IngestionClient) -> None:
    names = [f"Note {number} of the group." for number in range(3)]
    ids = [(await ingestion.upload(name.encode())).document.id for name in names]
    ids.insert(1, "missing")
    request = ingestion_groups.ParseDocumentsRequest(scope=ingestion.scope, document_ids=ids)
    parts = [
        part
        async for answer in IngestionGroups(ingestion.channel).ParseDocuments(request, timeout=60)
        for part in answer.parts
    ]
    assert [part.index for part in parts] == sorted(part.index for part in parts)
    for index, document_id in enumerate(ids):
        mine = [part for part in parts if part.index == index]
        if document_id == "missing":
            assert [from_proto(part.error).reason for part in mine] == ["DOCUMENT_NOT_FOUND"]
            continue
        blocks, metadata = await ingestion.parse(document_id)
        assert [one for part in mine for one in part.found.blocks] == blocks
        assert mine[-1].found.metadata == metadata
