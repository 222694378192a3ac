"""The five stages as small in-memory servers: real gRPC, real contracts, and switches that make them fail on demand."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import grpc
from footnote.augmentation.v1 import augmentation_service_pb2 as aug
from footnote.augmentation.v1 import augmentation_service_pb2_grpc as aug_grpc
from footnote.generation.v1 import generation_service_pb2 as gen
from footnote.generation.v1 import generation_service_pb2_grpc as gen_grpc
from footnote.indexing.v1 import indexing_service_pb2 as idx
from footnote.indexing.v1 import indexing_service_pb2_grpc as idx_grpc
from footnote.ingestion.v1 import ingestion_service_pb2 as ing
from footnote.ingestion.v1 import ingestion_service_pb2_grpc as ing_grpc
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2 as idx_upkeep
from footnote.internal.indexing.v1alpha1 import upkeep_service_pb2_grpc as idx_upkeep_grpc
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ing_upkeep
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2_grpc as ing_upkeep_grpc
from footnote.retrieval.v1 import retrieval_service_pb2 as ret
from footnote.retrieval.v1 import retrieval_service_pb2_grpc as ret_grpc
from footnote.stages.v1 import parsing_pb2, passage_pb2, prompt_pb2, stored_document_pb2
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1 import provider_pb2 as prov
from footnote.types.v1 import reasons_pb2
from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.access import Access, access_of, check, collection_missing, is_system
from footnote_kit.app import App
from footnote_kit.collection_settings import resolve
from footnote_kit.document_files import FIELDS
from footnote_kit.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    FootnoteError,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from footnote_kit.testing import serve_app
from footnote_retrieval.servicer import MAX_QUERY

from support.doubles.collection_access import authorized


@dataclass
class World:
    """The state of the doubles. A method raises `failures[method]` while that is set, and waits for `gates[method]`."""

    documents: dict[str, stored_document_pb2.Document] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    deleting: dict[str, stored_document_pb2.Document] = field(default_factory=dict)
    relabelled: set[str] = field(default_factory=set)
    damaged: dict[str, int] = field(default_factory=dict)
    """The revision of each document that has lost chunks, by the document's id."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    uploaded: dict[tuple[str, str, str], str] = field(default_factory=dict)
    collections: dict[str, col.Collection] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    chunks: dict[str, list[passage_pb2.Chunk]] = field(default_factory=dict)
    messages: list[ans.MemoryMessage] = field(default_factory=list)
    embedder: str = "first"
    """What IndexMessages names as the embedder of its vectors."""
    recalled: list[ans.MemoryMessage] = field(default_factory=list)
    failures: dict[str, FootnoteError] = field(default_factory=dict)
    fails_after: dict[str, FootnoteError] = field(default_factory=dict)
    """What one call of a method ends with, although it is done."""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    gates: dict[str, Any] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    revises: bool = False
    refused_rerankers: dict[str, FootnoteError] = field(default_factory=dict)
    breaks_after: int = 0
    """Words after which the model dies; 0 for never."""
    refused_end: FootnoteError | None = None
    """What INDEXED as the end of a document is refused with."""
    verdict: int = 0
    """The verdict on footnotes, if it is not the usual one."""
    finish_reason: int = 0
    chunking_choice: int = doc.CHUNKING_CHOICE_PARAGRAPHS_FOUND
    degradations: list[ans.Degradation] = field(default_factory=list)
    """What a search says that it could not do."""
    rewritten: str = ""
    complete: bool = False
    """Whether follow-ups lean on nothing before them."""
    says: str = ""
    """What the model says in place of its source, without a footnote; "" for its own words."""
    withholds: str = ""
    """What the model wrote without a source, which is withheld."""
    warnings: Sequence[str] = ()
    """Warnings of the model's answers."""
    window: int = 0
    vectors_later: bool = False
    """Whether documents are searched before their vectors are made."""
    missing: dict[str, int] = field(default_factory=dict)
    vectors_made: int = 0
    """Vectors that indexed documents lack, by the documents' ids."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to have become true here, a minute at most."""
        async with asyncio.timeout(240):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def enter(self, method: str, request: Any) -> None:
        self.calls.append((method, request))
        self.changed.set()
        gate = self.gates.get(method)
        if gate is not None:
            await gate.wait()
        error = self.failures.get(method)
        if error is not None:
            raise error

    def requests(self, method: str) -> list[Any]:
        return [request for name, request in self.calls if name == method]


class Ingestion(ing_grpc.IngestionServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    async def DescribeTables(self, request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "It knows no tables")

    ReadTable = QueryTables = DescribeTables

    async def UploadDocument(self, request_iterator: Any, context: Any) -> ing.UploadDocumentResponse:
        first = await anext(request_iterator)
        await self.world.enter("UploadDocument", first)
        data = b""
        async for message in request_iterator:
            assert len(message.data) <= 256 * 1024
            data += message.data
        if not data:
            raise InvalidArgument("The file is empty", reason="FILE_EMPTY")
        sha256 = hashlib.sha256(data).hexdigest()
        asked = (first.scope.tenant_id, first.scope.user_id, first.metadata.request_id)
        if (made := self.world.uploaded.get(asked)) is not None and first.metadata.request_id:
            return ing.UploadDocumentResponse(document=self._find(first.scope, made))
        for known in self.world.documents.values():
            same = (known.sha256, known.collection_id) == (sha256, first.metadata.collection_id)
            if same and not first.metadata.allow_duplicate:
                lacking = [tag for tag in first.metadata.tags if tag not in known.tags]
                known.tags.extend(lacking)
                return ing.UploadDocumentResponse(document=known, duplicate=True, merged=bool(lacking))
        document = stored_document_pb2.Document(
            id=uuid4().hex,
            collection_id=first.metadata.collection_id,
            tenant_id=first.scope.tenant_id,
            owner_id=first.scope.user_id,
            filename=first.metadata.filename,
            tags=first.metadata.tags,
            metadata=first.metadata.metadata if first.metadata.HasField("metadata") else None,
            source_type=first.metadata.source_type or "upload",
            size_bytes=len(data),
            sha256=sha256,
            state=doc.DOCUMENT_STATE_UPLOADED,
            revision=1,
        )
        if first.metadata.HasField("expire_time"):
            document.expire_time.CopyFrom(first.metadata.expire_time)
        self._touch(document)
        self.world.documents[document.id] = document
        self.world.blobs[document.id] = data
        self.world.uploaded[asked] = document.id
        return ing.UploadDocumentResponse(document=document)

    async def ReplaceDocument(self, request_iterator: Any, context: Any) -> ing.ReplaceDocumentResponse:
        first = await anext(request_iterator)
        document = self._find(first.scope, first.metadata.document_id)
        data = b"".join([message.data async for message in request_iterator])
        name = first.metadata.filename or document.filename
        if self.world.blobs[document.id] == data and name == document.filename:
            return ing.ReplaceDocumentResponse(document=document, unchanged=True)
        self.world.blobs[document.id], document.filename = data, name
        document.sha256, document.size_bytes = hashlib.sha256(data).hexdigest(), len(data)
        document.revision += 1
        document.state = doc.DOCUMENT_STATE_UPLOADED
        self._touch(document)
        return ing.ReplaceDocumentResponse(document=document)

    async def GetDocument(self, request: Any, context: Any) -> ing.GetDocumentResponse:
        await self.world.enter("GetDocument", request)
        return ing.GetDocumentResponse(document=self._find(request.scope, request.document_id))

    async def ListDocuments(self, request: Any, context: Any) -> ing.ListDocumentsResponse:
        await self.world.enter("ListDocuments", request)
        found = [
            document
            for document in self.world.documents.values()
            if (request.all_tenants or document.tenant_id == request.scope.tenant_id)
            and (not request.collection_ids or document.collection_id in request.collection_ids)
            and (not request.states or document.state in request.states)
        ]
        if request.page_token and not request.page_token.isdecimal():
            raise InvalidArgument.field("page_token", "must be a next_page_token of the same list")
        begin = int(request.page_token or 0)
        end = begin + (request.page_size or len(found))
        token = str(end) if end < len(found) else ""
        return ing.ListDocumentsResponse(documents=found[begin:end], next_page_token=token, total_size=len(found))

    async def CountKept(self, request: Any, context: Any) -> ing_upkeep.CountKeptResponse:
        await self.world.enter("CountKept", request)
        mine = [one for one in self.world.documents.values() if one.tenant_id == request.scope.tenant_id]

        def kept(owner: str) -> ing_upkeep.Kept:
            theirs = [one for one in mine if owner in ("", one.owner_id)]
            return ing_upkeep.Kept(owner_id=owner, documents=len(theirs), bytes=sum(one.size_bytes for one in theirs))

        admin = ROLE_ADMIN in request.scope.roles
        owners = sorted({one.owner_id for one in mine if one.owner_id > request.after_owner})[: request.owners]
        return ing_upkeep.CountKeptResponse(
            own=kept(request.scope.user_id),
            tenant=kept("") if admin else None,
            owners=[kept(owner) for owner in owners] if admin else [],
        )

    async def ListDocumentChanges(self, request: Any, context: Any) -> AsyncIterator[ing.ListDocumentChangesResponse]:
        await self.world.enter("ListDocumentChanges", request)
        now = datetime.now(UTC)
        whole = not request.HasField("since")
        since = request.since.ToMicroseconds()
        kept = self.world.documents.values()
        mine = [one for one in kept if one.collection_id == request.collection_id]
        yield ing.ListDocumentChangesResponse(
            documents=[one for one in mine if whole or one.update_time.ToMicroseconds() >= since],
            deleted=[key for key, time in self.world.deleted.items() if not whole and time >= since],
        )
        last = ing.ListDocumentChangesResponse()
        last.until.FromDatetime(now)
        yield last

    async def UpdateDocument(self, request: Any, context: Any) -> ing.UpdateDocumentResponse:
        await self.world.enter("UpdateDocument", request)
        document = self._find(request.scope, request.document_id)
        wanted = request.resource
        if wanted.etag and wanted.etag != document.etag:
            raise Aborted("The document has changed since it was read; read it again")
        for name in request.update_mask.paths:
            document.ClearField(name)
            if name == "tags":
                document.tags.extend(wanted.tags)
            elif wanted.HasField(name):
                getattr(document, name).CopyFrom(getattr(wanted, name))
        self.world.relabelled.add(document.id)
        self._touch(document)
        return ing.UpdateDocumentResponse(document=document)

    async def DownloadDocument(self, request: Any, context: Any) -> AsyncIterator[ing.DownloadDocumentResponse]:
        document = self._find(request.scope, request.document_id)
        file = doc.DocumentFile(first_revision=1, last_revision=document.revision)
        for name in FIELDS:
            setattr(file, name, getattr(document, name))
        yield ing.DownloadDocumentResponse(document=document, file=file)
        yield ing.DownloadDocumentResponse(data=self.world.blobs[document.id])

    async def DeleteDocument(self, request: Any, context: Any) -> ing.DeleteDocumentResponse:
        await self.world.enter("DeleteDocument", request)
        there = self.world.documents.pop(request.document_id, None)
        if self.world.deleting.pop(request.document_id, there) is not None:
            self.world.deleted[request.document_id] = int(datetime.now(UTC).timestamp() * 1_000_000)
        self.world.blobs.pop(request.document_id, None)
        return ing.DeleteDocumentResponse()

    async def BeginDeletion(self, request: Any, context: Any) -> ing_upkeep.BeginDeletionResponse:
        await self.world.enter("BeginDeletion", request)
        if request.undo:
            self.world.documents[request.document_id] = self.world.deleting.pop(request.document_id)
            return ing_upkeep.BeginDeletionResponse(document=self.world.documents[request.document_id])
        document = self._find(request.scope, request.document_id)
        if request.etag and request.etag != document.etag:
            raise Aborted("The document has changed since it was read; read it again")
        self.world.deleting[document.id] = self.world.documents.pop(document.id)
        return ing_upkeep.BeginDeletionResponse(document=document)

    async def ConfirmLabels(self, request: Any, context: Any) -> ing_upkeep.ConfirmLabelsResponse:
        await self.world.enter("ConfirmLabels", request)
        self.world.relabelled.discard(request.document_id)
        return ing_upkeep.ConfirmLabelsResponse()

    async def ListUnfinishedDocuments(self, request: Any, context: Any) -> ing_upkeep.ListUnfinishedDocumentsResponse:
        await self.world.enter("ListUnfinishedDocuments", request)
        labels = [self.world.documents[one] for one in self.world.relabelled if one in self.world.documents]
        found = [ing_upkeep.UnfinishedDocument(document=one, labels=True) for one in labels]
        found += [ing_upkeep.UnfinishedDocument(document=one, deletion=True) for one in self.world.deleting.values()]
        return ing_upkeep.ListUnfinishedDocumentsResponse(documents=found)

    async def FindDocuments(self, request: Any, context: Any) -> ing_upkeep.FindDocumentsResponse:
        there = {*self.world.documents, *self.world.deleting}
        return ing_upkeep.FindDocumentsResponse(
            document_ids=[one for one in request.document_ids if one in there], instance="double"
        )

    async def ParseDocument(self, request: Any, context: Any) -> AsyncIterator[ing.ParseDocumentResponse]:
        await self.world.enter("ParseDocument", request)
        document = self._find(request.scope, request.document_id)
        text = self.world.blobs[document.id].decode()
        if "locked" in text:
            raise InvalidArgument(
                "The file needs a password",
                reason="FILE_PASSWORD_PROTECTED",
                metadata={"failure_reason": "PASSWORD_PROTECTED", "hint": "Remove the password."},
            )
        lines = text.splitlines()
        for number in range(1, len(lines) + 1 if "pages" in text else 1):
            yield ing.ParseDocumentResponse(pages=ing.PagesRead(read=number, total=len(lines)))
            await asyncio.sleep(0.3)
        for line in lines:
            yield ing.ParseDocumentResponse(
                blocks=[parsing_pb2.Block(kind=parsing_pb2.BLOCK_KIND_PARAGRAPH, text=line)]
            )
        yield ing.ParseDocumentResponse(
            metadata=parsing_pb2.ParsedMetadata(title=document.filename, char_count=len(text))
        )

    async def UpdateDocumentState(self, request: Any, context: Any) -> ing.UpdateDocumentStateResponse:
        await self.world.enter("UpdateDocumentState", request)
        document = self._find(request.scope, request.document_id)
        if request.revision and request.revision != document.revision:
            raise Aborted("A newer revision exists")
        if request.state == doc.DOCUMENT_STATE_INDEXED and self.world.refused_end is not None:
            raise self.world.refused_end
        if request.new_revision:
            document.revision += 1
        elif document.failure.reason == doc.FAILURE_REASON_CANCELLED:
            raise FailedPrecondition("It was cancelled")
        elif request.state == doc.DOCUMENT_STATE_INDEXED and document.state != doc.DOCUMENT_STATE_PROCESSING:
            raise FailedPrecondition("Not being processed")
        if request.state:
            document.state = request.state
            document.ClearField("failure")
            if request.HasField("failure"):
                document.failure.CopyFrom(request.failure)
        if request.state == doc.DOCUMENT_STATE_INDEXED:
            assert request.chunks_expected == request.chunks_stored
            document.indexed_revision = document.revision
        if request.HasField("chunks_stored"):
            document.chunks_expected, document.chunks_stored = request.chunks_expected, request.chunks_stored
        document.waiting_reason = request.waiting_reason
        document.waiting_message, document.waiting_attempts = request.waiting_message, request.waiting_attempts
        document.ClearField("next_attempt_time")
        if request.HasField("next_attempt_time"):
            document.next_attempt_time.CopyFrom(request.next_attempt_time)
        if request.chunking_strategy:
            document.chunking_strategy = request.chunking_strategy
            document.chunking_choice = request.chunking_choice
        self._touch(document)
        return ing.UpdateDocumentStateResponse(document=document)

    def _find(self, scope: Any, document_id: str) -> stored_document_pb2.Document:
        document = self.world.documents.get(document_id)
        if document is None or document.tenant_id != scope.tenant_id:
            raise NotFound(f"Document '{document_id}' not found", reason="DOCUMENT_NOT_FOUND")
        return document

    def _touch(self, document: stored_document_pb2.Document) -> None:
        document.update_time.FromDatetime(datetime.now(UTC))
        document.etag = uuid4().hex


class Indexing(idx_grpc.IndexingServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    async def CreateCollection(self, request: Any, context: Any) -> idx.CreateCollectionResponse:
        await self.world.enter("CreateCollection", request)
        collection = col.Collection(visibility=col.VISIBILITY_SHARED)
        collection.MergeFrom(request.collection)
        collection.id = request.collection_id or uuid4().hex
        collection.tenant_id, collection.owner_id = request.scope.tenant_id, request.scope.user_id
        names = [_holder(one) for one in self._of(request.scope) if one.id not in self.world.hidden]
        if _holder(collection) in names:
            raise AlreadyExists(f"Collection '{request.collection.name}' exists")
        if request.validate_only:
            return idx.CreateCollectionResponse(collection=collection)
        self.world.collections[collection.id] = collection
        return idx.CreateCollectionResponse(collection=collection)

    async def GetCollection(self, request: Any, context: Any) -> idx.GetCollectionResponse:
        await self.world.enter("GetCollection", request)
        return idx.GetCollectionResponse(collection=self._find(request.scope, request.collection))

    async def ResolveCollections(self, request: Any, context: Any) -> idx.ResolveCollectionsResponse:
        await self.world.enter("ResolveCollections", request)
        found = [self._find(request.scope, name) for name in request.collections] or self._of(request.scope)
        return idx.ResolveCollectionsResponse(collections=found)

    async def ListCollections(self, request: Any, context: Any) -> idx.ListCollectionsResponse:
        found = self._of(request.scope)
        return idx.ListCollectionsResponse(collections=found, total_size=len(found))

    async def UpdateCollection(self, request: Any, context: Any) -> idx.UpdateCollectionResponse:
        collection = self._find(request.scope, request.collection, Access.MANAGE)
        if request.validate_only:
            before, collection = collection, col.Collection()
            collection.CopyFrom(before)
        if "grants" in request.update_mask.paths:
            collection.ClearField("grants")
        collection.MergeFrom(request.resource)
        return idx.UpdateCollectionResponse(collection=collection)

    async def HideCollection(self, request: Any, context: Any) -> idx.HideCollectionResponse:
        await self.world.enter("HideCollection", request)
        collection = self._find(request.scope, request.collection, Access.MANAGE)
        if request.restore:
            taken = [_holder(one) for one in self.world.collections.values() if one.id not in self.world.hidden]
            if collection.id in self.world.hidden and _holder(collection) in taken:
                raise AlreadyExists(f"Collection '{collection.name}' exists")
            self.world.hidden.discard(collection.id)
        else:
            self.world.hidden.add(collection.id)
        return idx.HideCollectionResponse(collection_id=collection.id)

    async def DeleteCollection(self, request: Any, context: Any) -> idx.DeleteCollectionResponse:
        await self.world.enter("DeleteCollection", request)
        collection = self._find(request.scope, request.collection, Access.MANAGE)
        del self.world.collections[collection.id]
        gone = [key for key, chunks in self.world.chunks.items() if chunks[0].collection_id == collection.id]
        count = sum(len(self.world.chunks.pop(key)) for key in gone)
        return idx.DeleteCollectionResponse(collection_id=collection.id, chunks_deleted=count)

    async def IndexDocument(self, request_iterator: Any, context: Any) -> AsyncIterator[idx.IndexDocumentResponse]:
        first = await anext(request_iterator)
        await self.world.enter("IndexDocument", first)
        document = first.header.document
        if document.collection_id not in self.world.collections:
            raise NotFound("The collection is gone", reason="COLLECTION_NOT_FOUND")
        chunks: list[passage_pb2.Chunk] = []
        async for message in request_iterator:
            for block in message.blocks.blocks:
                chunks.append(
                    passage_pb2.Chunk(
                        id=f"{document.id}:{document.revision}:{len(chunks)}",
                        tenant_id=document.tenant_id,
                        collection_id=document.collection_id,
                        document_id=document.id,
                        revision=document.revision,
                        filename=document.filename,
                        text=block.text,
                    )
                )
                yield idx.IndexDocumentResponse(
                    progress=doc.Progress(phase=doc.PROGRESS_PHASE_INDEXING, chunks_total=len(chunks))
                )
            if message.HasField("metadata"):
                self.world.chunks[document.id] = chunks
                if self.world.vectors_later:
                    self.world.missing[document.id] = len(chunks)
                if "IndexResult" in self.world.gates:
                    yield idx.IndexDocumentResponse(progress=doc.Progress(chunks_stored=len(chunks)))
                    await self.world.enter("IndexResult", first)
                yield idx.IndexDocumentResponse(
                    result=idx.IndexResult(
                        chunks_expected=len(chunks),
                        chunks_stored=len(chunks),
                        chunks_without_vector=len(chunks) if self.world.vectors_later else 0,
                        chunking_strategy=col.CHUNKING_STRATEGY_PARAGRAPH,
                        chunking_choice=self.world.chunking_choice,
                    )
                )
                return
        raise InvalidArgument("The stream of blocks broke off")

    async def CancelDocument(self, request: Any, context: Any) -> idx.CancelDocumentResponse:
        await self.world.enter("CancelRevision", request)
        self._find(request.scope, request.collection_id, Access.WRITE)
        return idx.CancelDocumentResponse()

    async def UpdateDocumentChunks(self, request: Any, context: Any) -> idx.UpdateDocumentChunksResponse:
        await self.world.enter("UpdateDocumentChunks", request)
        self._find(request.scope, request.document.collection_id, Access.WRITE)
        chunks = self.world.chunks.get(request.document.id, [])
        for chunk in chunks:
            del chunk.tags[:]
            chunk.tags.extend(request.document.tags)
        return idx.UpdateDocumentChunksResponse(chunks_updated=len(chunks))

    async def DeleteDocumentChunks(self, request: Any, context: Any) -> idx.DeleteDocumentChunksResponse:
        await self.world.enter("DeleteDocumentChunks", request)
        self._find(request.scope, request.collection_id, Access.WRITE)
        return idx.DeleteDocumentChunksResponse(chunks_deleted=len(self.world.chunks.pop(request.document_id, [])))

    async def AddVectors(self, request: Any, context: Any) -> idx.AddVectorsResponse:
        await self.world.enter("AddVectors", request)
        self._find(request.scope, request.collection, Access.WRITE)
        return idx.AddVectorsResponse(count=len(request.rows), ids=[one.id for one in request.rows])

    async def GetChunk(self, request: Any, context: Any) -> idx.GetChunkResponse:
        await self.world.enter("GetChunk", request)
        for chunk in (one for chunks in self.world.chunks.values() for one in chunks if one.id == request.chunk_id):
            with suppress(NotFound):
                self._find(request.scope, chunk.collection_id)
                return idx.GetChunkResponse(chunk=chunk)
        raise NotFound(f"Chunk '{request.chunk_id}' not found", reason="CHUNK_NOT_FOUND")

    async def ListChunks(self, request: Any, context: Any) -> idx.ListChunksResponse:
        await self.world.enter("ListChunks", request)
        self._find(request.scope, request.collection_id)
        chunks = self.world.chunks.get(request.document_id, [])
        return idx.ListChunksResponse(
            chunks=chunks, total_size=len(chunks), revision=chunks[0].revision if chunks else 0
        )

    async def GetVector(self, request: Any, context: Any) -> idx.GetVectorResponse:
        await self.world.enter("GetVector", request)
        self._find(request.scope, request.collection)
        return idx.GetVectorResponse(row={"id": request.vector_id, "text": "a row"})

    async def ListVectors(self, request: Any, context: Any) -> idx.ListVectorsResponse:
        await self.world.enter("ListVectors", request)
        self._find(request.scope, request.collection)
        return idx.ListVectorsResponse(rows=[{"id": "v", "text": "a row"}])

    async def DeleteVectors(self, request: Any, context: Any) -> idx.DeleteVectorsResponse:
        await self.world.enter("DeleteVectors", request)
        self._find(request.scope, request.collection, Access.WRITE)
        for one in request.ids:
            self.world.chunks.pop(one, None)
        if (error := self.world.fails_after.pop("DeleteVectors", None)) is not None:
            raise error
        return idx.DeleteVectorsResponse(deleted=len(request.ids))

    async def AuthorizeCollections(self, request: Any, context: Any) -> idx.AuthorizeCollectionsResponse:
        await self.world.enter("AuthorizeCollections", request)
        return authorized(self._of(request.scope), request)

    async def IndexMessages(self, request: Any, context: Any) -> idx.IndexMessagesResponse:
        await self.world.enter("IndexMessages", request)
        known = {one.message_id for one in request.messages}
        self.world.messages[:] = [one for one in self.world.messages if one.message_id not in known]
        self.world.messages.extend(request.messages)
        self.world.changed.set()
        return idx.IndexMessagesResponse(count=len(request.messages), embedder=self.world.embedder)

    async def DeleteMessages(self, request: Any, context: Any) -> idx.DeleteMessagesResponse:
        await self.world.enter("DeleteMessages", request)
        named = set(request.message_ids)
        kept = [
            one
            for one in self.world.messages
            if one.conversation_id != request.conversation_id or (named and one.message_id not in named)
        ]
        gone = len(self.world.messages) - len(kept)
        self.world.messages[:] = kept
        self.world.changed.set()
        return idx.DeleteMessagesResponse(count=gone)

    async def ListIndexedDocuments(self, request: Any, context: Any) -> idx_upkeep.ListIndexedDocumentsResponse:
        # As if ledger and catalogue always agreed.
        there = [one for one in self.world.documents.values() if one.id in request.document_ids]
        return idx_upkeep.ListIndexedDocumentsResponse(
            documents=[idx_upkeep.IndexedDocument(document_id=one.id, revision=one.indexed_revision) for one in there],
            instance="double",
        )

    async def FindVectors(self, request: Any, context: Any) -> idx_upkeep.FindVectorsResponse:
        await self.world.enter("FindVectors", request)
        if request.collection_id not in self.world.collections:
            raise NotFound("There is no such collection", reason="COLLECTION_NOT_FOUND")
        there = [one for one in request.vector_ids if one in self.world.chunks]
        return idx_upkeep.FindVectorsResponse(vector_ids=there)

    async def CountMissingVectors(self, request: Any, context: Any) -> idx_upkeep.CountMissingVectorsResponse:
        await self.world.enter("CountMissingVectors", request)
        counted = sorted(
            (key, count)
            for key, count in self.world.missing.items()
            if count and request.document_id in ("", key) and key > request.page_token
        )
        page = counted[: request.page_size]
        return idx_upkeep.CountMissingVectorsResponse(
            documents=[
                idx_upkeep.DocumentMissingVectors(document_id=key, chunks_without_vector=count) for key, count in page
            ],
            next_page_token=page[-1][0] if len(counted) > len(page) else "",
        )

    async def GetVectorWork(self, request: Any, context: Any) -> idx_upkeep.GetVectorWorkResponse:
        await self.world.enter("GetVectorWork", request)
        waiting = sum(self.world.missing.values())
        return idx_upkeep.GetVectorWorkResponse(
            chunks_without_vector=waiting, vectors_made=self.world.vectors_made, instance="double"
        )

    async def ListDamagedDocuments(self, request: Any, context: Any) -> idx_upkeep.ListDamagedDocumentsResponse:
        await self.world.enter("ListDamagedDocuments", request)
        documents, first = self.world.documents, int(request.page_token or 0)
        found = [
            documents[key]
            for key, revision in self.world.damaged.items()
            if key in documents and documents[key].revision == revision
        ]
        after = first + (request.limit or 100)
        return idx_upkeep.ListDamagedDocumentsResponse(
            documents=[
                idx_upkeep.DamagedDocument(tenant_id=one.tenant_id, document_id=one.id, revision=one.revision)
                for one in found[first:after]
            ],
            next_page_token=str(after) if len(found) > after else "",
        )

    async def ListProviders(self, request: Any, context: Any) -> idx.ListProvidersResponse:
        return idx.ListProvidersResponse(
            providers=[
                prov.Provider(kind=prov.PROVIDER_KIND_EMBEDDING, id="builtin"),
                prov.Provider(kind=prov.PROVIDER_KIND_STORE, id="milvus"),
            ]
        )

    async def ValidateProvider(self, request: Any, context: Any) -> idx.ValidateProviderResponse:
        return idx.ValidateProviderResponse(valid=True)

    async def CheckProvider(self, request: Any, context: Any) -> idx.CheckProviderResponse:
        await self.world.enter("CheckProvider", request)
        return idx.CheckProviderResponse(health=prov.ProviderHealth(kind=request.kind, id=request.id, healthy=True))

    def _of(self, scope: Any) -> list[col.Collection]:
        hidden = set() if is_system(scope) else self.world.hidden
        return [
            one
            for one in self.world.collections.values()
            if one.id not in hidden and access_of(scope, one) >= Access.READ
        ]

    def _find(self, scope: Any, name: str, needs: Access = Access.READ) -> col.Collection:
        for collection in self._of(scope):
            if name in (collection.name, collection.id):
                check(access_of(scope, collection), needs, collection_missing(name))
                return collection
        raise collection_missing(name)


def _holder(collection: col.Collection) -> tuple[str, str]:
    return collection.name, collection.owner_id if collection.visibility == col.VISIBILITY_PRIVATE else ""


class Retrieval(ret_grpc.RetrievalServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    async def Retrieve(self, request: Any, context: Any) -> ret.RetrieveResponse:
        await self.world.enter("Retrieve", request)
        if len(request.query) > MAX_QUERY:
            raise InvalidArgument.field("query", f"must be at most {MAX_QUERY} characters")
        words = set(request.query.lower().strip("?").split())
        found = [
            passage_pb2.ScoredChunk(chunk=chunk, score=0.9)
            for chunks in self.world.chunks.values()
            for chunk in chunks
            if self._sees(request.scope, chunk) and words & set(chunk.text.lower().strip(".").split())
        ]
        visible = [one for one in self.world.collections.values() if access_of(request.scope, one)]
        known = {key for one in visible for key in (one.id, one.name)}
        if missing := [name for name in request.collections if name not in known]:
            raise collection_missing(missing[0])
        asked = [one.id for one in visible if not request.collections or {one.id, one.name} & set(request.collections)]
        return ret.RetrieveResponse(
            chunks=found, strategy=col.SEARCH_STRATEGY_HYBRID, total_candidates=len(found), collection_ids=asked,
            degradations=self.world.degradations,
        )  # fmt: skip

    async def ResolveSettings(self, request: Any, context: Any) -> ret.ResolveSettingsResponse:
        await self.world.enter("ResolveRetrieval", request)
        return ret.ResolveSettingsResponse(retrieval=resolve(col.RetrievalSettings(), request.retrieval))

    def _sees(self, scope: Any, chunk: passage_pb2.Chunk) -> bool:
        collection = self.world.collections.get(chunk.collection_id)
        return chunk.tenant_id == scope.tenant_id and (
            collection is None or access_of(scope, collection) >= Access.READ
        )

    async def QueryChunks(self, request: Any, context: Any) -> ret.QueryChunksResponse:
        await self.world.enter("QueryChunks", request)
        every = [chunk for chunks in self.world.chunks.values() for chunk in chunks]
        hidden = [one.id for one in self.world.collections.values() if not access_of(request.scope, one)]
        chunks = [chunk for chunk in every if chunk.collection_id not in hidden]
        return ret.QueryChunksResponse(chunks=chunks, total_size=len(chunks))

    async def SearchMemory(self, request: Any, context: Any) -> ret.SearchMemoryResponse:
        await self.world.enter("SearchMemory", request)
        if recalled := self.world.recalled:
            words = "\n".join(one.text for one in recalled)
            return ret.SearchMemoryResponse(enabled=True, context=words, source_messages=recalled)
        return ret.SearchMemoryResponse(enabled=True, context="[user] I like tea" if self.world.messages else "")


class Augmentation(aug_grpc.AugmentationServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    async def PlanQuery(self, request: Any, context: Any) -> aug.PlanQueryResponse:
        await self.world.enter("PlanQuery", request)
        query = f"{request.topic} {request.message}".strip()
        label = reasons_pb2.QUERY_STRATEGY_FOLLOW_UP if request.topic else reasons_pb2.QUERY_STRATEGY_FIRST_MESSAGE
        greeting = request.message.lower().startswith("hello")
        leans = (request.topic or request.history) and not self.world.complete
        return aug.PlanQueryResponse(
            should_retrieve=not greeting, query=query, strategy=label, topic=query,
            question=request.message if leans else "",
        )  # fmt: skip

    async def BuildPrompt(self, request: Any, context: Any) -> aug.BuildPromptResponse:
        await self.world.enter("BuildPrompt", request)
        if (refusal := self.world.refused_rerankers.get(request.rerank.provider)) is not None:
            raise refusal
        sources = [
            ans.Source(
                number=number,
                chunk_id=scored.chunk.id,
                document_id=scored.chunk.document_id,
                text=scored.chunk.text,
                filename=scored.chunk.filename,
            )
            for number, scored in enumerate(request.chunks, 1)
        ]
        prompt = prompt_pb2.Prompt(
            messages=[ans.ChatMessage(role=ans.MESSAGE_ROLE_USER, text=request.question)],
            locale="en",
            hash="h",
            template_version="double/en/1",
        )
        return aug.BuildPromptResponse(prompt=prompt, sources=sources)

    async def ResolveSettings(self, request: Any, context: Any) -> aug.ResolveSettingsResponse:
        await self.world.enter("ResolvePrompt", request)
        return aug.ResolveSettingsResponse(
            prompt=resolve(col.PromptSettings(), request.prompt), rerank=resolve(col.RerankSettings(), request.rerank)
        )

    async def ValidateProvider(self, request: Any, context: Any) -> aug.ValidateProviderResponse:
        return aug.ValidateProviderResponse(valid=True)

    async def CheckProvider(self, request: Any, context: Any) -> aug.CheckProviderResponse:
        return aug.CheckProviderResponse(health=prov.ProviderHealth(kind=request.kind, id=request.id, healthy=True))

    async def ListProviders(self, request: Any, context: Any) -> aug.ListProvidersResponse:
        return aug.ListProvidersResponse(providers=[prov.Provider(kind=prov.PROVIDER_KIND_RERANKER, id="mmr")])


class Generation(gen_grpc.GenerationServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    async def Generate(self, request: Any, context: Any) -> AsyncIterator[gen.GenerateResponse]:
        text = "No sources."
        citations = []
        if request.sources:
            source = request.sources[0]
            text = f"{source.text} [1]"
            citations = [ans.Citation(number=1, chunk_id=source.chunk_id, filename=source.filename, quote=source.text)]
        if self.world.says:
            text, citations = self.world.says, []
        try:
            for number, word in enumerate(text.split(" ")):
                if self.world.breaks_after and number == self.world.breaks_after:
                    raise Unavailable("The model died", reason="PROVIDER_FAILED")
                yield gen.GenerateResponse(text_delta=word + " ")
                await self.world.enter("Generate", request)
        except BaseException as error:
            if not isinstance(error, FootnoteError):
                self.world.cancelled.append("Generate")
                self.world.changed.set()
            raise
        for citation in citations:
            yield gen.GenerateResponse(citation=citation)
        claims = []
        if self.world.revises and citations:
            # A verifier thinks otherwise: what is stored is its word.
            claims = [ans.Claim(span={"end": len(text)}, support=ans.VERDICT_NOT_CONFIRMED, sources=[1])]
            citations[0].support = ans.VERDICT_NOT_CONFIRMED
            citations[0].quote_span.end = len(citations[0].quote)
            yield gen.GenerateResponse(claims_revised=ans.ClaimsRevised(claims=claims, citations=citations))
        for citation in citations:
            citation.support = self.world.verdict or citation.support
        reason = ans.FINISH_REASON_ANSWERED_WITHOUT_SOURCES if request.without_sources else ans.FINISH_REASON_ANSWERED
        reason = self.world.finish_reason or reason
        answer = ans.Answer(
            claims=claims, text=text, finish_reason=reason, citations=citations, provider="double", model="echo",
            warnings=self.world.warnings,
        )  # fmt: skip
        if reason == ans.FINISH_REASON_NO_RELEVANT_CONTENT and request.sources:
            near = request.sources[0]
            answer.nearest.number, answer.nearest.document_id = near.number, near.document_id
            answer.nearest.label, answer.nearest.quote = near.filename, near.text
            answer.nearest.quote_span.end = len(near.text)
        yield gen.GenerateResponse(completed=gen.GenerateCompleted(answer=answer, withheld_text=self.world.withholds))

    async def ResolveSettings(self, request: Any, context: Any) -> gen.ResolveSettingsResponse:
        await self.world.enter("ResolveGeneration", request)
        return gen.ResolveSettingsResponse(
            generation=resolve(col.GenerationSettings(), request.generation),
            context_window=self.world.window,
            answer_tokens=1024,
        )

    async def RewriteQuestion(self, request: Any, context: Any) -> gen.RewriteQuestionResponse:
        try:
            await self.world.enter("RewriteQuestion", request)
        except asyncio.CancelledError:
            self.world.cancelled.append("RewriteQuestion")
            self.world.changed.set()
            raise
        usage = ans.Usage(prompt_tokens=11, completion_tokens=3) if self.world.rewritten else None
        return gen.RewriteQuestionResponse(question=self.world.rewritten, usage=usage)

    async def GenerateTitle(self, request: Any, context: Any) -> gen.GenerateTitleResponse:
        await self.world.enter("GenerateTitle", request)
        return gen.GenerateTitleResponse(title=f"About {request.first_message.split()[-1]}")

    async def ValidateProvider(self, request: Any, context: Any) -> gen.ValidateProviderResponse:
        return gen.ValidateProviderResponse(valid=True)

    async def CheckProvider(self, request: Any, context: Any) -> gen.CheckProviderResponse:
        return gen.CheckProviderResponse(health=prov.ProviderHealth(kind=request.kind, id=request.id, healthy=True))

    async def ListProviders(self, request: Any, context: Any) -> gen.ListProvidersResponse:
        return gen.ListProvidersResponse(providers=[prov.Provider(kind=prov.PROVIDER_KIND_MODEL, id="double")])


_SERVICES: dict[str, tuple[Any, Any, Any]] = {
    "ingestion": (ing_grpc.add_IngestionServiceServicer_to_server, Ingestion, ing),
    "indexing": (idx_grpc.add_IndexingServiceServicer_to_server, Indexing, idx),
    "retrieval": (ret_grpc.add_RetrievalServiceServicer_to_server, Retrieval, ret),
    "augmentation": (aug_grpc.add_AugmentationServiceServicer_to_server, Augmentation, aug),
    "generation": (gen_grpc.add_GenerationServiceServicer_to_server, Generation, gen),
}


_UPKEEP = {
    "ingestion": ing_upkeep_grpc.add_UpkeepServiceServicer_to_server,
    "indexing": idx_upkeep_grpc.add_UpkeepServiceServicer_to_server,
}


def double_app(stage: str, world: World, *, foreign: bool = False) -> App:
    """Return one stage's double as an app of the kit; a foreign one serves what is promised, and nothing internal."""
    add, servicer, module = _SERVICES[stage]
    full_name = next(iter(module.DESCRIPTOR.services_by_name.values())).full_name
    made = servicer(world)
    servicers = [(add, made, full_name)]
    if stage in _UPKEEP and not foreign:
        servicers.append((_UPKEEP[stage], made, f"footnote.internal.{stage}.v1alpha1.UpkeepService"))
    return App(name=stage, servicers=servicers)


@asynccontextmanager
async def serve_doubles(world: World, foreign: Collection[str] = ()) -> AsyncIterator[dict[str, str]]:
    """Serve all five doubles, some without the internal services, and yield their addresses by stage."""
    async with AsyncExitStack() as stack:
        addresses: dict[str, str] = {}
        for stage in _SERVICES:
            served = await stack.enter_async_context(serve_app(double_app(stage, world, foreign=stage in foreign)))
            addresses[stage] = served.address
        yield addresses
