"""Reads whole lists, page by page."""

from collections.abc import Callable
from typing import Any

from footnote.edge.v1.collections_pb2 import ListCollectionsRequest
from footnote.edge.v1.documents_pb2 import Document, ListDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection

from footnote_cli.session import Session

_PAGE = 1000


async def read_all(session: Session, method: Callable[..., Any], request: Any, field: str) -> list[Any]:
    """Return the items in `field` from all pages of a List method; it changes `request`."""
    request.page_size = _PAGE
    items: list[Any] = []
    while True:
        response = await session.call(method, request)
        items.extend(getattr(response, field))
        if not response.next_page_token:
            return items
        request.page_token = response.next_page_token


async def list_collections(session: Session) -> list[Collection]:
    """Return every collection the caller can see, by name."""
    return await read_all(session, session.stub.ListCollections, ListCollectionsRequest(), "collections")


async def list_documents(session: Session, request: ListDocumentsRequest) -> list[Document]:
    """Return every document that a request matches, newest first."""
    return await read_all(session, session.stub.ListDocuments, request, "documents")
