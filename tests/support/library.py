"""A retrieval service under test: the real service and store, with an indexing service that only knows collections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from footnote.internal.indexing.v1alpha1 import layout_service_pb2 as layout
from footnote.internal.indexing.v1alpha1.layout_service_pb2_grpc import (
    LayoutServiceServicer,
    add_LayoutServiceServicer_to_server,
)
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.chunk_pb2 import ChunkLevel
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings, Visibility
from footnote.types.v1.role_pb2 import Role
from footnote_kit.app import App
from footnote_kit.errors import NotFound
from footnote_kit.testing import serve_app
from footnote_providers.base import EmbeddingProvider
from footnote_providers.registry import check, make
from footnote_retrieval.app import build
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from footnote_text.lexical import lexical_text


@dataclass
class Shelf:
    """One collection as the indexing service would report it."""

    collection: Collection
    space: str
    provider: EmbeddingProvider
    generation: int = 1
    hidden: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=lambda: ["en"])

    @property
    def key(self) -> str:
        return f"{self.collection.id}:{self.generation}"


class KnowsCollections(LayoutServiceServicer):
    """LocateCollections with the visibility rules of the contract."""

    def __init__(self) -> None:
        self.shelves: list[Shelf] = []
        self.calls = 0

    def _visible(self, scope: Scope, shelf: Shelf) -> bool:
        collection = shelf.collection
        if collection.tenant_id != scope.tenant_id:
            return False
        private = collection.visibility == Visibility.VISIBILITY_PRIVATE
        return not private or collection.owner_id == scope.user_id or Role.ROLE_ADMIN in scope.roles

    async def LocateCollections(self, request: Any, context: Any) -> layout.LocateCollectionsResponse:
        self.calls += 1
        visible = [shelf for shelf in self.shelves if self._visible(request.scope, shelf)]
        chosen = visible
        if request.collections:
            chosen = []
            for name in request.collections:
                match = [s for s in visible if name in (s.collection.name, s.collection.id)]
                if not match:
                    raise NotFound(f"Collection '{name}' not found", reason="COLLECTION_NOT_FOUND")
                chosen += match
        return layout.LocateCollectionsResponse(
            collections=[
                layout.LocatedCollection(
                    collection=shelf.collection, space=shelf.space, collection_key=shelf.key,
                    hidden_revisions=shelf.hidden, languages=shelf.languages,
                )
                for shelf in chosen
            ]
        )  # fmt: skip


class Library:
    """Collections and chunks for a test, and a stub of the service that searches them."""

    def __init__(self, store: VectorStore, known: KnowsCollections, stub: Any) -> None:
        self.store = store
        self.known = known
        self.stub = stub

    async def add_collection(
        self, name: str, *, tenant_id: str = "t", owner_id: str = "u", private: bool = False,
        embedding: EmbeddingSettings | None = None, languages: Sequence[str] = ("en",),
    ) -> Shelf:  # fmt: skip
        """Make a collection; its id is "<tenant>-<name>"."""
        collection = Collection(id=f"{tenant_id}-{name}", name=name, tenant_id=tenant_id, owner_id=owner_id)
        collection.visibility = Visibility.VISIBILITY_PRIVATE if private else Visibility.VISIBILITY_SHARED
        if embedding is not None:
            collection.settings.embedding.CopyFrom(embedding)
        provider = make(check(collection.settings.embedding))
        space = await self.store.ensure_space(provider.dimensions)
        shelf = Shelf(collection, space, provider, languages=list(languages))
        self.known.shelves.append(shelf)
        return shelf

    async def add(self, shelf: Shelf, chunks: Sequence[Chunk]) -> None:
        """Embed and store chunks in a collection."""
        size = shelf.provider.max_batch
        parts = [[chunk.text for chunk in chunks[at : at + size]] for at in range(0, len(chunks), size)]
        vectors = [vector for part in parts for vector in await shelf.provider.embed_documents(part)]
        rows = []
        for chunk, vector in zip(chunks, vectors, strict=True):
            chunk.tenant_id = shelf.collection.tenant_id
            chunk.collection_id = shelf.collection.id
            parent = chunk.level == ChunkLevel.CHUNK_LEVEL_PARENT
            rows.append(Row(chunk, shelf.key, None if parent else vector, lexical_text(chunk.text, chunk.language)))
        await self.store.upsert(shelf.space, rows)
        shelf.collection.chunk_count += len(rows)


@asynccontextmanager
async def open_library(uri: str, *, settled: bool = True, **settings: Any) -> AsyncIterator[Library]:
    """Run the retrieval service against a store and a test's collections; a `settled` store is emptied at the end."""
    known = KnowsCollections()
    indexing_app = App(
        name="indexing",
        servicers=[(add_LayoutServiceServicer_to_server, known, "footnote.internal.indexing.v1alpha1.LayoutService")],
    )
    store = VectorStore(uri)
    async with (
        serve_app(indexing_app) as served,
        serve_app(build, addresses={"indexing": served.address}, vector_store_uri=uri, **settings) as retrieval,
    ):
        yield Library(store, known, RetrievalServiceStub(retrieval.channel))
    for shelf in known.shelves:
        await shelf.provider.close()
    for space in {shelf.space for shelf in known.shelves} if settled else ():
        await store.delete(space, 'id != ""')
    await store.close()
