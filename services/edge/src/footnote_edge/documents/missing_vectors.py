"""Counts chunks that are searchable by words and have no vector yet, for watches."""

import time
from collections.abc import Mapping

from footnote.internal.indexing.v1alpha1.upkeep_service_pb2 import CountMissingVectorsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.errors import NotOffered
from footnote_kit.telemetry import untraced

from footnote_edge.documents.polling import SharedPolls
from footnote_edge.ports import Stages

_PAGE = 1000


class MissingVectors:
    """Asks indexing how many vectors documents lack; watches of the same document or collection share a call.

    A third-party indexing stage may not count them: then no vector is missing.
    """

    def __init__(self, stages: Stages, fresh: float, timeout: float) -> None:
        self._upkeep = stages.indexing_upkeep
        self._timeout = timeout
        self._looks: SharedPolls[Mapping[str, int]] = SharedPolls(fresh, time.monotonic)

    async def of(
        self, scope: Scope, collection_id: str, document_id: str = "", since: float = 0.0
    ) -> Mapping[str, int]:
        """Return the counts by document id, of one document or of all in a collection; those with none are left out.

        The answer was requested at `since` or later. Check access first: another caller's answer may be shared. Raises
        the errors of indexing.
        """

        async def ask() -> Mapping[str, int]:
            request = CountMissingVectorsRequest(
                scope=scope, collection_id=collection_id, document_id=document_id, page_size=_PAGE
            )
            missing: dict[str, int] = {}
            while True:
                try:
                    found = await self._upkeep.CountMissingVectors(request, timeout=self._timeout, metadata=untraced())
                except NotOffered:
                    return {}
                missing.update((one.document_id, one.chunks_without_vector) for one in found.documents)
                request.page_token = found.next_page_token
                if not request.page_token:
                    return missing

        return await self._looks.get((scope.tenant_id, collection_id, document_id), since, ask)
