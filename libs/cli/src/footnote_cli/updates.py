"""A document's states from the server, over as many streams as it takes."""

import asyncio
from collections.abc import AsyncIterator

from footnote.edge.v1.documents_pb2 import GetDocumentRequest, WatchDocumentRequest, WatchDocumentResponse
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED

from footnote_cli.errors import CommandError
from footnote_cli.session import Session

_TIMEOUT = 7200.0
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
