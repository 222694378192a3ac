"""Translates between the messages of footnote.indexing.v1 and the logic."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from uuid import uuid4

from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.indexing.v1 import indexing_service_pb2_grpc as pb_grpc
from footnote.internal.indexing.v1alpha1 import layout_service_pb2 as layout
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as upkeep
from footnote.internal.indexing.v1alpha1.layout_service_pb2_grpc import LayoutServiceServicer
from footnote.internal.indexing.v1alpha1.upkeep_service_pb2_grpc import UpkeepServiceServicer
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1 import collection_pb2, provider_pb2
from footnote_kit import epochs
from footnote_kit.access import Access, access_of, is_system
from footnote_kit.context import Call
from footnote_kit.epochs import Epochs
from footnote_kit.errors import InvalidArgument, PermissionDenied
from footnote_kit.paging import LARGEST_SIZE, TEXTS, Page, micros, position_of, position_token, sequence, text
from footnote_kit.redact import redact_all
from footnote_providers.egress import egress
from footnote_store.filters import parse_filter
from google.protobuf import json_format

from footnote_indexing.chunking.drafts import settings_digest
from footnote_indexing.collections.collections import Collections, Hiding
from footnote_indexing.collections.providers import Providers
from footnote_indexing.ports import Inventory, VectorClaims
from footnote_indexing.revisions.chunk_reading import ChunkReading
from footnote_indexing.revisions.collection_contents import CollectionContents, Searchable
from footnote_indexing.revisions.document_indexing import Part, Result
from footnote_indexing.revisions.documents import Documents
from footnote_indexing.revisions.own_row_adder import OwnRowAdder
from footnote_indexing.revisions.own_rows import OwnRows
from footnote_indexing.revisions.relabelling import Relabelling
from footnote_indexing.upkeep.owed_vectors import OwedVectors
from footnote_indexing.writing.messages import Messages
from footnote_indexing.writing.vectorizers import Vectorizers

_DAMAGED, _MOST_DAMAGED = 100, 1000


class IndexingServicer(pb_grpc.IndexingServiceServicer, UpkeepServiceServicer, LayoutServiceServicer):
    """The RPCs of the indexing stage."""

    def __init__(
        self,
        documents: Documents,
        contents: CollectionContents,
        collections: Collections,
        row_adder: OwnRowAdder,
        rows: OwnRows,
        messages: Messages,
        providers: Providers,
        vectorizers: Vectorizers,
        inventory: Inventory,
        relabelling: Relabelling,
        chunks: ChunkReading,
        hiding: Hiding,
        claims: VectorClaims,
        owed: OwedVectors,
    ) -> None:
        self._documents = documents
        self._contents = contents
        self._collections = collections
        self._row_adder = row_adder
        self._rows = rows
        self._messages = messages
        self._providers = providers
        self._vectorizers = vectorizers
        self._inventory = inventory
        self._relabelling = relabelling
        self._chunks = chunks
        self._hiding = hiding
        self._claims = claims
        self._owed = owed
        self._instance = uuid4().hex

    async def CreateCollection(self, request: pb.CreateCollectionRequest, context: Call) -> pb.CreateCollectionResponse:
        """Create a collection."""
        wanted, most = (request.scope, request.collection), request.max_tenant_collections
        if request.validate_only:
            checked = await self._collections.create(*wanted, most, only_check=True)
            return pb.CreateCollectionResponse(collection=checked)
        created = await self._contents.create(*wanted, most, request.collection_id)
        return pb.CreateCollectionResponse(collection=created)

    async def GetCollection(self, request: pb.GetCollectionRequest, context: Call) -> pb.GetCollectionResponse:
        """Return one collection."""
        epoch, of_collections = self._contents.epoch, self._contents.collections_epoch
        found = await self._collections.find(request.scope, request.collection)
        collection = await self._collections.with_effective(request.scope, found, counted=not request.without_counts)
        still = epoch if epoch == self._contents.epoch else ""
        epochs.send(context, Epochs(still, self._contents.still_of_collections(of_collections)))
        return pb.GetCollectionResponse(collection=collection, settings_digest=settings_digest(found.effective))

    async def ListCollections(self, request: pb.ListCollectionsRequest, context: Call) -> pb.ListCollectionsResponse:
        """Return a page of collections."""
        page, token, total = await self._collections.page(request.scope, Page.of(request.scope, request, kinds=TEXTS))
        return pb.ListCollectionsResponse(collections=page, next_page_token=token, total_size=total)

    async def UpdateCollection(self, request: pb.UpdateCollectionRequest, context: Call) -> pb.UpdateCollectionResponse:
        """Change a collection."""
        wanted = (request.scope, request.collection, request.resource, request.update_mask.paths)
        if request.validate_only:
            return pb.UpdateCollectionResponse(collection=await self._collections.update(*wanted, only_check=True))
        changed = await self._contents.update(*wanted)
        return pb.UpdateCollectionResponse(collection=changed)

    async def HideCollection(self, request: pb.HideCollectionRequest, context: Call) -> pb.HideCollectionResponse:
        """Hide a collection, or make it visible again."""
        act = self._hiding.restore if request.restore else self._hiding.hide
        return pb.HideCollectionResponse(collection_id=await act(request.scope, request.collection))

    async def DeleteCollection(self, request: pb.DeleteCollectionRequest, context: Call) -> pb.DeleteCollectionResponse:
        """Delete a collection."""
        collection_id, chunks = await self._contents.delete_collection(request.scope, request.collection)
        return pb.DeleteCollectionResponse(collection_id=collection_id, chunks_deleted=chunks)

    async def ResolveCollections(
        self, request: pb.ResolveCollectionsRequest, context: Call
    ) -> pb.ResolveCollectionsResponse:
        """Return collections as a search of them finds them."""
        resolved = await self._resolved(request.scope, request.collections, context)
        return pb.ResolveCollectionsResponse(collections=[item.collection for item in resolved])

    async def LocateCollections(
        self, request: layout.LocateCollectionsRequest, context: Call
    ) -> layout.LocateCollectionsResponse:
        """Return what a search must know."""
        resolved = await self._resolved(request.scope, request.collections, context)
        return layout.LocateCollectionsResponse(
            collections=[
                layout.LocatedCollection(
                    collection=item.collection,
                    space=item.index_version.space,
                    collection_key=item.index_version.collection_key,
                    hidden_revisions=item.hidden,
                    languages=item.languages,
                )
                for item in resolved
            ],
        )

    async def _resolved(self, scope: Scope, names: Sequence[str], context: Call) -> Sequence[Searchable]:
        of_collections = self._contents.collections_epoch
        resolved, epoch = await self._contents.resolve(scope, names)
        epochs.send(context, Epochs(epoch, self._contents.still_of_collections(of_collections)))
        return resolved

    async def AuthorizeCollections(
        self, request: pb.AuthorizeCollectionsRequest, context: Call
    ) -> pb.AuthorizeCollectionsResponse:
        """Return what the caller may do in collections."""
        epoch = self._contents.collections_epoch
        found = await self._collections.authorize(request.scope, request.collection_ids)
        held = [(one, access_of(request.scope, one)) for one in found]
        epochs.send(context, Epochs(collections=self._contents.still_of_collections(epoch)))
        return pb.AuthorizeCollectionsResponse(
            collections=[
                pb.CollectionAccess(
                    collection_id=one.id,
                    visibility=one.visibility,
                    access=collection_pb2.ACCESS_WRITE if access >= Access.WRITE else collection_pb2.ACCESS_READ,
                    may_manage=access >= Access.MANAGE,
                    name=one.name,
                )
                for one, access in held
                if access >= Access.READ
            ],
        )

    async def IndexDocument(
        self, request_iterator: AsyncIterator[pb.IndexDocumentRequest], context: Call
    ) -> AsyncIterator[pb.IndexDocumentResponse]:
        """Index one revision of a document."""
        first = await anext(aiter(request_iterator), None)
        if first is None or first.WhichOneof("payload") != "header":
            raise InvalidArgument.field("header", "must be the first message")
        events = self._documents.index(first.scope, first.header.document, _parts(request_iterator))
        async for event in events:
            if isinstance(event, Result):
                yield pb.IndexDocumentResponse(result=event.message())
            else:
                yield pb.IndexDocumentResponse(progress=event)

    async def DeleteDocumentChunks(
        self, request: pb.DeleteDocumentChunksRequest, context: Call
    ) -> pb.DeleteDocumentChunksResponse:
        """Remove a document's chunks."""
        removed = await self._documents.delete_document(
            request.scope, request.collection_id, request.document_id, request.revision
        )
        return pb.DeleteDocumentChunksResponse(chunks_deleted=removed)

    async def GetChunk(self, request: pb.GetChunkRequest, context: Call) -> pb.GetChunkResponse:
        """Return one chunk."""
        return pb.GetChunkResponse(chunk=await self._chunks.get(request.scope, request.chunk_id))

    async def ListChunks(self, request: pb.ListChunksRequest, context: Call) -> pb.ListChunksResponse:
        """Return a page of a document's chunks."""
        page = await self._chunks.page(
            request.scope,
            request.collection_id,
            request.document_id,
            request.revision if request.HasField("revision") else None,
            Page.of(request.scope, request, kinds=(sequence, sequence)),
        )
        return pb.ListChunksResponse(
            chunks=page.chunks, next_page_token=page.next_token, total_size=page.total, revision=page.revision
        )

    async def CancelDocument(self, request: pb.CancelDocumentRequest, context: Call) -> pb.CancelDocumentResponse:
        """Cancel a revision that is not searched."""
        await self._documents.cancel_document(
            request.scope, request.collection_id, request.document_id, request.revision
        )
        return pb.CancelDocumentResponse()

    async def UpdateDocumentChunks(
        self, request: pb.UpdateDocumentChunksRequest, context: Call
    ) -> pb.UpdateDocumentChunksResponse:
        """Update a document's chunks."""
        changed = await self._relabelling.relabel(request.scope, request.document)
        return pb.UpdateDocumentChunksResponse(chunks_updated=changed)

    async def AddVectors(self, request: pb.AddVectorsRequest, context: Call) -> pb.AddVectorsResponse:
        """Add texts with vectors."""
        ids = await self._row_adder.add(request.scope, request.collection, request.rows)
        return pb.AddVectorsResponse(count=len(ids), ids=ids)

    async def GetVector(self, request: pb.GetVectorRequest, context: Call) -> pb.GetVectorResponse:
        """Return one text with its vector."""
        row = await self._rows.get(request.scope, request.collection, request.vector_id, vector=request.include_vector)
        return pb.GetVectorResponse(row=row)

    async def ListVectors(self, request: pb.ListVectorsRequest, context: Call) -> pb.ListVectorsResponse:
        """Return a page of texts with own vectors."""
        page = Page.of(request.scope, request)
        rows, token = await self._rows.page(
            request.scope, request.collection, parse_filter(request), page, vectors=request.include_vectors
        )
        return pb.ListVectorsResponse(rows=rows, next_page_token=token)

    async def DeleteVectors(self, request: pb.DeleteVectorsRequest, context: Call) -> pb.DeleteVectorsResponse:
        """Delete texts with own vectors."""
        wanted = (request.scope, request.collection, request.ids)
        deleted = await self._rows.delete(*wanted, allow_missing=request.allow_missing)
        return pb.DeleteVectorsResponse(deleted=deleted)

    async def IndexMessages(self, request: pb.IndexMessagesRequest, context: Call) -> pb.IndexMessagesResponse:
        """Store messages."""
        bounds = egress.bounds_of(request.HasField("bounds"), request.bounds)
        count, embedder = await self._messages.remember(request.scope, request.messages, bounds)
        return pb.IndexMessagesResponse(count=count, embedder=embedder)

    async def DeleteMessages(self, request: pb.DeleteMessagesRequest, context: Call) -> pb.DeleteMessagesResponse:
        """Delete a conversation's messages."""
        return pb.DeleteMessagesResponse(
            count=await self._messages.forget(request.scope, request.conversation_id, request.message_ids)
        )

    async def GetIndexStats(self, request: pb.GetIndexStatsRequest, context: Call) -> pb.GetIndexStatsResponse:
        """Return counts."""
        stats = await self._contents.stats(request.scope, request.collections)
        counters = self._vectorizers.counters
        return pb.GetIndexStatsResponse(
            collections=[
                pb.CollectionStats(
                    collection=item.found.collection.name,
                    collection_id=item.found.collection.id,
                    rows=item.rows,
                    visible_rows=item.visible_rows,
                    documents=item.documents,
                    bytes=item.bytes,
                    dimensions=item.found.index_version.embedding.dimensions,
                )
                for item in stats
            ],
            cache_entries=await self._vectorizers.cache_entries(),
            cache_hits=counters.cache_hits,
            cache_misses=counters.cache_misses,
            embedding_calls=counters.calls,
        )

    async def ListDamagedDocuments(
        self, request: upkeep.ListDamagedDocumentsRequest, context: Call
    ) -> upkeep.ListDamagedDocumentsResponse:
        """Return documents with chunks missing or doubled."""
        if not 0 <= request.limit <= _MOST_DAMAGED:
            raise InvalidArgument.field("limit", f"must be between 1 and {_MOST_DAMAGED}, or 0 for {_DAMAGED}")
        if request.all_tenants:
            _system_only(request.scope)
        limit, after = request.limit or _DAMAGED, None
        if request.page_token:
            after = position_of(request.scope, request, request.page_token, kinds=(micros, text))
        damaged = await self._inventory.damaged(None if request.all_tenants else request.scope, limit, after)
        last = (damaged[-1].time_ms, damaged[-1].holding.key.document_id) if len(damaged) == limit else None
        token = "" if last is None else position_token(request.scope, request, last)
        return upkeep.ListDamagedDocumentsResponse(
            documents=[
                upkeep.DamagedDocument(
                    tenant_id=damage.tenant_id,
                    collection_id=damage.holding.key.collection_id,
                    document_id=damage.holding.key.document_id,
                    revision=damage.holding.key.revision,
                    chunks_expected=damage.holding.written,
                    chunks_stored=damage.holding.counted,
                )
                for damage in damaged
            ],
            next_page_token=token,
        )

    async def CountMissingVectors(
        self, request: upkeep.CountMissingVectorsRequest, context: Call
    ) -> upkeep.CountMissingVectorsResponse:
        """Return the documents of a collection that lack vectors."""
        found = await self._collections.find(request.scope, request.collection_id)
        page = Page.of(request.scope, request, kinds=TEXTS[:1])
        [after] = page.position or ("",)
        missing = await self._claims.missing(
            found.collection.id, found.index_version.number, request.document_id, after, page.size
        )
        return upkeep.CountMissingVectorsResponse(
            documents=[
                upkeep.DocumentMissingVectors(document_id=one, chunks_without_vector=count) for one, count in missing
            ],
            next_page_token=page.token(missing[-1][:1]) if len(missing) == page.size else "",
        )

    async def GetVectorWork(self, request: upkeep.GetVectorWorkRequest, context: Call) -> upkeep.GetVectorWorkResponse:
        """Return how many vectors are still to be made, and how many this process has made."""
        _system_only(request.scope)
        return upkeep.GetVectorWorkResponse(
            chunks_without_vector=await self._claims.owed(), vectors_made=self._owed.made, instance=self._instance
        )

    async def ListIndexedDocuments(
        self, request: upkeep.ListIndexedDocumentsRequest, context: Call
    ) -> upkeep.ListIndexedDocumentsResponse:
        """Return a page of what searches see."""
        _system_only(request.scope)
        if len(request.document_ids) > LARGEST_SIZE:
            raise InvalidArgument.field("document_ids", f"must be at most {LARGEST_SIZE}")
        page = Page.of(request.scope, request, kinds=TEXTS)
        after = page.position or ("", "")
        found = await self._inventory.indexed(request.document_ids, after, page.size)
        last = found[-1] if len(found) == page.size else None
        return upkeep.ListIndexedDocumentsResponse(
            documents=[upkeep.IndexedDocument(**asdict(one)) for one in found],
            next_page_token="" if last is None else page.token((last.document_id, last.collection_id)),
            instance=self._instance,
        )

    async def FindVectors(self, request: upkeep.FindVectorsRequest, context: Call) -> upkeep.FindVectorsResponse:
        """Return which texts with own vectors exist."""
        _system_only(request.scope)
        there = await self._rows.there(request.collection_id, request.vector_ids)
        return upkeep.FindVectorsResponse(vector_ids=there)

    async def ListProviders(self, request: pb.ListProvidersRequest, context: Call) -> pb.ListProvidersResponse:
        """Return the providers."""
        return pb.ListProvidersResponse(providers=self._providers.descriptors(request.scope))

    async def ValidateProvider(self, request: pb.ValidateProviderRequest, context: Call) -> pb.ValidateProviderResponse:
        """Check settings."""
        problems = self._providers.validate(request.kind, request.id, json_format.MessageToDict(request.settings))
        return pb.ValidateProviderResponse(valid=not problems, problems=problems)

    async def CheckProvider(self, request: pb.CheckProviderRequest, context: Call) -> pb.CheckProviderResponse:
        """Call a provider."""
        settings = json_format.MessageToDict(request.settings)
        checked = await self._providers.check(request.scope, request.kind, request.id, settings)
        health = provider_pb2.ProviderHealth(
            kind=request.kind, id=request.id, healthy=checked.healthy, error=checked.error
        )
        health.check_time.GetCurrentTime()
        health.latency.FromMicroseconds(int(checked.latency * 1e6))
        json_format.ParseDict(redact_all(dict(checked.details)), health.details)
        return pb.CheckProviderResponse(health=health)


async def _parts(requests: AsyncIterator[pb.IndexDocumentRequest]) -> AsyncIterator[Part]:
    """Return what follows the header."""
    async for request in requests:
        kind = request.WhichOneof("payload")
        if kind == "blocks":
            yield request.blocks.blocks
        elif kind == "metadata":
            yield request.metadata
        else:
            raise InvalidArgument.field("payload", "must be blocks or metadata after the first message")


def _system_only(scope: Scope) -> None:
    """Raise PermissionDenied for any caller but a service at work on its own account."""
    if not is_system(scope):
        raise PermissionDenied("Only a service at work on its own account may ask about all tenants.")
