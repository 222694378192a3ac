"""With --json the output is one document that says what happened, and the exit code says whether it worked."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from footnote.edge.v1.collections_pb2 import UpdateCollectionResponse
from footnote.edge.v1.documents_pb2 import DeleteDocumentResponse
from footnote.edge.v1.operations_pb2 import WatchOperationResponse
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit import errors
from support.doubles.scripted_edge import ScriptedEdge, operation
from typer.testing import Result

Footnote = Callable[..., Result]


class FailingEdge(ScriptedEdge):
    """Ends operations as the test says, and does not find documents whose id begins with "lost"."""

    ends: dict[str, Any] = {"state": "SUCCEEDED"}  # noqa: RUF012 - replaced, never changed

    async def UpdateCollection(self, request: Any, context: Any) -> UpdateCollectionResponse:
        changed = Collection(name=request.collection)
        return UpdateCollectionResponse(collection=changed, operation=operation("REINDEX_DOCUMENTS", "QUEUED"))

    async def WatchOperation(self, request: Any, context: Any) -> AsyncIterator[WatchOperationResponse]:
        yield WatchOperationResponse(operation=operation("REINDEX_DOCUMENTS", "RUNNING", total=2))
        yield WatchOperationResponse(operation=operation("REINDEX_DOCUMENTS", total=2, **self.ends))

    async def DeleteDocument(self, request: Any, context: Any) -> DeleteDocumentResponse:
        if request.document_id.startswith("lost"):
            raise errors.NotFound("No such document", reason="DOCUMENT_NOT_FOUND")
        return DeleteDocumentResponse(chunks_deleted=3)


@pytest.fixture
def edge() -> FailingEdge:
    """An edge whose operations may fail."""
    return FailingEdge()


ENDS = [
    ({"state": "SUCCEEDED", "done": 2}, 0),
    ({"state": "SUCCEEDED", "done": 1, "failed": 1}, 1),
    ({"state": "FAILED"}, 1),
    ({"state": "CANCELLED"}, 1),
]


@pytest.mark.parametrize(("ends", "code"), ENDS)
def test_reindexing_after_an_update_gives_the_collection(
    ends: dict[str, Any], code: int, footnote: Footnote, edge: FailingEdge
) -> None:
    edge.ends = ends
    result = footnote("collections", "update", "default", "--set", "chunking.size=800", "--reindex", "--json")
    assert json.loads(result.stdout)["name"] == "default"
    assert result.exit_code == code


@pytest.mark.parametrize("shown", [[], ["--json"]])
@pytest.mark.parametrize(("ends", "code"), ENDS)
def test_watching_ends_as_the_operation_did(
    ends: dict[str, Any], code: int, shown: list[str], footnote: Footnote, edge: FailingEdge
) -> None:
    edge.ends = ends
    result = footnote("operations", "watch", "op-REINDEX_DOCUMENTS", *shown)
    assert result.exit_code == code
    if shown:
        assert len([json.loads(line) for line in result.stdout.splitlines()]) == 2


def test_a_download_says_the_id_of_its_document(footnote: Footnote) -> None:
    result = json.loads(footnote("documents", "download", "handbook.pdf", "--json").stdout)
    assert result["document_id"] == "doc-handbook"


def test_what_was_deleted_before_a_failure_is_said(footnote: Footnote) -> None:
    result = footnote("documents", "delete", "doc-a", "doc-b", "lost", "doc-c", "--yes", "--json")
    assert result.exit_code == 3
    assert [one["document_id"] for one in json.loads(result.stdout)["deleted"]] == ["doc-a", "doc-b"]
    assert json.loads(result.stderr)["error"]["reason"] == "DOCUMENT_NOT_FOUND"
