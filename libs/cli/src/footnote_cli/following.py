"""Follows documents that the server is working on, and prints their changes."""

import time

from footnote.edge.v1.documents_pb2 import (
    WATCH_END_REASON_LIFETIME,
    WATCH_END_REASON_UNSPECIFIED,
    Document,
    WatchDocumentsRequest,
)
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetHealthResponse
from footnote.types.v1 import document_pb2
from footnote.types.v1.document_pb2 import Progress
from footnote_kit.printable import printable_line

from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import CommandError
from footnote_cli.ingestion import updates
from footnote_cli.render.progress import indexing_work, step, vectors
from footnote_cli.render.tables import STATE_STYLES, enum_word
from footnote_cli.session import Session

_TIMEOUT = 7200.0
_WORK_SECONDS = 10.0
"""Least time between two lines on the rate of indexing; they come with changes of documents."""


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
    said = time.monotonic()
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
            if time.monotonic() >= said + _WORK_SECONDS:
                said = time.monotonic()
                await _print_work(session)
        if reason != WATCH_END_REASON_LIFETIME:
            return


async def _print_work(session: Session) -> None:
    """Print the rate and remaining time of the deployment's indexing; only operators learn them."""
    if session.as_json:  # its lines are changes of documents; `footnote health --json` has the figures
        return
    try:
        response: GetHealthResponse = await session.call(session.stub.GetHealth, GetHealthRequest())
    except CommandError:  # the watch itself goes on, and says what fails
        return
    for line in indexing_work(response.indexing_work):
        session.out.print(f"  {line}", style="dim", soft_wrap=True)


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
