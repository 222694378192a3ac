"""What the client promises its caller, against a real server whose answers are written here."""

import os
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from footnote.client import AsyncClient, Client, KeyProblem, NotFound, ResourceExhausted, Retry, Unavailable
from footnote.client.failures import Unreached
from footnote.client.repeating import again
from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import collections_pb2 as collections
from footnote.edge.v1 import documents_pb2 as documents
from footnote.edge.v1 import keys_pb2 as keys
from footnote.edge.v1 import operations_pb2 as operations
from footnote.edge.v1 import vectors_pb2 as vectors
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED, DOCUMENT_STATE_PROCESSING
from footnote_kit import errors
from footnote_kit.edge import METHODS
from footnote_kit.status import to_proto
from grpc_status import rpc_status
from support.certificates import Authority

BRIEF = Retry(attempts=4, first=0.01, longest=0.5)
BUSY = errors.ResourceExhausted("Too many calls", reason="RATE_LIMITED", retry_after=0.2)
DOWN = errors.Unavailable("The indexing service does not answer")
LOST = "as gRPC itself tells of a connection that ends"
FULL = errors.ResourceExhausted("The tenant is full", reason="QUOTA_EXCEEDED")


class Edge(grpc.GenericRpcHandler):
    """Answers each RPC with what was scripted for it, in order; the last stays."""

    def __init__(self) -> None:
        self.script: dict[str, list[Any]] = {}
        self.seen: list[tuple[str, Any, dict[str, Any], float]] = []
        self.at: list[float] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        name = handler_call_details.method.rpartition("/")[2]
        method = next(method for method in METHODS if method.name == name)
        kind = __import__(method.input_type._concrete_class.__module__, fromlist=["x"])
        request_type = getattr(kind, method.input_type.name)

        def step(request: Any, context: grpc.ServicerContext) -> Any:
            self.at.append(time.monotonic())
            self.seen.append((name, request, dict(context.invocation_metadata()), context.time_remaining()))
            steps = self.script[name]
            return steps.pop(0) if len(steps) > 1 else steps[0]

        def end(outcome: Any, context: grpc.ServicerContext) -> Any:
            if outcome is LOST:
                context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
            if isinstance(outcome, errors.FootnoteError):
                context.abort_with_status(rpc_status.to_status(to_proto(outcome)))
            return outcome

        def unary(request: Any, context: grpc.ServicerContext) -> Any:
            return end(step(request, context), context)

        def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            for item in step(request, context):
                yield end(item, context)

        def uploaded(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            return end(step(list(requests), context), context)

        maker, handler = (
            (grpc.stream_unary_rpc_method_handler, uploaded)
            if method.client_streaming
            else (grpc.unary_stream_rpc_method_handler, stream)
            if method.server_streaming
            else (grpc.unary_unary_rpc_method_handler, unary)
        )
        return maker(handler, request_type.FromString, lambda message: message.SerializeToString())


@contextmanager
def listening(edge: Edge, credentials: grpc.ServerCredentials | None = None) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((edge,))
    port = (
        server.add_secure_port("127.0.0.1:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
    )
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture
def edge() -> Edge:
    """Edge's double, whose answers a test scripts."""
    return Edge()


@pytest.fixture
def address(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where that double listens; no variable names another."""
    for name in ("FOOTNOTE_API_KEY", "FOOTNOTE_API_KEY_FILE", "FOOTNOTE_EDGE_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    with listening(edge) as where:
        yield where


class Both:
    """The same calls through either client."""

    def __init__(self, kind: str, address: str, **options: Any) -> None:
        self.kind, self.address, self.options = kind, address, {"retry": BRIEF, **options}

    async def call(self, noun: str, rpc: str, request: Any, **more: Any) -> Any:
        if self.kind == "async":
            async with AsyncClient(self.address, **self.options) as client:
                return await getattr(getattr(client, noun), rpc)(request, **more)
        with Client(self.address, **self.options) as client:
            return getattr(getattr(client, noun), rpc)(request, **more)

    async def items(self, method: str, *arguments: Any, **more: Any) -> list[Any]:
        if self.kind == "async":
            async with AsyncClient(self.address, **self.options) as client:
                return [item async for item in getattr(client, method)(*arguments, **more)]
        with Client(self.address, **self.options) as client:
            return list(getattr(client, method)(*arguments, **more))

    async def once(self, method: str, *arguments: Any, **more: Any) -> Any:
        if self.kind == "async":
            async with AsyncClient(self.address, **self.options) as client:
                return await getattr(client, method)(*arguments, **more)
        with Client(self.address, **self.options) as client:
            return getattr(client, method)(*arguments, **more)


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest, address: str) -> Both:
    """The client for threads, then the one for an event loop."""
    return Both(request.param, address)


GET = collections.GetCollectionRequest(collection="handbook")


async def test_every_call_has_a_deadline_and_a_key(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [collections.GetCollectionResponse()]
    both.options |= {"api_key": "fn_secret", "timeout": 7.0}
    await both.call("collections", "GetCollection", GET)
    await both.call("collections", "GetCollection", GET, timeout=2.0)
    (_, _, metadata, left), (*_, shorter) = edge.seen
    assert metadata["authorization"] == "Bearer fn_secret"
    assert 5 < left < 7.5, "gRPC rounds what is left"
    assert shorter < 2.5


async def test_a_call_may_bring_metadata_of_its_own(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [DOWN, collections.GetCollectionResponse()]
    both.options |= {"tenant": "acme", "user": "ann"}
    own = (("x-footnote-tenant", "rival"), ("x-request-id", "r1"))
    await both.call("collections", "GetCollection", GET, metadata=own)
    for _, _, metadata, _ in edge.seen:
        assert (
            metadata.items() >= {"x-footnote-tenant": "rival", "x-request-id": "r1", "x-footnote-user": "ann"}.items()
        )
    assert len(edge.seen) == 2


async def test_a_call_that_changes_nothing_is_repeated_and_waits_as_told(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [DOWN, BUSY, collections.GetCollectionResponse()]
    await both.call("collections", "GetCollection", GET)
    assert len(edge.seen) == 3
    assert edge.at[2] - edge.at[1] >= 0.2


async def test_a_wait_that_is_too_long_is_not_waited(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [errors.ResourceExhausted("Later", reason="RATE_LIMITED", retry_after=30)]
    with pytest.raises(ResourceExhausted) as caught:
        await both.call("collections", "GetCollection", GET)
    assert caught.value.retry_after == 30
    assert len(edge.seen) == 1


@pytest.mark.parametrize("outcome", [FULL, errors.NotFound("No such collection", reason="COLLECTION_NOT_FOUND")])
async def test_what_would_fail_again_is_not_repeated(both: Both, edge: Edge, outcome: errors.FootnoteError) -> None:
    edge.script["GetCollection"] = [outcome]
    with pytest.raises(type(outcome)) as caught:
        await both.call("collections", "GetCollection", GET)
    assert (caught.value.reason, len(edge.seen)) == (outcome.reason, 1)
    assert caught.value.hint


async def test_repeats_have_an_end(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [DOWN]
    with pytest.raises(Unavailable):
        await both.call("collections", "GetCollection", GET)
    assert len(edge.seen) == BRIEF.attempts


async def test_a_write_is_repeated_under_one_request_id(both: Both, edge: Edge) -> None:
    edge.script["CreateCollection"] = [DOWN, collections.CreateCollectionResponse()]
    request = collections.CreateCollectionRequest()
    await both.call("collections", "CreateCollection", request)
    first, second = (seen[1].request_id for seen in edge.seen)
    assert first == second != ""
    assert request.request_id == ""  # the caller's own is left as it was


async def test_a_key_is_not_asked_for_again_whose_secret_was_told(both: Both, edge: Edge) -> None:
    edge.script["CreateKey"] = [DOWN, keys.CreateKeyResponse()]
    with pytest.raises(Unavailable):
        await both.call("keys", "CreateKey", keys.CreateKeyRequest())
    assert len(edge.seen) == 1


async def test_a_deletion_that_is_repeated_may_have_happened(both: Both, edge: Edge) -> None:
    edge.script["DeleteDocument"] = [DOWN, documents.DeleteDocumentResponse()]
    request = documents.DeleteDocumentRequest(document_id="d")
    await both.call("documents", "DeleteDocument", request)
    assert [seen[1].allow_missing for seen in edge.seen] == [False, True]
    assert not request.allow_missing


async def test_a_deletion_that_was_refused_or_names_several_says_what_is_missing(both: Both, edge: Edge) -> None:
    edge.script["DeleteDocument"] = [BUSY, documents.DeleteDocumentResponse()]
    await both.call("documents", "DeleteDocument", documents.DeleteDocumentRequest(document_id="d"))
    edge.script["DeleteVectors"] = [DOWN, vectors.DeleteVectorsResponse()]
    await both.call("vectors", "DeleteVectors", vectors.DeleteVectorsRequest(collection="c", ids=["a", "typo"]))
    edge.script["DeleteCollection"] = [DOWN, BUSY, collections.DeleteCollectionResponse()]
    await both.call("collections", "DeleteCollection", collections.DeleteCollectionRequest(collection="c"))
    assert [seen[1].allow_missing for seen in edge.seen] == [False] * 5 + [True] * 2


def test_a_deletion_that_reached_no_server_says_what_is_missing() -> None:
    request = documents.DeleteDocumentRequest(document_id="d")
    assert not again(request, Unreached("No server")).allow_missing
    assert again(request, DOWN).allow_missing


async def test_a_change_of_a_version_is_not_repeated(both: Both, edge: Edge) -> None:
    for name, request in (
        ("UpdateDocument", documents.UpdateDocumentRequest(document_id="d", resource=documents.Document(etag="e"))),
        ("DeleteDocument", documents.DeleteDocumentRequest(document_id="d", etag="e")),
    ):
        edge.script[name] = [DOWN]
        edge.seen.clear()
        with pytest.raises(Unavailable):
            await both.call("documents", name, request)
        assert len(edge.seen) == 1


async def test_a_deadline_of_nothing_is_not_the_usual_one(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [collections.GetCollectionResponse()]
    with suppress(errors.DeadlineExceeded):
        await both.call("collections", "GetCollection", GET, timeout=0)
    assert all(left < 1 for *_, left in edge.seen)


async def test_a_refused_call_of_small_files_names_each_and_goes_on(both: Both, edge: Edge) -> None:
    stored = documents.UploadedFile(stored=documents.UploadDocumentResponse())
    later = errors.ResourceExhausted("Later", reason="RATE_LIMITED", retry_after=54)
    edge.script["UploadDocuments"] = [later, documents.UploadDocumentsResponse(files=[stored] * 6)]
    results = await both.items("upload_many", [(f"{n}.txt", b"x") for n in range(70)], collection="c")
    assert [result.error.reason if result.error else "" for result in results] == ["RATE_LIMITED"] * 64 + [""] * 6


async def test_a_watch_goes_on_until_its_time_is_up(both: Both, edge: Edge) -> None:
    end = documents.WatchDocumentResponse(document=documents.Document(state=DOCUMENT_STATE_INDEXED))
    edge.script["WatchDocument"] = [[DOWN]] * (BRIEF.attempts + 2) + [[end]]
    assert await both.items("watch", "d") == [end]


async def test_a_write_without_request_id_is_never_repeated(both: Both, edge: Edge) -> None:
    edge.script["CreateFeedback"] = [DOWN]
    with pytest.raises(Unavailable):
        await both.call("answers", "CreateFeedback", answers.CreateFeedbackRequest())
    assert len(edge.seen) == 1


async def test_ask_streams_and_begins_again_only_before_its_first_event(both: Both, edge: Edge) -> None:
    word, end = answers.AskResponse(text_delta="Yes"), answers.AskResponse(completed=answers.AskCompleted())
    edge.script["Ask"] = [[DOWN], [word, end]]
    assert await both.items("ask", "Why?", collections=["handbook"]) == [word, end]
    assert edge.seen[0][1].request_id == edge.seen[1][1].request_id != ""
    edge.script["Ask"] = [[word, DOWN], [word, end]]
    with pytest.raises(Unavailable):
        await both.items("ask", "Why?")
    assert len(edge.seen) == 3


async def test_a_whole_answer_is_asked_for_again_also_amid_it(both: Both, edge: Edge) -> None:
    word, end = answers.AskResponse(text_delta="Yes"), answers.AskResponse(completed=answers.AskCompleted(trace_id="t"))
    edge.script["Ask"] = [[DOWN], [word, DOWN], [word, end]]
    assert await both.once("answer", "Why?") == end.completed
    assert len({request.request_id for _, request, *_ in edge.seen} - {""}) == 1
    assert len(edge.seen) == 3


async def test_a_whole_answer_is_asked_for_once_where_that_was_said(both: Both, edge: Edge) -> None:
    both.options = {"retry": Retry(attempts=1)}
    edge.script["Ask"] = [[answers.AskResponse(text_delta="Yes"), DOWN]]
    with pytest.raises(Unavailable):
        await both.once("answer", "Why?")
    assert len(edge.seen) == 1


async def test_a_connection_lost_amid_an_answer_says_so_and_what_to_do(both: Both, edge: Edge) -> None:
    edge.script["Ask"] = [[answers.AskResponse(text_delta="Yes"), LOST]]
    with pytest.raises(Unavailable, match="lost amid the answer") as caught:
        await both.items("ask", "Why?")
    assert "request_id" in caught.value.hint
    assert len(edge.seen) == 1


async def test_an_upload_sends_its_bytes_again_under_one_request_id(both: Both, edge: Edge, tmp_path: Path) -> None:
    file = tmp_path / "leave.txt"
    file.write_bytes(b"x" * 300_000)
    done = documents.UploadDocumentResponse(document=documents.Document(id="d"))
    edge.script["UploadDocument"] = [DOWN, done]
    assert await both.once("upload", file, collection="handbook") == done
    (_, first, *_), (_, second, *_) = edge.seen
    assert first == second
    assert first[0].metadata.filename == "leave.txt"
    assert first[0].metadata.size_bytes == 300_000
    assert [len(part.data) for part in first[1:]] == [262_144, 300_000 - 262_144]


async def test_a_file_that_cannot_be_read_is_an_error_of_the_system_not_a_cancellation(
    both: Both, edge: Edge, tmp_path: Path
) -> None:
    edge.script["UploadDocument"] = [stored("never").stored]
    with pytest.raises(IsADirectoryError):  # found out when its parts are read, amid the call
        await both.once("upload", tmp_path, filename="folder.txt")


async def test_a_name_that_is_no_utf8_is_uploaded_with_what_can_be_read_of_it(
    both: Both, edge: Edge, tmp_path: Path
) -> None:
    old = tmp_path / os.fsdecode(b"caf\xe9.txt")
    old.write_bytes(b"Opens at nine.")
    edge.script["UploadDocument"] = [stored("alone").stored]
    edge.script["UploadDocuments"] = [documents.UploadDocumentsResponse(files=[stored("first"), stored("second")])]
    await both.once("upload", old)
    results = await both.items("upload_many", [old, ("b.txt", b"B.")])
    assert [one.response.document.id for one in results] == ["first", "second"]
    assert {call[0].metadata.filename for _, call, *_ in edge.seen} == {"caf\ufffd.txt"}


def stored(name: str) -> documents.UploadedFile:
    document = documents.Document(id=name, filename=name)
    return documents.UploadedFile(stored=documents.UploadDocumentResponse(document=document))


async def test_small_files_are_uploaded_many_in_a_call(both: Both, edge: Edge, tmp_path: Path) -> None:
    large, small = tmp_path / "large.txt", tmp_path / "small.txt"
    large.write_bytes(b"x" * 300_000)
    small.write_bytes(b"From a file.")
    contents = [*((f"{n}.txt", b"Text %d." % n) for n in range(64)), small, large, tmp_path / "missing.txt"]
    refused = documents.UploadedFile(error=to_proto(errors.InvalidArgument("Empty", reason="FILE_EMPTY")))
    first = [refused, *(stored(f"{n}") for n in range(1, 64))]
    edge.script["UploadDocuments"] = [
        DOWN,
        documents.UploadDocumentsResponse(files=first),
        documents.UploadDocumentsResponse(files=[stored("small")]),
    ]
    edge.script["UploadDocument"] = [stored("large").stored]
    results = await both.items("upload_many", contents, collection="handbook")
    by_content = {str(one.content): one for one in results}
    assert len(by_content) == len(contents)
    assert by_content[str(contents[0])].error.reason == "FILE_EMPTY"
    assert by_content[str(contents[1])].response.document.id == "1"
    assert by_content[str(small)].response.document.id == "small"
    assert by_content[str(large)].response.document.id == "large"
    assert isinstance(by_content[str(tmp_path / "missing.txt")].error, OSError)
    calls = [request for name, request, *_ in edge.seen if name == "UploadDocuments"]
    assert [len(call) for call in calls] == [64, 64, 1]
    assert calls[0] == calls[1]
    ids = {message.metadata.request_id for message in calls[0]}
    assert len(ids) == 64
    assert {message.metadata.collection for message in calls[0]} == {"handbook"}


async def test_what_fails_for_a_while_and_what_is_not_offered_is_uploaded_alone(both: Both, edge: Edge) -> None:
    contents = [("a.txt", b"A."), ("b.txt", b"B.")]
    waits = documents.UploadedFile(error=to_proto(errors.Unavailable("The parser was killed")))
    edge.script["UploadDocuments"] = [documents.UploadDocumentsResponse(files=[waits, stored("b")])]
    edge.script["UploadDocument"] = [stored("alone").stored]
    results = await both.items("upload_many", contents)
    assert [one.response.document.id for one in results] == ["alone", "b"]
    (_, group, *_), (name, alone, *_) = edge.seen
    assert name == "UploadDocument"
    assert alone[0].metadata == group[0].metadata  # under the same request id


async def test_a_watch_goes_on_until_the_document_is_settled(both: Both, edge: Edge) -> None:
    def event(state: int) -> documents.WatchDocumentResponse:
        return documents.WatchDocumentResponse(document=documents.Document(id="d", state=state))  # type: ignore[arg-type]

    working, done = event(DOCUMENT_STATE_PROCESSING), event(DOCUMENT_STATE_INDEXED)
    edge.script["WatchDocument"] = [[working, DOWN], [working], [working, done]]
    assert (await both.items("watch", "d"))[-1] == done
    assert len(edge.seen) == 3


async def test_an_operation_is_watched_to_its_end(both: Both, edge: Edge) -> None:
    edge.script["WatchOperation"] = [[operations.WatchOperationResponse()]]
    request = operations.WatchOperationRequest(operation_id="o")
    if both.kind == "async":
        async with AsyncClient(both.address, retry=BRIEF) as client:
            assert [item async for item in client.operations.WatchOperation(request)]
    else:
        with Client(both.address, retry=BRIEF) as plain:
            assert list(plain.operations.WatchOperation(request))
    assert edge.seen[0][3] > 60  # a stream's deadline, not a call's


def test_the_key_comes_from_argument_variable_or_file(
    edge: Edge, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge.script["GetCollection"] = [collections.GetCollectionResponse()]
    file = tmp_path / "key"
    file.write_text("fn_file\n")

    def sent(**options: Any) -> str:
        with Client(address, **options) as client:
            client.collections.GetCollection(GET)
        return str(edge.seen[-1][2].get("authorization", ""))

    assert sent() == ""
    monkeypatch.setenv("FOOTNOTE_API_KEY_FILE", str(file))
    assert sent() == "Bearer fn_file"
    monkeypatch.setenv("FOOTNOTE_API_KEY", "fn_variable")
    assert sent() == "Bearer fn_variable"
    assert sent(api_key_file=file) == "Bearer fn_file"
    assert sent(api_key="fn_argument") == "Bearer fn_argument"
    with pytest.raises(ValueError, match="both"):
        Client(address, api_key="a", api_key_file=file)
    file.write_text("two words")
    with pytest.raises(KeyProblem, match="does not hold a key") as caught:
        Client(address, api_key_file=file)
    assert "two words" not in str(caught.value)
    assert "fn_argument" not in repr(Client(address, api_key="fn_argument"))


async def test_tls_and_mtls(edge: Edge, tmp_path: Path) -> None:
    edge.script["GetCollection"] = [collections.GetCollectionResponse()]
    house = Authority(tmp_path, "house")
    server, caller = house.issue("server"), house.issue("caller")
    credentials = grpc.ssl_server_credentials(
        [(server["tls_key_file"].read_bytes(), server["tls_cert_file"].read_bytes())],
        house.file.read_bytes(),
        require_client_auth=True,
    )
    shown = {"cert_file": caller["tls_cert_file"], "key_file": caller["tls_key_file"]}
    with listening(edge, credentials) as where:
        for kind in ("sync", "async"):
            known = Both(kind, f"https://{where}", ca_file=house.file, **shown)
            await known.call("collections", "GetCollection", GET)
            nobody = Both(kind, f"https://{where}", ca_file=house.file, retry=Retry(attempts=1))
            with pytest.raises(Unavailable):
                await nobody.call("collections", "GetCollection", GET, timeout=5)
    with pytest.raises(ValueError, match="https://"):
        Client("127.0.0.1:1", ca_file=house.file)
    with pytest.raises(ValueError, match="belong together"):
        Client("https://127.0.0.1:1", cert_file=caller["tls_cert_file"])


async def test_nobody_there_is_told_in_words(both: Both) -> None:
    both.address, both.options = "127.0.0.1:1", {"retry": Retry(attempts=1)}
    with pytest.raises(Unavailable, match=r"No server at 127\.0\.0\.1:1") as caught:
        await both.call("collections", "GetCollection", GET, timeout=5)
    assert "footnote serve all" in caught.value.hint


async def test_a_missing_thing_is_its_own_class(both: Both, edge: Edge) -> None:
    edge.script["GetCollection"] = [errors.NotFound("No such collection", reason="COLLECTION_NOT_FOUND")]
    with pytest.raises(NotFound):
        await both.call("collections", "GetCollection", GET)
