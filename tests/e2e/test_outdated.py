"""Documents indexed with other settings than their collection has now are counted, listed and brought up to date."""

from uuid import uuid4

import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest, UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest, ReindexDocumentsRequest
from footnote.types.v1 import collection_pb2 as col
from footnote_kit.errors import InvalidArgument
from support.edge_client import EdgeClient
from support.operations import ended

TEXT = " ".join(f"The crane number {n} lifts {n} tons and stands in hall {n}." for n in range(60)).encode()


def sized(name: str, size: int, *, reindex: bool = False) -> UpdateCollectionRequest:
    change = UpdateCollectionRequest(collection=name, resource=col.Collection(), reindex=reindex)
    change.resource.settings.chunking.size = size
    change.update_mask.paths.append("settings.chunking.size")
    return change


async def outdated(edge: EdgeClient, name: str) -> tuple[int, set[str]]:
    found = (await edge.stub.GetCollection(GetCollectionRequest(collection=name))).collection
    listed = await edge.stub.ListDocuments(ListDocumentsRequest(collection=name, outdated=True))
    assert listed.total_size == len(listed.documents) == found.outdated_documents
    return found.outdated_documents, {one.filename for one in listed.documents}


async def test_changed_settings_mark_documents_and_reindexing_brings_them_up_to_date(edge: EdgeClient) -> None:
    name = f"cranes-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))
    await edge.put(TEXT, "one.txt", collection=name)
    await edge.put(TEXT + b" More.", "two.txt", collection=name)
    assert await outdated(edge, name) == (0, set())

    changed = await edge.stub.UpdateCollection(sized(name, 400))
    assert (changed.collection.outdated_documents, changed.HasField("operation")) == (2, False)
    assert await outdated(edge, name) == (2, {"one.txt", "two.txt"})

    await edge.put(TEXT + b" Last.", "three.txt", collection=name)
    assert await outdated(edge, name) == (2, {"one.txt", "two.txt"})
    begun = await edge.stub.ReindexDocuments(ReindexDocumentsRequest(collection=name, outdated_only=True))
    operation = await ended(edge.stub, begun.operation)
    assert (operation.total, operation.done, operation.failed) == (2, 2, 0)
    assert await outdated(edge, name) == (0, set())

    again = await edge.stub.UpdateCollection(sized(name, 600, reindex=True))
    assert (await ended(edge.stub, again.operation)).done == 3
    assert await outdated(edge, name) == (0, set())
    assert not (await edge.stub.UpdateCollection(sized(name, 600, reindex=True))).HasField("operation")


async def test_settings_that_do_not_cut_or_embed_mark_nothing(edge: EdgeClient) -> None:
    name = f"cranes-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))
    await edge.put(TEXT, "one.txt", collection=name)
    change = UpdateCollectionRequest(collection=name, resource=col.Collection(description="Cranes."), reindex=True)
    change.resource.settings.retrieval.limit = 7
    changed = await edge.stub.UpdateCollection(change)
    assert (changed.collection.outdated_documents, changed.HasField("operation")) == (0, False)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (ReindexDocumentsRequest(collection="c", outdated_only=True, failed_only=True), "outdated_only"),
        (ReindexDocumentsRequest(document_ids=["d"], outdated_only=True), "outdated_only"),
    ],
)
async def test_outdated_only_goes_with_a_whole_collection(
    edge: EdgeClient, request_: ReindexDocumentsRequest, field: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await edge.stub.ReindexDocuments(request_)
    assert [name for name, _ in caught.value.violations] == [field]
    with pytest.raises(InvalidArgument):
        await edge.stub.ListDocuments(ListDocumentsRequest(outdated=True))
