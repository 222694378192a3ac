"""Follows documents that the server is working on, and prints their changes."""

from footnote.edge.v1.documents_pb2 import (
    WATCH_END_REASON_LIFETIME,
    WATCH_END_REASON_UNSPECIFIED,
    Document,
    WatchDocumentsRequest,
)
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import Progress
from footnote_kit.printable import printable_line

from footnote_cli.console import as_dict, print_json
from footnote_cli.ingestion import updates
from footnote_cli.render.progress import step, vectors
from footnote_cli.render.tables import STATE_STYLES, enum_word
from footnote_cli.session import Session

_TIMEOUT = 7200.0


async def follow_document(session: Session, document_id: str, *, show: bool = False) -> Document:
    """Return a document once it is INDEXED or ERROR; with `show`, print each change until it has all its vectors."""
    document = Document()
    async for update in updates(session, document_id, until_vectors=show):
        document = update.document
        if show:
            _print(session, document, update.progress)
    return document


async def follow_collection(session: Session, collection: str, until_idle: bool) -> None:
    """Print each change of a collection's documents, until no work is left or the caller stops it."""
    request = WatchDocumentsRequest(collection=collection, until_idle=until_idle)
    while True:
        reason = WATCH_END_REASON_UNSPECIFIED
        async for update in session.stream(session.stub.WatchDocuments, request, timeout=_TIMEOUT):
            request.resume_token = update.resume_token
            kind = update.WhichOneof("event")
            if kind == "changed":
                _print(session, update.changed.document, update.changed.progress)
            elif kind == "deleted":
                _print_deleted(session, update.deleted.document_id)
            elif kind == "ended":
                reason = update.ended.reason
        if reason != WATCH_END_REASON_LIFETIME:
            return


def _print_deleted(session: Session, document_id: str) -> None:
    if session.as_json:
        print_json({"deleted": {"document_id": document_id}}, line=True)
    else:
        session.out.print(printable_line(f"{document_id}  deleted"), style="dim", soft_wrap=True)


def _print(session: Session, document: Document, progress: Progress) -> None:
    if session.as_json:
        print_json({"document": as_dict(document), "progress": as_dict(progress)}, line=True)
        return
    word = enum_word(document_pb2.DocumentState, document.state)
    if document.state == document_pb2.DOCUMENT_STATE_ERROR:
        doing = document.failure.message
    elif document.state == document_pb2.DOCUMENT_STATE_INDEXED:
        doing = vectors(document, progress)
    else:
        doing = step(document, progress)
    session.out.print(
        printable_line(f"{document.filename}  {word}  {doing}"), style=STATE_STYLES.get(word, ""), soft_wrap=True
    )
