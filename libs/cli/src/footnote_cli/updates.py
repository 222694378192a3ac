"""A document's states as the server tells them, over as many streams as it takes."""

from collections.abc import AsyncIterator

from footnote.edge.v1.documents_pb2 import WatchDocumentRequest, WatchDocumentResponse
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED

from footnote_cli.errors import CommandError
from footnote_cli.session import Session

_TIMEOUT = 7200.0


async def updates(session: Session, document_id: str) -> AsyncIterator[WatchDocumentResponse]:
    """Yield what is seen of a document until it is INDEXED or ERROR; raises CommandError when it is deleted."""
    ended = False
    while not ended:  # a stream lasts an hour at most
        request = WatchDocumentRequest(document_id=document_id)
        async for update in session.stream(session.stub.WatchDocument, request, timeout=_TIMEOUT):
            if update.deleted:
                problem = f"The document '{document_id}' was deleted."
                raise CommandError(problem, "See: footnote documents list", reason="DOCUMENT_NOT_FOUND")
            ended = update.document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)
            yield update
