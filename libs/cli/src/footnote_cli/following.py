"""Follows documents that the server is working on, and prints their changes."""

import asyncio
from collections.abc import AsyncIterator

from footnote.edge.v1.documents_pb2 import (
    WATCH_END_REASON_LIFETIME,
    WATCH_END_REASON_UNSPECIFIED,
    Document,
    GetDocumentRequest,
    WatchDocumentRequest,
    WatchDocumentResponse,
    WatchDocumentsRequest,
)
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED, Progress
from footnote_kit.printable import printable_line

from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import CommandError
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


_LOOK_AGAIN = 2.0


async def updates(
    session: Session, document_id: str, *, until_vectors: bool = False
) -> AsyncIterator[WatchDocumentResponse]:
    """Yield the states of a document until it is INDEXED or ERROR; raises CommandError when it is deleted.

    With `until_vectors`, until an INDEXED document has the vectors of all its chunks.
    """
    ended = False
    while not ended:  # a stream lasts an hour at most
        async for update in _seen(session, document_id, until_vectors):
            if update.deleted:
                problem = f"The document '{document_id}' was deleted."
                raise CommandError(problem, "See: footnote documents list", reason="DOCUMENT_NOT_FOUND")
            ended = update.document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)
            ended = ended and not (until_vectors and update.progress.chunks_without_vector)
            yield update


async def _seen(session: Session, document_id: str, until_vectors: bool) -> AsyncIterator[WatchDocumentResponse]:
    """Watch a document; if the user has no watch left, read it once after a while."""
    request = WatchDocumentRequest(document_id=document_id, until_vectors=until_vectors)
    try:
        async for update in session.stream(session.stub.WatchDocument, request, timeout=_TIMEOUT):
            yield update
    except CommandError as error:
        if error.code != "RESOURCE_EXHAUSTED":
            raise
        await asyncio.sleep(_LOOK_AGAIN)
        look = await session.call(session.stub.GetDocument, GetDocumentRequest(document_id=document_id))
        yield WatchDocumentResponse(document=look.document)
