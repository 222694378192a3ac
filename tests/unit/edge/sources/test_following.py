"""Failed items of a source are in step once their documents are reindexed; those that stay failed cost no look each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_edge.sources.following import DocumentFollower

NUMBER = 1200


@dataclass
class Both:
    """Items that have failed, and ingestion with their documents."""

    documents: dict[str, Document]
    settled: set[str] = field(default_factory=set)
    calls: int = 0

    async def not_indexed(self, source_id: str, after: str, limit: int) -> Sequence[Any]:
        keys = sorted(one for one in self.documents if one > after)[:limit]
        return [SimpleNamespace(key=one, document_id=one, sha256="x") for one in keys]

    async def indexing(self, source_id: str, after: str, limit: int) -> Sequence[Any]:
        return []

    async def settle(self, holder: object, items: Mapping[str, Any]) -> None:
        self.settled.update(items)

    async def GetDocument(self, request: Any, **_: Any) -> ingestion.GetDocumentResponse:
        self.calls += 1
        return ingestion.GetDocumentResponse(document=self.documents[request.document_id])

    async def ListDocuments(self, request: Any, **_: Any) -> ingestion.ListDocumentsResponse:
        self.calls += 1
        assert list(request.collection_ids) == ["c"]
        found = [one for one in self.documents.values() if one.state in request.states]
        begin = int(request.page_token or 0)
        end = begin + request.page_size
        token = str(end) if end < len(found) else ""
        return ingestion.ListDocumentsResponse(documents=found[begin:end], next_page_token=token)


async def _not_stopped() -> bool:
    return False


async def test_only_documents_that_have_not_failed_are_looked_at() -> None:
    names = [f"{number:04}" for number in range(NUMBER)]
    both = Both({one: Document(id=one, state=DOCUMENT_STATE_ERROR, sha256="x") for one in names})
    both.documents["0007"].state = DOCUMENT_STATE_INDEXED
    both.documents["1100"].state = DOCUMENT_STATE_INDEXED
    stages: Any = SimpleNamespace(ingestion=both)
    items: Any = both
    unused: Any = None
    source: Any = SimpleNamespace(id="s", collection_id="c")
    following = DocumentFollower(stages, items, 5.0, 1.0, 0.1)
    assert await following.follow(Scope(tenant_id="t", user_id="u"), source, unused, _not_stopped) == (0, True)
    assert both.settled == {"0007", "1100"}
    assert both.calls < 10
