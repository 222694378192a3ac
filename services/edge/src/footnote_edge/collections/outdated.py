"""How many of a collection's documents were indexed with other settings than it has now."""

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import Collection
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_edge.ports import Stages

_log = get_logger(__name__)


class Outdated:
    """Compares indexing's current settings with the digest that ingestion has stored for each document."""

    def __init__(self, stages: Stages, timeout: float) -> None:
        self._stages = stages
        self._timeout = timeout

    async def digest(self, scope: Scope, collection_id: str) -> str:
        """Return the digest of the effective settings; raises NotFound."""
        request = indexing.GetCollectionRequest(scope=scope, collection=collection_id, without_counts=True)
        response = await self._stages.indexing.GetCollection(request, timeout=self._timeout)
        return str(response.settings_digest)

    async def count(self, scope: Scope, collection_id: str) -> int:
        """Return how many documents were indexed with other settings."""
        digest = await self.digest(scope, collection_id)
        if not digest:
            return 0
        request = ingestion.ListDocumentsRequest(
            scope=scope, collection_ids=[collection_id], outdated_for=digest, page_size=1
        )
        response = await self._stages.ingestion.ListDocuments(request, timeout=self._timeout)
        return int(response.total_size)

    async def fill_in(self, scope: Scope, collection: Collection) -> None:
        """Set the count on a collection; left unset while a stage is down."""
        try:
            collection.outdated_documents = await self.count(scope, collection.id)
        except FootnoteError as error:
            _log.warning("outdated_documents_not_shown", reason=error.reason)
