"""Reads whole lists, page by page."""

from footnote.edge.v1.edge_service_pb2 import ListCollectionsRequest, ListDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import Document

from footnote_cli.session import Session

_PAGE = 1000


async def list_collections(session: Session) -> list[Collection]:
    """Return every collection the caller can see, by name."""
    request = ListCollectionsRequest(page_size=_PAGE)
    items: list[Collection] = []
    while True:
        response = await session.call(session.stub.ListCollections, request)
        items.extend(response.collections)
        if not response.next_page_token:
            return items
        request.page_token = response.next_page_token


async def list_documents(session: Session, request: ListDocumentsRequest) -> list[Document]:
    """Return every document that a request matches, newest first."""
    request.page_size = _PAGE
    items: list[Document] = []
    while True:
        response = await session.call(session.stub.ListDocuments, request)
        items.extend(response.documents)
        if not response.next_page_token:
            return items
        request.page_token = response.next_page_token


async def collection_names(session: Session) -> dict[str, str]:
    """Return the names of the collections by their ids."""
    return {item.id: item.name for item in await list_collections(session)}
