"""Resolves the names that people use: a document by its file's name, a conversation as the last one."""

from footnote.edge.v1.conversations_pb2 import ListConversationsRequest
from footnote.edge.v1.documents_pb2 import ListDocumentsRequest

from footnote_cli.errors import CommandError, usage_error
from footnote_cli.listing import list_documents
from footnote_cli.render.text import moment
from footnote_cli.session import Session

LAST = "last"
DOCUMENT = "Id of the document, or its file's name where only one has it."
CONVERSATION = "Id of the conversation; or 'last', the one used last."


async def document_id(session: Session, name: str) -> str:
    """Return the id of a document given by id or by its file's name. Raises CommandError when several have the name."""
    if "." not in name:  # no id has a dot, but every supported file's name has one
        return name
    items = await list_documents(session, ListDocumentsRequest(filename_contains=name))
    found = [item for item in items if item.filename == name]
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
