"""An edge on a real port whose answers are written in the test: what the command line talks to in unit tests."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio
from footnote.edge.v1.answers_pb2 import AskCompleted, AskResponse, SearchResponse, StageEvent
from footnote.edge.v1.chunks_pb2 import Chunk, ScoredChunk
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionResponse,
    DeleteCollectionResponse,
    GetCollectionResponse,
    ListCollectionsResponse,
    UpdateCollectionResponse,
)
from footnote.edge.v1.conversations_pb2 import (
    Conversation,
    ConversationMessage,
    DeleteConversationResponse,
    GetConversationResponse,
    GetSharedConversationResponse,
    ListConversationsResponse,
    ListMessagesResponse,
    ShareConversationResponse,
    SharedConversation,
    UnshareConversationResponse,
)
from footnote.edge.v1.documents_pb2 import (
    CancelDocumentResponse,
    DeleteDocumentResponse,
    Document,
    DownloadDocumentResponse,
    GetChunkResponse,
    GetDocumentResponse,
    ListChunksResponse,
    ListDocumentsResponse,
    ReindexDocumentsResponse,
    UploadDocumentResponse,
    WatchDocumentResponse,
)
from footnote.edge.v1.evaluations_pb2 import (
    EVALUATION_GRADE_RIGHT,
    CreateEvaluationRunResponse,
    DeleteEvaluationRunResponse,
    EvaluationCount,
    EvaluationRun,
    ListEvaluationRunsResponse,
)
from footnote.edge.v1.operations_pb2 import (
    CancelOperationResponse,
    GetOperationResponse,
    ListOperationsResponse,
    Operation,
    WatchOperationResponse,
)
from footnote.edge.v1.providers_pb2 import ListProvidersResponse
from footnote.edge.v1.system_pb2 import GetHealthResponse, GetTraceResponse
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote.types.v1 import (
    answer_pb2,
    chunk_pb2,
    collection_pb2,
    document_pb2,
    locator_pb2,
    provider_pb2,
    reasons_pb2,
)
from footnote.types.v1.document_pb2 import DocumentFile
from footnote_kit import errors
from footnote_kit.edge import additions
from footnote_kit.errors import FootnoteError
from footnote_kit.status import to_proto
from grpc_status import rpc_status

from support.doubles.partial_edge import PartialEdge

QUOTE = "Every employee has 27 days of paid leave a year."
ANSWER = "Every employee has 27 days of paid leave a year. [1] Some have more. [2]"


def page(number: int) -> locator_pb2.Locator:
    """Return the place of a whole page."""
    return locator_pb2.Locator(page=locator_pb2.PageLocator(page=number, last_page=number))


def document(filename: str, state: str = "INDEXED", **fields: Any) -> Document:
    """Return a document in a state."""
    values = {
        "id": f"doc-{filename.partition('.')[0]}",
        "collection_id": "c1",
        "collection": "default",
        "size_bytes": 2048,
        "chunk_count": 3,
        "revision": 1,
        **fields,
    }
    return Document(filename=filename, state=f"DOCUMENT_STATE_{state}", **values)


def chunk(ordinal: int) -> Chunk:
    """Return a chunk of the handbook."""
    place = page(ordinal)
    place.span.start, place.span.end = 100 * ordinal, 100 * ordinal + len(QUOTE)
    return Chunk(
        id=f"d:000001:{ordinal:07d}", ordinal=ordinal, document_id="d", revision=1, filename="handbook.pdf", text=QUOTE,
        locator=place, token_count=12, collection="default", chunking_strategy="CHUNKING_STRATEGY_HEADING_SECTION",
    )  # fmt: skip


def operation(kind: str, state: str, **fields: Any) -> Operation:
    """Return an operation in a state; its id is "op-" and its kind."""
    known = f"OPERATION_KIND_{kind}" if kind.isupper() else None
    made = Operation(id=f"op-{kind}", kind=known, state=f"OPERATION_STATE_{state}", owner_id="ann", **fields)
    made.create_time.GetCurrentTime()
    if state not in ("QUEUED", "RUNNING"):
        made.end_time.GetCurrentTime()
    return made


class ScriptedEdge(PartialEdge):
    """Answers by simple rules and remembers what it was sent.

    A file whose name begins with "bad" fails in processing, with "refused" at upload. The question decides the answer:
    "boom" fails, "slow" never ends, everything else gets ANSWER.
    """

    def __init__(self) -> None:
        self.metadata: list[dict[str, str]] = []
        self.requests: list[Any] = []
        self.uploads: dict[str, bytes] = {}
        self.collections = {
            "default": collection_pb2.Collection(id="c1", name="default", document_count=2, chunk_count=6)
        }
        self.degradations: list[answer_pb2.Degradation] = []
        self.final_text = ANSWER
        self.traceparent = ""
        self.cancelled = threading.Event()
        self.watches, self.most_watches, self.watches_allowed = 0, 0, 32
        self.began = threading.Event()

    def _note(self, request: Any, context: Any) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))

    async def GetHealth(self, request: Any, context: Any) -> GetHealthResponse:
        self._note(request, context)
        response = GetHealthResponse(healthy=True, version="0.1.0")
        for name in ("ingestion", "vector store"):
            component = response.components.add(name=name, healthy=True)
            component.latency.FromMilliseconds(2)
        return response

    async def ListProviders(self, request: Any, context: Any) -> ListProvidersResponse:
        self._note(request, context)
        provider = provider_pb2.Provider(kind=1, id="builtin", display_name="Built in", capabilities=["embeddings"])
        return ListProvidersResponse(providers=[provider])

    async def GetCollection(self, request: Any, context: Any) -> GetCollectionResponse:
        self._note(request, context)
        if request.collection not in self.collections:
            raise errors.NotFound(f"Collection '{request.collection}' not found", reason="COLLECTION_NOT_FOUND")
        return GetCollectionResponse(collection=self.collections[request.collection])

    async def CreateCollection(self, request: Any, context: Any) -> CreateCollectionResponse:
        self._note(request, context)
        self.collections[request.collection.name] = request.collection
        return CreateCollectionResponse(collection=request.collection)

    async def UpdateCollection(self, request: Any, context: Any) -> UpdateCollectionResponse:
        self._note(request, context)
        changed = collection_pb2.Collection(name=request.collection)
        changed.MergeFrom(request.resource)
        return UpdateCollectionResponse(collection=changed)

    async def ListCollections(self, request: Any, context: Any) -> ListCollectionsResponse:
        self._note(request, context)
        names = sorted(self.collections)
        start = int(request.page_token or 0)
        following = str(start + 1) if start + 1 < len(names) else ""
        return ListCollectionsResponse(collections=[self.collections[names[start]]], next_page_token=following)

    async def DeleteCollection(self, request: Any, context: Any) -> DeleteCollectionResponse:
        self._note(request, context)
        return DeleteCollectionResponse(operation=operation("DELETE_COLLECTION", "QUEUED", total=2))

    async def UploadDocument(self, requests: Any, context: Any) -> UploadDocumentResponse:
        metadata, data = None, b""
        async for request in requests:
            if request.WhichOneof("payload") == "metadata":
                metadata = request.metadata
                self._note(metadata, context)
                if metadata.filename.startswith("refused"):
                    raise errors.InvalidArgument(
                        "The file is empty", reason="FILE_EMPTY", metadata={"hint": "Check that it was saved."}
                    )
            else:
                data += request.data
        self.uploads[metadata.filename] = data
        return UploadDocumentResponse(document=document(metadata.filename, "UPLOADED", chunk_count=0))

    async def WatchDocument(self, request: Any, context: Any) -> AsyncIterator[WatchDocumentResponse]:
        self._note(request, context)
        filename = request.document_id.removeprefix("doc-")
        self.watches += 1
        self.most_watches = max(self.most_watches, self.watches)
        try:
            if self.watches > self.watches_allowed:
                raise errors.ResourceExhausted("You watch as much as you may", retry_after=5)
            await asyncio.sleep(0.1)
        finally:
            self.watches -= 1
        parsing = document_pb2.Progress(phase="PROGRESS_PHASE_PARSING", pages_parsed=1, pages_total=4)
        yield WatchDocumentResponse(document=document(filename, "PROCESSING", chunk_count=0), progress=parsing)
        storing = document_pb2.Progress(
            phase="PROGRESS_PHASE_INDEXING", chunks_total=3, chunks_embedded=3, chunks_stored=1
        )
        yield WatchDocumentResponse(document=document(filename, "PROCESSING", chunk_count=1), progress=storing)
        if filename.startswith("bad"):
            reason = document_pb2.FAILURE_REASON_PASSWORD_PROTECTED
            failure = document_pb2.Failure(
                reason=reason, message="The file needs a password", hint="Save it without one."
            )
            yield WatchDocumentResponse(document=document(filename, "ERROR", chunk_count=0, failure=failure))
        else:
            yield WatchDocumentResponse(document=document(filename))

    async def ListDocuments(self, request: Any, context: Any) -> ListDocumentsResponse:
        self._note(request, context)
        return ListDocumentsResponse(documents=[document("handbook.pdf"), document("stock.xlsx", "PROCESSING")])

    async def GetDocument(self, request: Any, context: Any) -> GetDocumentResponse:
        self._note(request, context)
        if not request.document_id.startswith("doc-"):
            raise errors.NotFound(f"Document '{request.document_id}' not found", reason="DOCUMENT_NOT_FOUND")
        return GetDocumentResponse(document=document(request.document_id.removeprefix("doc-")))

    async def CancelDocument(self, request: Any, context: Any) -> CancelDocumentResponse:
        self._note(request, context)
        failure = document_pb2.Failure(
            reason=document_pb2.FAILURE_REASON_CANCELLED, message="It was cancelled.", hint="Reindex it."
        )
        return CancelDocumentResponse(document=document("handbook.pdf", "ERROR", chunk_count=0, failure=failure))

    async def DeleteDocument(self, request: Any, context: Any) -> DeleteDocumentResponse:
        self._note(request, context)
        return DeleteDocumentResponse(chunks_deleted=3)

    async def DownloadDocument(self, request: Any, context: Any) -> AsyncIterator[DownloadDocumentResponse]:
        self._note(request, context)
        sent = document("../../handbook.pdf")
        yield DownloadDocumentResponse(document=sent, data=b"first ", file=DocumentFile(filename=sent.filename))
        yield DownloadDocumentResponse(data=b"second")

    async def ReindexDocuments(self, request: Any, context: Any) -> ReindexDocumentsResponse:
        self._note(request, context)
        return ReindexDocumentsResponse(operation=operation("REINDEX_DOCUMENTS", "QUEUED"))

    async def GetOperation(self, request: Any, context: Any) -> GetOperationResponse:
        self._note(request, context)
        if not request.operation_id.startswith("op-"):
            raise errors.NotFound(f"Operation '{request.operation_id}' not found", reason="OPERATION_NOT_FOUND")
        return GetOperationResponse(operation=operation(request.operation_id[3:], "RUNNING", total=4, done=1))

    async def ListOperations(self, request: Any, context: Any) -> ListOperationsResponse:
        self._note(request, context)
        return ListOperationsResponse(operations=[operation("REINDEX_DOCUMENTS", "RUNNING", total=4, done=1)])

    async def WatchOperation(self, request: Any, context: Any) -> AsyncIterator[WatchOperationResponse]:
        self._note(request, context)
        kind = request.operation_id.removeprefix("op-")
        if kind == "REINDEX_DOCUMENTS":
            yield WatchOperationResponse(operation=operation(kind, "RUNNING", total=3, skipped=1))
            yield WatchOperationResponse(operation=operation(kind, "SUCCEEDED", total=3, done=2, skipped=1))
        else:
            yield WatchOperationResponse(
                operation=operation(kind, "SUCCEEDED", total=2, done=2, delete_collection={"chunks_deleted": 6}),
            )

    async def CancelOperation(self, request: Any, context: Any) -> CancelOperationResponse:
        self._note(request, context)
        return CancelOperationResponse(operation=operation(request.operation_id[3:], "CANCELLED", total=4, done=1))

    async def GetChunk(self, request: Any, context: Any) -> GetChunkResponse:
        self._note(request, context)
        if request.chunk_id != "d:000001:0000003":
            raise errors.NotFound(f"Chunk '{request.chunk_id}' not found", reason="CHUNK_NOT_FOUND")
        return GetChunkResponse(chunk=chunk(3))

    async def ListChunks(self, request: Any, context: Any) -> ListChunksResponse:
        self._note(request, context)
        if request.page_token:
            return ListChunksResponse(chunks=[chunk(3)], total_size=2, revision=1)
        return ListChunksResponse(chunks=[chunk(2)], next_page_token="2", total_size=2, revision=1)

    async def Search(self, request: Any, context: Any) -> SearchResponse:
        self._note(request, context)
        hit = ScoredChunk(chunk=chunk(3), score=0.91)
        if request.explain:
            hit.channels.add(channel=chunk_pb2.SEARCH_CHANNEL_DENSE, raw_score=0.44, score=1.0, rank=1, weight=0.3)
            hit.channels.add(channel=chunk_pb2.SEARCH_CHANNEL_LEXICAL, raw_score=12.5, score=0.87, rank=2, weight=0.7)
            recency = hit.adjustments.add(kind=reasons_pb2.SCORE_ADJUSTMENT_KIND_RECENCY, delta=0.01)
            recency.age.FromSeconds(2 * 86_400)
        why = reasons_pb2.SearchStrategyChoice(reason=reasons_pb2.SEARCH_STRATEGY_REASON_QUOTED_TERMS)
        return SearchResponse(chunks=[hit], strategy=4, strategy_choice=why, query_language="en", total_candidates=12)

    async def Ask(self, request: Any, context: Any) -> AsyncIterator[AskResponse]:
        self._note(request, context)
        self.traceparent = dict(context.invocation_metadata()).get("traceparent", "")
        yield AskResponse(stage=StageEvent(stage=answer_pb2.PIPELINE_STAGE_RETRIEVAL))
        yield AskResponse(text_delta="Every employee has 27 days ")
        if request.question == "boom":
            raise errors.Unavailable("The model provider failed: 503", reason="PROVIDER_FAILED")
        if request.question == "slow":
            self.began.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        yield AskResponse(text_delta="of paid leave a year. [1] Some have more. [2]")
        yield AskResponse(completed=self._completed())

    def _completed(self) -> AskCompleted:
        answer = answer_pb2.Answer(text=self.final_text, finish_reason=1, provider="builtin", model="extractive")
        answer.citations.add(number=1, filename="handbook.pdf", label="handbook.pdf, page 3", quote=QUOTE, support=1)
        answer.citations.add(
            number=2, filename="stock.xlsx", label="stock.xlsx, sheet 'Stocks', cell C12", quote="Some", support=2
        )
        completed = AskCompleted(answer=answer, degradations=self.degradations)
        completed.sources.add(number=1)
        completed.sources.add(number=2)
        completed.time_to_first_token.FromMilliseconds(12)
        completed.trace_id = self.traceparent.split("-")[1] if self.traceparent else "0" * 32
        return completed

    async def ListConversations(self, request: Any, context: Any) -> ListConversationsResponse:
        self._note(request, context)
        return ListConversationsResponse(conversations=[Conversation(id="k1", title="Leave", message_count=2)])

    async def GetConversation(self, request: Any, context: Any) -> GetConversationResponse:
        self._note(request, context)
        return GetConversationResponse(conversation=Conversation(id="k1", title="Leave", message_count=2))

    async def ListMessages(self, request: Any, context: Any) -> ListMessagesResponse:
        self._note(request, context)
        question = ConversationMessage(id="m1", role=answer_pb2.MESSAGE_ROLE_USER, text="How many days?")
        answer = ConversationMessage(id="m2", role=answer_pb2.MESSAGE_ROLE_ASSISTANT, text=ANSWER)
        answer.answer.citations.add(number=1, label="handbook.pdf, page 3", quote=QUOTE, support=1)
        return ListMessagesResponse(messages=[question, answer])

    async def ShareConversation(self, request: Any, context: Any) -> ShareConversationResponse:
        self._note(request, context)
        return ShareConversationResponse(shared=SharedConversation(share_id="s1", answer_id=request.answer_id))

    async def UnshareConversation(self, request: Any, context: Any) -> UnshareConversationResponse:
        self._note(request, context)
        return UnshareConversationResponse()

    async def GetSharedConversation(self, request: Any, context: Any) -> GetSharedConversationResponse:
        """Return the messages of the one conversation, on a page each."""
        said = (await self.ListMessages(request, context)).messages
        number = int(request.page_token or 0)
        token = str(number + 1) if number + 1 < len(said) else ""
        shared = SharedConversation(share_id="s1", title="Leave", user_id="ann")
        shared.share_time.FromJsonString("2026-11-20T08:00:00Z")
        return GetSharedConversationResponse(shared=shared, messages=said[number : number + 1], next_page_token=token)

    async def CreateEvaluationRun(self, request: Any, context: Any) -> CreateEvaluationRunResponse:
        self._note(request, context)
        return CreateEvaluationRunResponse(run=EvaluationRun(id="run1"))

    async def ListEvaluationRuns(self, request: Any, context: Any) -> ListEvaluationRunsResponse:
        self._note(request, context)
        counts = [EvaluationCount(grade=EVALUATION_GRADE_RIGHT, count=1)]
        return ListEvaluationRunsResponse(runs=[EvaluationRun(id="run1", label="builtin", counts=counts)])

    async def DeleteEvaluationRun(self, request: Any, context: Any) -> DeleteEvaluationRunResponse:
        self._note(request, context)
        return DeleteEvaluationRunResponse()

    async def DeleteConversation(self, request: Any, context: Any) -> DeleteConversationResponse:
        self._note(request, context)
        return DeleteConversationResponse()

    async def GetTrace(self, request: Any, context: Any) -> GetTraceResponse:
        self._note(request, context)
        if not self.traceparent or request.trace_id != self.traceparent.split("-")[1]:
            raise errors.NotFound("The trace is no longer kept", reason="TRACE_NOT_FOUND")
        parent = self.traceparent.split("-")[2]
        span = TraceSpan(
            span_id="a" * 16,
            parent_span_id=parent,
            name="/footnote.edge.v1.AnswersService/Ask",
            service="footnote-edge",
        )
        span.start_time.GetCurrentTime()
        span.end_time.CopyFrom(span.start_time)
        return GetTraceResponse(spans=[span])


class _Errors(grpc.aio.ServerInterceptor):
    """Turns FootnoteErrors into rich statuses, as the kit's interceptor does, without asking for a scope."""

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = await continuation(details)
        if handler is None:
            return None
        if handler.unary_stream is not None:

            async def streamed(request: Any, context: Any) -> AsyncIterator[Any]:
                try:
                    async for item in handler.unary_stream(request, context):
                        yield item
                except FootnoteError as error:
                    await context.abort_with_status(rpc_status.to_status(to_proto(error)))

            return handler._replace(unary_stream=streamed)
        name = "stream_unary" if handler.stream_unary is not None else "unary_unary"
        behavior = getattr(handler, name)

        async def single(request: Any, context: Any) -> Any:
            try:
                return await behavior(request, context)
            except FootnoteError as error:
                await context.abort_with_status(rpc_status.to_status(to_proto(error)))

        return handler._replace(**{name: single})


@contextmanager
def served(servicer: ScriptedEdge) -> Iterator[str]:
    """Serve on an ephemeral port from a thread of its own, as commands run their own event loop; yield host:port."""
    ready: threading.Event = threading.Event()
    state: dict[str, Any] = {}

    async def main() -> None:
        server = grpc.aio.server(interceptors=[_Errors()])
        for add, _ in additions():
            add(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        state.update(address=f"127.0.0.1:{port}", loop=asyncio.get_running_loop(), stop=asyncio.Event())
        ready.set()
        await state["stop"].wait()
        await server.stop(0)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield state["address"]
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(10)
