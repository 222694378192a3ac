"""The story that every language's client tells against a live deployment: see ../README.md.

Run with the folder of the code that grpcio-tools generated on the path; nothing of this project's own packages.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import grpc
from footnote.edge.v1 import (
    answers_pb2,
    answers_pb2_grpc,
    collections_pb2,
    collections_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
)
from footnote.types.v1 import answer_pb2, collection_pb2, document_pb2
from google.rpc import error_details_pb2
from grpc_status import rpc_status

NAME = "polyglot-python"
TEXT = b"# Leave\n\nEvery employee has 27 days of paid leave a year.\n"


class Key(
    grpc.UnaryUnaryClientInterceptor,  # type: ignore[misc]
    grpc.UnaryStreamClientInterceptor,  # type: ignore[misc]
    grpc.StreamUnaryClientInterceptor,  # type: ignore[misc]
):
    """Sends the key with each call."""

    def _call(self, proceed: Any, details: Any, request: Any) -> Any:
        sent = [*(details.metadata or ()), ("authorization", f"Bearer {os.environ['FOOTNOTE_API_KEY']}")]
        return proceed(Details(details.method, details.timeout, sent, details.credentials), request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_unary = _call


class Details(NamedTuple):
    """How a call is made."""

    method: str
    timeout: float | None
    metadata: list[tuple[str, str]]
    credentials: Any


def main() -> None:
    """Tell the story; an assertion fails where it does not hold."""
    with grpc.insecure_channel(os.environ["FOOTNOTE_ADDRESS"]) as plain:
        channel = grpc.intercept_channel(plain, Key())
        collections = collections_pb2_grpc.CollectionsServiceStub(channel)
        documents = documents_pb2_grpc.DocumentsServiceStub(channel)
        answers = answers_pb2_grpc.AnswersServiceStub(channel)
        wanted = collection_pb2.Collection(name=NAME)
        collections.CreateCollection(collections_pb2.CreateCollectionRequest(collection=wanted))
        print("create")
        document = documents.UploadDocument(upload()).document
        print("upload")
        for event in documents.WatchDocument(documents_pb2.WatchDocumentRequest(document_id=document.id)):
            document = event.document
        assert document.state == document_pb2.DOCUMENT_STATE_INDEXED, document
        print("watch")
        (found,) = answers.Search(answers_pb2.SearchRequest(query="paid leave", collections=[NAME])).chunks
        assert "27 days" in found.chunk.text
        print("search")
        ask(answers)
        print("ask")
        failure(collections)
        print("error")
        cancelled(documents)
        print("cancel")
        documents.DeleteDocument(documents_pb2.DeleteDocumentRequest(document_id=document.id))
        collections.DeleteCollection(collections_pb2.DeleteCollectionRequest(collection=NAME))
        print("delete")


def upload() -> Iterator[Any]:
    """Yield the messages of an upload."""
    head = documents_pb2.UploadMetadata(collection=NAME, filename="leave.md", tags=["python"])
    yield documents_pb2.UploadDocumentRequest(metadata=head)
    yield documents_pb2.UploadDocumentRequest(data=TEXT[:20])
    yield documents_pb2.UploadDocumentRequest(data=TEXT[20:])


def ask(answers: Any) -> None:
    """Ask and read the footnote."""
    question = "How many days of paid leave does every employee have?"
    events = list(answers.Ask(answers_pb2.AskRequest(question=question, collections=[NAME])))
    assert "27 days" in "".join(event.text_delta for event in events)
    (citation,) = events[-1].completed.answer.citations
    assert citation.support == answer_pb2.VERDICT_SUPPORTED, citation
    assert citation.locator.lines.first_line == 3, citation


def failure(collections: Any) -> None:
    """Decode an error."""
    failed: Any = None
    try:
        collections.GetCollection(collections_pb2.GetCollectionRequest(collection="there-is-none"))
    except grpc.RpcError as error:
        failed = error
    assert failed.code() == grpc.StatusCode.NOT_FOUND
    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in rpc_status.from_call(failed).details)
    assert (info.domain, info.reason) == ("footnote.types.v1", "COLLECTION_NOT_FOUND")


def cancelled(documents: Any) -> None:
    """Cancel a stream."""
    call = documents.WatchDocuments(documents_pb2.WatchDocumentsRequest(collection=NAME))
    next(call)
    call.cancel()
    ended: Any = None
    try:
        for _ in call:
            pass
    except grpc.RpcError as error:
        ended = error
    assert ended.code() == grpc.StatusCode.CANCELLED


main()
