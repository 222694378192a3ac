"""Labels that chunks copy from their document and can change without a new embedding: tags, metadata, expiry."""

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.internal.ingestion.v1alpha1 import upkeep_service_pb2 as ingestion_upkeep
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_kit.logs import get_logger

from footnote_edge.ports import Stages

ROUNDS = 5
"""Rounds of writing chunks again because the document changed in the meantime."""


_log = get_logger(__name__)


async def align(stages: Stages, scope: Scope, document: Document, timeout: float) -> Document:
    """Copy a document's labels to its chunks until both agree; return the record.

    Two concurrent changes may reach the chunks in the other order: the later caller checks again. The record is marked
    until this ends; the reconciler finds a mark left by a crash. While a job indexes the document, it stays marked: the
    job may publish chunks with the labels that it began with, and a crash after that must not lose the change.
    """
    for _ in range(ROUNDS):
        request = indexing.UpdateDocumentChunksRequest(scope=scope, document=document)
        await stages.indexing.UpdateDocumentChunks(request, timeout=timeout)
        again = ingestion.GetDocumentRequest(scope=scope, document_id=document.id)
        fresh: Document = (await stages.ingestion.GetDocument(again, timeout=timeout)).document
        if same_labels(fresh, document):
            if is_final(document):
                await _confirm(stages, scope, fresh, timeout)
            return fresh
        document = fresh
    raise Unavailable("The document keeps changing; try again", retry_after=1.0)


async def _confirm(stages: Stages, scope: Scope, document: Document, timeout: float) -> None:
    request = ingestion_upkeep.ConfirmLabelsRequest(scope=scope, document_id=document.id, etag=document.etag)
    try:
        await stages.ingestion_upkeep.ConfirmLabels(request, timeout=timeout)
    except FootnoteError as error:  # the chunks are right; the mark only costs another check
        _log.info("labels_not_confirmed", document_id=document.id, reason=error.reason)


def is_final(document: Document) -> bool:
    """Return whether a document's processing has ended, successfully or not; a later job begins with its labels."""
    return document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR)


def same_labels(one: Document, other: Document) -> bool:
    """Return whether two states of a document have the same labels."""
    return (one.tags, one.metadata, one.expire_time) == (other.tags, other.metadata, other.expire_time)
