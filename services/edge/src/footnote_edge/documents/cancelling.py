"""Cancels the processing of a document's newest revision, whichever replica runs its job."""

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import (
    DOCUMENT_STATE_ERROR,
    DOCUMENT_STATE_INDEXED,
    FAILURE_REASON_CANCELLED,
    DocumentState,
)
from footnote_kit.access import Access
from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger

from footnote_edge.documents.documents import Documents
from footnote_edge.jobs.interrupting import AlreadySearched, Interruptions, cancel_revision, cancelled
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.ports import Stages

_log = get_logger(__name__)


class DocumentCanceller:
    """Cancels documents for callers."""

    def __init__(
        self,
        stages: Stages,
        documents: Documents,
        interruptions: Interruptions,
        bus: ProgressBus,
        timeout: float,
    ) -> None:
        self._stages = stages
        self._documents = documents
        self._interruptions = interruptions
        self._bus = bus
        self._timeout = timeout

    async def cancel(self, scope: Scope, document_id: str) -> Document:
        """Cancel and return the document; raises FailedPrecondition if there is nothing to cancel."""
        document = await self._documents.get(scope, document_id, Access.WRITE)
        if document.state in (DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_ERROR):
            raise _nothing(DocumentState.Name(document.state).removeprefix("DOCUMENT_STATE_"))
        moved: Document
        try:
            moved = await cancel_revision(self._stages, scope, document, cancelled(), self._timeout)
        except AlreadySearched:
            raise _nothing("INDEXED") from None
        except FailedPrecondition:
            # Either the job has recorded the cancellation before us, or it failed at the same moment.
            moved = await self._documents.get(scope, document_id)
            if moved.failure.reason != FAILURE_REASON_CANCELLED:
                raise
        self._interruptions.check_now(document_id)
        self._bus.deliver(moved)
        _log.info("document_cancelled", document_id=document_id, revision=document.revision)
        return moved


def _nothing(state: str) -> FailedPrecondition:
    return FailedPrecondition(
        f"The document is {state}: there is no processing to cancel",
        metadata={"state": state, "requested": "ERROR"},
    )
