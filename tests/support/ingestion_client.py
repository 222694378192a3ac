"""Helpers for tests that talk to a running ingestion service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from footnote.ingestion.v1 import ingestion_service_pb2 as pb
from footnote.ingestion.v1.ingestion_service_pb2_grpc import IngestionServiceStub
from footnote.internal.ingestion.v1alpha1.upkeep_service_pb2_grpc import UpkeepServiceStub
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DocumentFile
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_kit.testing import Served

SCOPE = Scope(tenant_id="t", user_id="u", roles=[ROLE_SYSTEM])
"""The service alone knows no collections: for a caller that is not a service it would ask indexing."""

PART = 256 * 1024


class Client:
    """The service's RPCs as plain methods."""

    def __init__(self, served: Served, scope: Scope = SCOPE) -> None:
        self.stub = IngestionServiceStub(served.channel)
        self.upkeep = UpkeepServiceStub(served.channel)
        self.channel = served.channel
        self.data_dir = served.runtime.data_dir
        self.scope = Scope()
        self.scope.CopyFrom(scope)

    async def upload(self, data: bytes, filename: str = "note.txt", collection: str = "c", **metadata: Any) -> Any:
        first = pb.UploadMetadata(collection_id=collection, filename=filename, **metadata)
        return await self.stub.UploadDocument(self._messages(pb.UploadDocumentRequest, first, data))

    async def replace(
        self, document_id: str, data: bytes, filename: str = "", etag: str = "", max_tenant_bytes: int = 0
    ) -> Any:
        first = pb.ReplaceMetadata(
            document_id=document_id, filename=filename, etag=etag, max_tenant_bytes=max_tenant_bytes
        )
        return await self.stub.ReplaceDocument(self._messages(pb.ReplaceDocumentRequest, first, data))

    async def _messages(self, kind: Any, first: Any, data: bytes) -> AsyncIterator[Any]:
        yield kind(scope=self.scope, metadata=first)
        for start in range(0, len(data), PART):
            yield kind(data=data[start : start + PART])

    async def get(self, document_id: str) -> Document:
        return (await self.stub.GetDocument(pb.GetDocumentRequest(scope=self.scope, document_id=document_id))).document

    async def list(self, **query: Any) -> Any:
        return await self.stub.ListDocuments(pb.ListDocumentsRequest(scope=self.scope, **query))

    async def download(self, document_id: str, revision: int | None = None) -> tuple[Document, bytes]:
        document, _, data = await self.download_file(document_id, revision)
        return document, data

    async def download_file(
        self, document_id: str, revision: int | None = None
    ) -> tuple[Document, DocumentFile, bytes]:
        request = pb.DownloadDocumentRequest(scope=self.scope, document_id=document_id, revision=revision)
        parts = [part async for part in self.stub.DownloadDocument(request)]
        assert all(len(part.data) <= PART for part in parts)
        return parts[0].document, parts[0].file, b"".join(part.data for part in parts)

    async def delete(self, document_id: str) -> None:
        await self.stub.DeleteDocument(pb.DeleteDocumentRequest(scope=self.scope, document_id=document_id))

    async def parse(self, document_id: str) -> tuple[list[Block], ParsedMetadata]:
        blocks: list[Block] = []
        metadata = ParsedMetadata()
        async for part in self.stub.ParseDocument(pb.ParseDocumentRequest(scope=self.scope, document_id=document_id)):
            blocks += part.blocks
            if part.HasField("metadata"):
                metadata = part.metadata
        return blocks, metadata

    async def move(self, document_id: str, state: int = 0, **fields: Any) -> Document:
        request = pb.UpdateDocumentStateRequest(scope=self.scope, document_id=document_id, state=state, **fields)  # type: ignore[arg-type]
        return (await self.stub.UpdateDocumentState(request)).document


def document_text(blocks: Iterable[Block]) -> str:
    """The text of a document as the contract defines it."""
    return "".join(f"{block.text}\n" for block in blocks)


def assert_spans_exact(blocks: Iterable[Block]) -> None:
    """Every block's span gives its text, and every anchor lies inside its block."""
    blocks = list(blocks)
    text = document_text(blocks)
    for block in blocks:
        assert block.text
        assert text[block.locator.span.start : block.locator.span.end] == block.text
        for anchor in block.anchors:
            assert 0 <= anchor.span.start < anchor.span.end <= len(block.text)
