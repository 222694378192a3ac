"""Reads whole lists, page by page, and finds a document by its file's name or the last conversation."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from footnote.edge.v1.collections_pb2 import ListCollectionsRequest
from footnote.edge.v1.conversations_pb2 import ListConversationsRequest
from footnote.edge.v1.documents_pb2 import Document, ListDocumentsRequest
from footnote.types.v1.collection_pb2 import Collection

from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import CommandError, usage_error
from footnote_cli.render.text import moment
from footnote_cli.session import Session

_PAGE = 1000
_HEX = set("0123456789abcdef")


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


def show_list(session: Session, field: str, items: Sequence[Any], table: Callable[[Any], Any], none: str) -> None:
    """Print items as JSON under the name `field`, as their table, or the sentence `none` without any."""
    if session.as_json:
        print_json({field: [as_dict(item) for item in items]})
    else:
        session.out.print(table(items) if items else none, soft_wrap=not items)


async def list_collections(session: Session) -> list[Collection]:
    """Return every collection the caller can see, by name."""
    return await read_all(session, session.stub.ListCollections, ListCollectionsRequest(), "collections")


async def list_documents(session: Session, request: ListDocumentsRequest) -> list[Document]:
    """Return every document that a request matches, newest first."""
    return await read_all(session, session.stub.ListDocuments, request, "documents")


LAST = "last"
DOCUMENT = "Id of the document, or its file's name where only one has it."
CONVERSATION = "Id of the conversation; or 'last', the one used last."


async def document_id(session: Session, name: str) -> str:
    """Return the id of a document given by id or by its file's name. Raises CommandError when several have the name."""
    if len(name) == 32 and set(name) <= _HEX:  # an id; names as plain as LICENSE are looked for
        return name
    items = await list_documents(session, ListDocumentsRequest(filename_contains=name))
    composed = unicodedata.normalize("NFC", name)  # as the server has it; some systems decompose names of files
    found = [item for item in items if item.filename in (name, composed)]
    if len(found) > 1:
        several = ", ".join(f"{item.id} ({moment(item.create_time)})" for item in found[:5])
        raise usage_error(f"{len(found)} documents are called {name}.", f"Give an id: {several}.")
    return found[0].id if found else name


async def conversation_id(session: Session, name: str) -> str:
    """Return the id of a conversation given by id or as the last. Raises CommandError when there is none."""
    if name != LAST:
        return name
    response = await session.call(session.stub.ListConversations, ListConversationsRequest(page_size=1))
    if not response.conversations:
        raise CommandError("There are no conversations yet.", "Begin one: footnote ask QUESTION --new-conversation")
    found: str = response.conversations[0].id
    return found
