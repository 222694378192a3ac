"""Collections as indexing knows them."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from footnote.indexing.v1.indexing_service_pb2 import ResolveCollectionsRequest
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.types.v1.scope_pb2 import Scope

from footnote_retrieval.ports import Searchable


class IndexingCollections:
    """Asks the indexing service which collections a caller may see."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = IndexingServiceStub(channel)

    async def resolve(self, scope: Scope, names: Sequence[str]) -> list[Searchable]:
        """Return the named collections, or every visible one, in that order."""
        response = await self._stub.ResolveCollections(
            ResolveCollectionsRequest(scope=scope, collections=list(dict.fromkeys(names)))
        )
        return [
            Searchable(
                collection=found.collection,
                space=found.space,
                collection_key=found.collection_key,
                hidden_revisions=tuple(found.hidden_revisions),
                languages=tuple(found.languages),
            )
            for found in response.collections
        ]
