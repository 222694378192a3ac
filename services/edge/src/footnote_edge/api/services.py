"""What the RPC handlers share: the services that they call, assembled once, and helpers to read a call."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from footnote.edge.v1.system_pb2 import GetSystemInfoResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote_kit.context import current_scope, time_remaining
from footnote_kit.errors import InvalidArgument, Unauthenticated

from footnote_edge.asking.asker import Asker
from footnote_edge.audit.recorder import Recorder
from footnote_edge.collections.collections import Collections
from footnote_edge.collections.evaluations import Evaluations
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.feedback import FeedbackRecords
from footnote_edge.documents.backlog import Backlog
from footnote_edge.documents.cancelling import DocumentCanceller
from footnote_edge.documents.deletion import DocumentDeletion
from footnote_edge.documents.documents import Chunks, Documents
from footnote_edge.documents.editing import DocumentEditor
from footnote_edge.documents.many_uploads import ManyUploads
from footnote_edge.documents.operations import Operations
from footnote_edge.documents.row_deletion import RowDeletion
from footnote_edge.documents.starters import Starters
from footnote_edge.documents.upload_batches import UploadBatches
from footnote_edge.documents.views import DocumentViews
from footnote_edge.documents.watch import DocumentWatches
from footnote_edge.gateway.principals import Operators
from footnote_edge.gateway.quotas import Quotas
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.sources.service import Sources
from footnote_edge.system.activity import ActivityCounter
from footnote_edge.system.health import Health
from footnote_edge.system.key_admin import KeyAdmin
from footnote_edge.system.providers import Providers
from footnote_edge.system.traces import Traces
from footnote_edge.system.usage import UsageReports


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the handlers call."""

    settings: Settings
    stages: Stages
    collections: Collections
    starters: Starters
    evaluations: Evaluations
    documents: Documents
    uploads: UploadBatches
    many: ManyUploads
    views: DocumentViews
    chunks: Chunks
    document_deletion: DocumentDeletion
    row_deletion: RowDeletion
    document_canceller: DocumentCanceller
    document_editor: DocumentEditor
    watches: DocumentWatches
    jobs: Jobs
    operations: Operations
    asker: Asker
    quotas: Quotas
    conversations: Conversations
    answers: Answers
    request_ids: RequestIds
    feedback: FeedbackRecords
    providers: Providers
    keys: KeyAdmin
    health: Health
    backlog: Backlog
    traces: Traces
    usage: UsageReports
    activity: ActivityCounter
    operators: Operators
    audit: Recorder
    sources: Sources
    about: GetSystemInfoResponse
    version: str


def caller() -> Scope:
    """Return the scope that the guard determined for this call; raises Unauthenticated if there is none."""
    scope = current_scope()
    if scope is None:
        raise Unauthenticated("The call carries no identity", reason="SCOPE_MISSING")
    return scope


def seconds(default: float) -> float:
    """Return the caller's timeout in seconds, else `default`."""
    remaining = time_remaining()
    return default if remaining is None else remaining


async def first_of(messages: AsyncIterator[Any]) -> Any:
    """Return the metadata in a client stream's first message; raises InvalidArgument if it is missing."""
    first = await anext(messages, None)
    if first is None or first.WhichOneof("payload") != "metadata":
        raise InvalidArgument.field("metadata", "must come in the first message")
    return first.metadata


async def bytes_of(messages: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """Yield the bytes of the remaining messages of a client stream."""
    async for message in messages:
        if message.WhichOneof("payload") != "data":
            raise InvalidArgument.field("data", "must follow the metadata, which comes once")
        yield message.data
