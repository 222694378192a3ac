"""The edge's parts, put together once and given to the handlers."""

from dataclasses import dataclass

from footnote.edge.v1.system_pb2 import GetSystemInfoResponse

from footnote_edge.answers import Answers
from footnote_edge.asker import Asker
from footnote_edge.cancelling import Cancelling
from footnote_edge.catalog import Catalog
from footnote_edge.chunks import Chunks
from footnote_edge.conversations import Conversations
from footnote_edge.deleting import Deleting
from footnote_edge.documents import Documents
from footnote_edge.editing import Editing
from footnote_edge.feedback import FeedbackBook
from footnote_edge.health import Health
from footnote_edge.jobs import Jobs
from footnote_edge.key_admin import KeyAdmin
from footnote_edge.limiting import Limiting
from footnote_edge.operations import Operations
from footnote_edge.providers import Providers
from footnote_edge.public import Public
from footnote_edge.request_ids import RequestIds
from footnote_edge.settings import Settings
from footnote_edge.stages import Stages
from footnote_edge.traces import Traces
from footnote_edge.usage import UsageDesk
from footnote_edge.watch import Watch


@dataclass(frozen=True, slots=True)
class Parts:
    """What the handlers call."""

    settings: Settings
    stages: Stages
    catalog: Catalog
    documents: Documents
    public: Public
    chunks: Chunks
    deleting: Deleting
    cancelling: Cancelling
    editing: Editing
    watch: Watch
    jobs: Jobs
    operations: Operations
    asker: Asker
    limiting: Limiting
    conversations: Conversations
    answers: Answers
    request_ids: RequestIds
    feedback: FeedbackBook
    providers: Providers
    keys: KeyAdmin
    health: Health
    traces: Traces
    usage: UsageDesk
    about: GetSystemInfoResponse
    version: str
