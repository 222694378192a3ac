"""Changes of a collection's documents, from ingestion's change feed."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document

from footnote_edge.ports import Stages


@dataclass(slots=True)
class Changes:
    """Changed documents, ids of deleted ones, and the start of the next request (microseconds since 1970)."""

    documents: list[Document] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    until: int = 0


class Feed:
    """Reads ingestion's change feed."""

    def __init__(self, stages: Stages, timeout: float) -> None:
        self._ingestion = stages.ingestion
        self._timeout = timeout

    async def since(self, scope: Scope, collection_id: str, since: int) -> Changes:
        """Return all changes since a time in microseconds; raises ingestion's refusals."""
        whole = Changes()
        async for part in self.parts(scope, collection_id, since, self._timeout):
            whole.documents += part.documents
            whole.deleted += part.deleted
            whole.until = part.until
        return whole

    async def parts(
        self, scope: Scope, collection_id: str, since: int | None, timeout: float
    ) -> AsyncGenerator[Changes]:
        """Yield changes as they arrive, or every document if `since` is None; only the last part has `until`."""
        request = ingestion.ListDocumentChangesRequest(scope=scope, collection_id=collection_id)
        if since is not None:
            request.since.FromMicroseconds(since)
        call = self._ingestion.ListDocumentChanges(request, timeout=timeout)
        try:
            async for part in call:
                until = part.until.ToMicroseconds() if part.HasField("until") else 0
                yield Changes(list(part.documents), list(part.deleted), until)
        finally:
            call.cancel()
