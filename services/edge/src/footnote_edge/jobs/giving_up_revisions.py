"""Ends a revision that is not searchable yet; of concurrent attempts exactly one wins."""

from footnote.indexing.v1 import indexing_service_pb2 as indexing
from footnote.ingestion.v1 import ingestion_service_pb2 as ingestion
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, Failure
from footnote_kit.errors import FailedPrecondition

from footnote_edge.ports import Stages


class Searched(Exception):
    """The revision was searchable before it could be given up."""


async def give_up(stages: Stages, scope: Scope, document: Document, failure: Failure, timeout: float) -> Document:
    """Give up a document's revision, which then has failed; raises Searched, or the stages' refusals.

    Indexing decides: it gives the revision up unless it is searchable, so either the cancel or the job wins. After a
    crash right then, the job learns of it and records the same end.
    """
    given_up = indexing.CancelDocumentRequest(
        scope=scope,
        collection_id=document.collection_id,
        document_id=document.id,
        revision=document.revision,
    )
    try:
        await stages.indexing.CancelDocument(given_up, timeout=timeout)
    except FailedPrecondition:
        raise Searched from None
    move = ingestion.UpdateDocumentStateRequest(
        scope=scope,
        document_id=document.id,
        revision=document.revision,
        state=DOCUMENT_STATE_ERROR,
        failure=failure,
    )
    moved: Document = (await stages.ingestion.UpdateDocumentState(move, timeout=timeout)).document
    return moved
