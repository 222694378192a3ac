"""Changes of a collection's documents, from ingestion's change feed, and documents that it does not name."""

import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR
from footnote_kit.errors import NotFound

from footnote_edge.ports import Stages

AGAIN_SECONDS = 10.0
"""Seconds without an end of a document after which awaited documents are read by their ids; doubled while none ends."""
MOST_AGAIN_SECONDS = 600.0
"""Maximum seconds between two such readings."""
_PAGE = 500


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

    async def document(self, scope: Scope, document_id: str) -> Document | None:
        """Return a document as it is now; None if it does not exist."""
        request = ingestion.GetDocumentRequest(scope=scope, document_id=document_id)
        try:
            found: Document = (await self._ingestion.GetDocument(request, timeout=self._timeout)).document
        except NotFound:
            return None
        return found

    async def failed(self, scope: Scope, collection_id: str) -> set[str]:
        """Return the ids of a collection's documents in ERROR."""
        request = ingestion.ListDocumentsRequest(
            scope=scope, collection_ids=[collection_id], states=[DOCUMENT_STATE_ERROR], page_size=_PAGE
        )
        found = set[str]()
        while True:
            page = await self._ingestion.ListDocuments(request, timeout=self._timeout)
            found.update(one.id for one in page.documents)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token


class Recheck:
    """Decides when to read awaited documents by their ids, with backoff while none of them ends.

    If ingestion lost its newest commits, a document is gone or back in an earlier state. The feed does not name it.
    """

    def __init__(self) -> None:
        self._since, self._pause = time.monotonic(), AGAIN_SECONDS

    def due(self) -> bool:
        """Return whether it is time; the next time is then twice as far away, unless a document ends."""
        if time.monotonic() - self._since <= self._pause:
            return False
        self._since = time.monotonic()
        self._pause = min(max(2 * self._pause, AGAIN_SECONDS), MOST_AGAIN_SECONDS)
        return True

    def ended(self, *, unnamed: bool = False) -> None:
        """Begin again with the shortest time; at once if a document ended that the feed did not name."""
        self._since, self._pause = time.monotonic(), 0.0 if unnamed else AGAIN_SECONDS
