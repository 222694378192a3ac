"""The public API: all its RPCs in one object."""

from footnote_edge.api.answers import AnswersApi
from footnote_edge.api.chunks import ChunksApi
from footnote_edge.api.collections import CollectionsApi
from footnote_edge.api.conversations import ConversationsApi
from footnote_edge.api.documents import DocumentsApi
from footnote_edge.api.keys import KeysApi
from footnote_edge.api.operations import OperationsApi
from footnote_edge.api.system import SystemApi
from footnote_edge.api.usage import UsageApi
from footnote_edge.api.vectors import VectorsApi
from footnote_edge.parts import Parts
from footnote_edge.sizes import bounded


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
    UsageApi,
    VectorsApi,
):
    """Handlers of every RPC; `guard` puts identity in front of them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
