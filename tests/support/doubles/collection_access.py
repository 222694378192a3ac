"""A double of indexing's AuthorizeCollections, for tests of services that check access."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from footnote.indexing.v1 import indexing_service_pb2 as idx
from footnote.indexing.v1 import indexing_service_pb2_grpc as idx_grpc
from footnote.types.v1.collection_pb2 import ACCESS_READ, ACCESS_WRITE, Collection
from footnote_kit.access import Access, access_of
from footnote_kit.app import App
from footnote_kit.errors import FootnoteError
from footnote_kit.testing import Served, serve_app


def authorized(collections: list[Collection], request: Any) -> idx.AuthorizeCollectionsResponse:
    """Answer from a list of collections with their grants."""
    response = idx.AuthorizeCollectionsResponse()
    for one in collections:
        held = access_of(request.scope, one)
        if held and (not request.collection_ids or one.id in request.collection_ids):
            response.collections.add(
                collection_id=one.id,
                visibility=one.visibility,
                access=ACCESS_WRITE if held >= Access.WRITE else ACCESS_READ,
                may_manage=held == Access.MANAGE,
                name=one.name,
            )
    return response


class AccessDouble(idx_grpc.IndexingServiceServicer):
    """Answers AuthorizeCollections from a list of collections; `down`, if set, is raised instead."""

    def __init__(self, *collections: Collection) -> None:
        self.collections = list(collections)
        self.down: FootnoteError | None = None
        self.calls: list[Any] = []

    async def AuthorizeCollections(self, request: Any, context: Any) -> idx.AuthorizeCollectionsResponse:
        self.calls.append(request)
        if self.down is not None:
            raise self.down
        return authorized(self.collections, request)


@asynccontextmanager
async def serve_access(authority: AccessDouble) -> AsyncIterator[Served]:
    """Serve it on a free port."""
    add = idx_grpc.add_IndexingServiceServicer_to_server
    app = App(name="indexing", servicers=[(add, authority, "footnote.indexing.v1.IndexingService")])
    async with serve_app(app) as served:
        yield served
