"""The public API: all its RPCs in one object."""

from footnote.edge.v1.answers_pb2_grpc import AnswersServiceServicer
from footnote.edge.v1.audit_pb2_grpc import AuditServiceServicer
from footnote.edge.v1.collections_pb2_grpc import CollectionsServiceServicer
from footnote.edge.v1.conversations_pb2_grpc import ConversationsServiceServicer
from footnote.edge.v1.documents_pb2_grpc import DocumentsServiceServicer
from footnote.edge.v1.evaluations_pb2_grpc import EvaluationsServiceServicer
from footnote.edge.v1.keys_pb2_grpc import KeysServiceServicer
from footnote.edge.v1.limits_pb2_grpc import LimitsServiceServicer
from footnote.edge.v1.operations_pb2_grpc import OperationsServiceServicer
from footnote.edge.v1.providers_pb2_grpc import ProvidersServiceServicer
from footnote.edge.v1.sources_pb2_grpc import SourcesServiceServicer
from footnote.edge.v1.system_pb2_grpc import SystemServiceServicer
from footnote.edge.v1.tables_pb2_grpc import TablesServiceServicer
from footnote.edge.v1.vectors_pb2_grpc import VectorsServiceServicer

from footnote_edge.api.answers import AnswersApi
from footnote_edge.api.collections import CollectionsApi, EvaluationsApi
from footnote_edge.api.conversations import ConversationsApi
from footnote_edge.api.documents import ChunksApi, DocumentsApi, OperationsApi
from footnote_edge.api.keys import KeysApi
from footnote_edge.api.limits import LimitsApi
from footnote_edge.api.services import Services
from footnote_edge.api.sources import SourcesApi
from footnote_edge.api.system import AuditApi, SystemApi
from footnote_edge.api.tables import TablesApi
from footnote_edge.api.usage import ActivityApi, UsageApi
from footnote_edge.api.vectors import VectorsApi
from footnote_edge.gateway.sizes import bounded


@bounded
class EdgeServicer(
    CollectionsApi,
    DocumentsApi,
    ChunksApi,
    AnswersApi,
    ConversationsApi,
    OperationsApi,
    KeysApi,
    SystemApi,
    SourcesApi,
    TablesApi,
    UsageApi,
    ActivityApi,
    LimitsApi,
    AuditApi,
    VectorsApi,
    EvaluationsApi,
    CollectionsServiceServicer,
    DocumentsServiceServicer,
    AnswersServiceServicer,
    ConversationsServiceServicer,
    OperationsServiceServicer,
    KeysServiceServicer,
    LimitsServiceServicer,
    AuditServiceServicer,
    ProvidersServiceServicer,
    SystemServiceServicer,
    SourcesServiceServicer,
    TablesServiceServicer,
    VectorsServiceServicer,
    EvaluationsServiceServicer,
):
    """Handlers of every RPC, typed as in the contract; `guard` puts authentication in front of them."""

    def __init__(self, services: Services) -> None:
        self.services = services
