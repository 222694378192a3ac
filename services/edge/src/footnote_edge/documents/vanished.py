"""Takes the words of documents and rows that no longer exist out of stored answers.

A deletion does so itself. What expires, and what goes while edge or a stage is down, is found here: by a comparison of
what answers were made of with what ingestion and indexing have.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as indexing_upkeep
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote_kit.context import detached
from footnote_kit.errors import FootnoteError, NotFound, NotOffered
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter, untraced

from footnote_edge.conversations.ports import Forgetting, Origins
from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages

PAGE = 500

_log = get_logger(__name__)


class VanishedOrigins:
    """Compares origins of answers with documents and rows; a collection's deletion looks after its own."""

    def __init__(self, stages: Stages, origins: Origins, forgetting: Forgetting, jobs: Jobs, timeout: float) -> None:
        self._ingestion = stages.ingestion_upkeep
        self._indexing = stages.indexing_upkeep
        self._origins = origins
        self._forgetting = forgetting
        self._jobs = jobs
        self._timeout = timeout

    async def compare(self) -> None:
        """Compare all origins; ends early where a third-party stage, or one of an earlier version, cannot be asked."""
        removed, after = 0, ""
        with suppress(NotOffered):
            while page := await self._origins.page(after, PAGE):
                after = page[-1][1]
                of_collection = defaultdict[str, list[str]](list)
                for collection_id, document_id in page:
                    of_collection[collection_id].append(document_id)
                there = await self._documents([one for _, one in page])
                for collection_id, ids in of_collection.items():
                    removed += await self._forget(collection_id, [one for one in ids if one not in there])
        if removed:
            counter("footnote.edge.repairs").add(removed, {"footnote.repair": "answers_of_missing_documents"})
            _log.warning("missing_documents_forgotten", documents=removed)

    async def look_at(self, collection_id: str, ids: Sequence[str]) -> None:
        """Look at rows whose deletion failed, since it may be done all the same; without an answer, `compare` does."""
        try:
            with detached("edge", SYSTEM):
                there = await self._documents(ids)
                await self._forget(collection_id, [one for one in ids if one not in there])
        except FootnoteError as error:
            _log.warning("deleted_rows_not_looked_at", collection_id=collection_id, reason=error.reason)

    async def _documents(self, ids: Sequence[str]) -> set[str]:
        """Return which are documents that exist, in any collection."""
        request = ingestion_upkeep.FindDocumentsRequest(scope=SYSTEM, document_ids=set(ids))
        found = await self._ingestion.FindDocuments(request, timeout=self._timeout, metadata=untraced())
        return set(found.document_ids)

    async def _forget(self, collection_id: str, ids: Sequence[str]) -> int:
        """Take those that are no rows of a collection out of answers; return how many."""
        if not (collection_id and ids):
            return 0
        request = indexing_upkeep.FindVectorsRequest(scope=SYSTEM, collection_id=collection_id, vector_ids=ids)
        try:
            found = await self._indexing.FindVectors(request, timeout=self._timeout, metadata=untraced())
        except NotFound:
            return 0  # deleted, which removes its answers; or lost, and then another database is more likely
        gone = [one for one in ids if one not in set(found.vector_ids)]
        if gone:
            self._jobs.remove_forgotten_from_memory(await self._forgetting.rows(collection_id, gone))
        return len(gone)
