"""What tests say to the public API: upload, wait, ask."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse
from footnote.edge.v1.documents_pb2 import (
    Document,
    ListDocumentsRequest,
    UploadDocumentRequest,
    UploadMetadata,
    WatchDocumentRequest,
)
from footnote_kit.clients import open_channel
from footnote_kit.edge import EdgeStub

from support.answer_parts import EVERY_PART

PART = 256 * 1024


class Keyed:
    """A stub whose every call shows a key."""

    def __init__(self, stub: Any, key: str) -> None:
        self._stub, self._metadata = stub, (("authorization", f"Bearer {key}"),)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stub, name)

        def call(request: Any, timeout: float = 60) -> Any:
            return method(request, timeout=timeout, metadata=self._metadata)

        return call


class EdgeClient:
    """A stub with the sequences that tests repeat."""

    def __init__(self, channel: Any) -> None:
        self.stub = EdgeStub(channel)

    async def upload(self, content: bytes | Path, filename: str = "", collection: str = "default", **more: Any) -> Any:
        """Upload bytes or a file and return the response."""
        data = await asyncio.to_thread(content.read_bytes) if isinstance(content, Path) else content
        name = filename or (content.name if isinstance(content, Path) else "a.txt")

        def messages() -> Iterator[UploadDocumentRequest]:
            yield UploadDocumentRequest(metadata=UploadMetadata(collection=collection, filename=name, **more))
            for start in range(0, len(data), PART):
                yield UploadDocumentRequest(data=data[start : start + PART])

        return await self.stub.UploadDocument(messages(), timeout=60)

    async def settle(self, document_id: str, timeout: float = 120) -> Document:
        """Watch a document to its end and return it."""
        last: Document | None = None
        request = WatchDocumentRequest(document_id=document_id)
        async for event in self.stub.WatchDocument(request, timeout=timeout):
            last = event.document
        assert last is not None
        return last

    async def put(
        self, content: bytes | Path, filename: str = "", collection: str = "default", **more: Any
    ) -> Document:
        """Upload and wait for the end."""
        accepted = await self.upload(content, filename, collection, **more)
        return await self.settle(accepted.document.id)

    async def ask(self, question: str, **more: Any) -> list[AskResponse]:
        """Ask and return all events, by default with every part of the answer."""
        more.setdefault("include", EVERY_PART)
        return [event async for event in self.stub.Ask(AskRequest(question=question, **more), timeout=60)]

    async def answer(self, question: str, **more: Any) -> AskCompleted:
        """Ask and return the last event's content."""
        return (await self.ask(question, **more))[-1].completed

    async def documents(self, collection: str = "") -> list[Document]:
        """Return all documents of a collection or of the tenant."""
        found: list[Document] = []
        token = ""
        while True:
            request = ListDocumentsRequest(collection=collection, page_size=500, page_token=token)
            page = await self.stub.ListDocuments(request)
            found += page.documents
            token = page.next_page_token
            if not token:
                return found


@asynccontextmanager
async def edge_client(address: str) -> AsyncIterator[EdgeClient]:
    """Open a channel to an edge service and yield a client on it."""
    async with open_channel(address, peer="edge") as channel:
        yield EdgeClient(channel)
