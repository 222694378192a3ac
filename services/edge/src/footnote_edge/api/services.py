"""The services that the RPC handlers call, assembled once."""

from dataclasses import dataclass

from footnote.edge.v1.system_pb2 import GetSystemInfoResponse

from footnote_edge.asking.asker import Asker
from footnote_edge.audit.recorder import Recorder
from footnote_edge.collections.catalog import Catalog
from footnote_edge.collections.evaluations import Evaluations
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.feedback import FeedbackRecords
from footnote_edge.documents.backlog import Backlog
from footnote_edge.documents.cancelling import DocumentCanceller
from footnote_edge.documents.chunks import Chunks
from footnote_edge.documents.deletion import DocumentDeletion
from footnote_edge.documents.documents import Documents
from footnote_edge.documents.editing import DocumentEditor
from footnote_edge.documents.many_uploads import ManyUploads
from footnote_edge.documents.operations import Operations
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
    catalog: Catalog
    starters: Starters
    evaluations: Evaluations
    documents: Documents
    uploads: UploadBatches
    many: ManyUploads
    views: DocumentViews
    chunks: Chunks
    document_deletion: DocumentDeletion
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
