"""Follows documents that the server is working on, and says so as they change."""

from footnote.edge.v1.documents_pb2 import WatchDocumentRequest, WatchDocumentsRequest
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import Document, Progress
from footnote_kit.printable import printable_line

from footnote_cli.console import as_dict, print_json
from footnote_cli.render.progress import step
from footnote_cli.render.tables import STATE_STYLES, enum_word
from footnote_cli.render.text import plural
from footnote_cli.session import Session

_TIMEOUT = 3600.0


async def follow_document(session: Session, document_id: str, *, show: bool = False) -> Document:
    """Return a document once it is INDEXED or ERROR; with `show`, print each change until then."""
    request = WatchDocumentRequest(document_id=document_id)
    document = Document()
    async for update in session.stream(session.stub.WatchDocument, request, timeout=_TIMEOUT):
        document = update.document
        if show:
            _print(session, document, update.progress)
    return document


async def follow_collection(session: Session, collection: str, until_idle: bool) -> None:
    """Print each change of a collection's documents, until nothing is being done or the caller ends it."""
    request = WatchDocumentsRequest(collection=collection, until_idle=until_idle)
    async for update in session.stream(session.stub.WatchDocuments, request, timeout=_TIMEOUT):
        _print(session, update.document, update.progress)


def _print(session: Session, document: Document, progress: Progress) -> None:
    if session.as_json:
        print_json({"document": as_dict(document), "progress": as_dict(progress)}, line=True)
        return
    word = enum_word(document_pb2.DocumentState, document.state, "DOCUMENT_STATE_")
    if document.state == document_pb2.DOCUMENT_STATE_ERROR:
        doing = document.failure.message
    elif document.state == document_pb2.DOCUMENT_STATE_INDEXED:
        doing = plural(document.chunks_stored, "chunk")
    else:
        doing = step(document, progress)
    session.out.print(
        printable_line(f"{document.filename}  {word}  {doing}"), style=STATE_STYLES.get(word, ""), soft_wrap=True
    )
