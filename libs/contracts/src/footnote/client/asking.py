"""Helpers of both clients for questions and watches."""

from collections.abc import Sequence

from footnote.edge.v1.answers_pb2 import AskRequest, AskResponse
from footnote.edge.v1.documents_pb2 import WatchDocumentResponse
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED

_SETTLED = (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)


def question(asked: str | AskRequest, collections: Sequence[str], conversation_id: str) -> AskRequest:
    """Return a question as a request; ValueError if a whole request is given together with further fields."""
    if isinstance(asked, str):
        return AskRequest(question=asked, collections=collections, conversation_id=conversation_id)
    if collections or conversation_id:
        raise ValueError("an AskRequest says itself where to ask")
    return asked


def is_settled(event: WatchDocumentResponse) -> bool:
    """Return whether a document's processing has ended."""
    return event.deleted or event.document.state in _SETTLED


def is_last(event: AskResponse) -> bool:
    """Return whether an event ends an answer."""
    return event.WhichOneof("event") == "completed"
