"""The client for threads, generated from `asynchronous.py`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from footnote_kit.edge import PATHS
from footnote_kit.errors import FootnoteError, Internal, Unavailable
from footnote_kit.status import from_proto

from footnote.client.asking import is_last, is_settled, question
from footnote.client.connection import CALL_TIMEOUT, STREAM_TIMEOUT, Headers, Metadata, connection
from footnote.client.failures import Closed, Unimplemented, failure_of
from footnote.client.repeating import Attempts, Retry, again, prepared
from footnote.client.sync_transport import (
    CallError,
    Ending,
    Requests,
    Stream,
    Transport,
    closing,
    each_off_the_loop,
    off_the_loop,
    opened,
    pause,
    response,
    responses,
)
from footnote.client.uploads import Content, Group, UploadResult, described, grouped, messages
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse
from footnote.edge.v1.answers_pb2_grpc import AnswersServiceStub
from footnote.edge.v1.audit_pb2_grpc import AuditServiceStub
from footnote.edge.v1.collections_pb2_grpc import CollectionsServiceStub
from footnote.edge.v1.conversations_pb2_grpc import ConversationsServiceStub
from footnote.edge.v1.documents_pb2 import (
    UploadDocumentResponse,
    UploadedFile,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentResponse,
)
from footnote.edge.v1.documents_pb2_grpc import DocumentsServiceStub
from footnote.edge.v1.evaluations_pb2_grpc import EvaluationsServiceStub
from footnote.edge.v1.keys_pb2_grpc import KeysServiceStub
from footnote.edge.v1.limits_pb2_grpc import LimitsServiceStub
from footnote.edge.v1.operations_pb2_grpc import OperationsServiceStub
from footnote.edge.v1.providers_pb2_grpc import ProvidersServiceStub
from footnote.edge.v1.sources_pb2_grpc import SourcesServiceStub
from footnote.edge.v1.system_pb2_grpc import SystemServiceStub
from footnote.edge.v1.tables_pb2_grpc import TablesServiceStub
from footnote.edge.v1.vectors_pb2_grpc import VectorsServiceStub


class Client:
    """A deployment's public API, for threads; many may share a client.

    `address` is HOST:PORT, or https://HOST:PORT with TLS; the default is FOOTNOTE_EDGE_ADDRESS, else 127.0.0.1:7100.
    The key is `api_key`, the line in `api_key_file`, FOOTNOTE_API_KEY, or the line in the file FOOTNOTE_API_KEY_FILE.
    `tenant` and `user` are only for servers without authentication. `timeout` and `stream_timeout` limit a call in
    seconds, retries included, unless the call sets its own. `ca_file`, `cert_file` and `key_file` are PEM files: the
    trusted authorities, and for mTLS the client's certificate and key. `headers` is called before each call and returns
    further metadata. Each call of a stub takes `timeout` and `metadata`, which replaces entries of the same names. A
    streamed one has `cancel`, for others than its reader: it ends the loop over it.

    The client connects at the first call. Failures are FootnoteErrors; that of a call whose client is closed is Closed.
    ValueError for contradictory options, and for a key, tenant or user that is not printable ASCII.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        api_key_file: str | Path | None = None,
        tenant: str = "",
        user: str = "",
        timeout: float = CALL_TIMEOUT,
        stream_timeout: float = STREAM_TIMEOUT,
        retry: Retry | None = None,
        headers: Headers | None = None,
        ca_file: str | Path | None = None,
        cert_file: str | Path | None = None,
        key_file: str | Path | None = None,
    ) -> None:
        self.connection = connection(
            address, api_key=api_key, api_key_file=api_key_file, tenant=tenant, user=user, timeout=timeout,
            stream_timeout=stream_timeout, retry=retry, headers=headers, ca_file=ca_file, cert_file=cert_file,
            key_file=key_file,
        )  # fmt: skip
        self._plain = opened(self.connection)
        self.channel = Channel(self._plain, self.connection)
        """The channel, for stubs that you make yourself: it adds deadlines, key, retries and typed errors."""
        once = Channel(self._plain, replace(self.connection, retry=Retry(attempts=1)))
        self._documents = DocumentsServiceStub(once)
        self._once = AnswersServiceStub(once)
        self.answers = AnswersServiceStub(self.channel)
        self.audit = AuditServiceStub(self.channel)
        self.collections = CollectionsServiceStub(self.channel)
        self.conversations = ConversationsServiceStub(self.channel)
        self.documents = DocumentsServiceStub(self.channel)
        self.evaluations = EvaluationsServiceStub(self.channel)
        self.keys = KeysServiceStub(self.channel)
        self.limits = LimitsServiceStub(self.channel)
        self.operations = OperationsServiceStub(self.channel)
        self.providers = ProvidersServiceStub(self.channel)
        self.sources = SourcesServiceStub(self.channel)
        self.system = SystemServiceStub(self.channel)
        self.tables = TablesServiceStub(self.channel)
        self.vectors = VectorsServiceStub(self.channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.connection.address!r})"

    def close(self) -> None:
        """Close the connection and end the calls in flight."""
        self._plain.close()

    def ask(
        self,
        asked: str | AskRequest,
        *,
        collections: Sequence[str] = (),
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> Iterator[AskResponse]:
        """Yield an answer's events as they arrive, `completed` last; leaving the loop cancels the call."""
        events = self.answers.Ask(question(asked, collections, conversation_id), timeout=timeout)
        with closing(events) as open_events:
            yield from open_events

    def answer(
        self,
        asked: str | AskRequest,
        *,
        collections: Sequence[str] = (),
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> AskCompleted:
        """Return a whole answer: text, footnotes, and parts that failed.

        Retries after a lost connection or service, even in the middle of the answer, since no part of it was returned
        yet.
        """
        request, repeatable = prepared(
            PATHS["Ask"], question(asked, collections, conversation_id), self.connection.retry
        )
        attempts = self._attempts(timeout, repeatable)
        while True:
            try:
                events = self._once.Ask(request, timeout=attempts.remaining())
                with closing(events) as open_events:
                    for event in open_events:
                        if is_last(event):
                            return event.completed
            except FootnoteError as failure:
                _wait(attempts, failure)
            else:
                raise Internal("The answer has no end")

    def upload(
        self,
        content: bytes | Path,
        *,
        collection: str = "",
        filename: str = "",
        metadata: UploadMetadata | None = None,
        timeout: float | None = None,
    ) -> UploadDocumentResponse:
        """Upload a file; it is accepted when this returns, and searchable when `watch` says so.

        A Path contains the file's name; bytes need a `filename`. OSError if the file cannot be read.
        """
        first = off_the_loop(described, content, collection, filename, metadata)
        attempts = self._attempts(timeout)
        while True:
            try:
                result: UploadDocumentResponse = self._documents.UploadDocument(
                    each_off_the_loop(messages(content, first)), timeout=attempts.remaining()
                )
            except FootnoteError as failure:
                _wait(attempts, failure)
            else:
                return result

    def upload_many(
        self,
        contents: Iterable[Content],
        *,
        collection: str = "",
        metadata: UploadMetadata | None = None,
        timeout: float | None = None,
    ) -> Iterator[UploadResult]:
        """Upload files, small ones many in a call, and yield what came of each; a file that is refused fails alone.

        Each is a Path, or a name with its bytes. `metadata` is about every file, and `timeout` limits each call. The
        results come as files are accepted: larger ones before small ones given earlier.
        """
        for group in each_off_the_loop(grouped(contents, collection, metadata)):
            if group.error is not None:
                yield UploadResult(group.contents[0], error=group.error)
            elif not group.requests:
                yield self._upload_alone(group.contents[0], collection, metadata, timeout)
            else:
                yield from self._upload_group(group, collection, timeout)

    def _upload_group(self, group: Group, collection: str, timeout: float | None) -> Iterator[UploadResult]:
        """Yield what came of each file; where the call fails, its error."""
        try:
            outcomes = self._outcomes(group, timeout)
        except Unimplemented:  # a server of an earlier release
            outcomes = [None] * len(group.contents)
        except FootnoteError as failure:
            for content in group.contents:
                yield UploadResult(content, error=failure)
            return
        for content, request, outcome in zip(group.contents, group.requests, outcomes, strict=True):
            if outcome is None:
                # The same request id: the file may be stored although its outcome is unknown.
                yield self._upload_alone(content, collection, request.metadata, timeout)
            else:
                stored = outcome.stored if outcome.HasField("stored") else None
                yield UploadResult(content, stored, None if stored else from_proto(outcome.error))

    def _outcomes(self, group: Group, timeout: float | None) -> list[UploadedFile | None]:
        """Return the outcome of each file of a call; None where the server could not say it."""
        attempts = self._attempts(timeout)
        while True:
            try:
                response = self._documents.UploadDocuments(
                    each_off_the_loop(group.requests), timeout=attempts.remaining()
                )
            except FootnoteError as failure:
                _wait(attempts, failure)
            else:
                return [
                    None if isinstance(from_proto(one.error), Unavailable) and not one.HasField("stored") else one
                    for one in response.files
                ]

    def _upload_alone(
        self, content: Content, collection: str, metadata: UploadMetadata | None, timeout: float | None
    ) -> UploadResult:
        source, name = (content, "") if isinstance(content, Path) else (content[1], content[0])
        try:
            response = self.upload(source, collection=collection, filename=name, metadata=metadata, timeout=timeout)
        except (FootnoteError, OSError) as error:
            return UploadResult(content, error=error)
        return UploadResult(content, response)

    def watch(self, document_id: str, *, timeout: float | None = None) -> Iterator[WatchDocumentResponse]:
        """Yield a document's changes until it is INDEXED, ERROR or deleted, reconnecting until `timeout`."""
        attempts = self._attempts(timeout, endless=True)
        request = WatchDocumentRequest(document_id=document_id)
        while True:
            try:
                events = self._documents.WatchDocument(request, timeout=attempts.remaining())
                with closing(events) as open_events:
                    for event in open_events:
                        attempts.reset()
                        yield event
                        if is_settled(event):
                            return
            except FootnoteError as failure:
                _wait(attempts, failure)

    def _attempts(self, timeout: float | None, repeatable: bool = True, *, endless: bool = False) -> Attempts:
        seconds = self.connection.stream_timeout if timeout is None else timeout
        return Attempts(self.connection.retry, repeatable, seconds, endless=endless)


def _wait(attempts: Attempts, failure: FootnoteError, cause: BaseException | None = None, sleep: Any = pause) -> None:
    """Wait before the next attempt; raise the failure if there is none."""
    seconds = attempts.pause(failure)
    if seconds is None:
        raise failure from (cause or failure.__cause__)
    sleep(seconds)


class Channel(Transport):
    """A channel for generated stubs whose calls have a deadline, the caller's key, retries and typed errors."""

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a unary method."""
        return self._answered(method, self._plain.unary_unary(method, *args, **kwargs))

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its requests; never retried, since they are consumed."""
        return self._answered(method, self._plain.stream_unary(method, *args, **kwargs), streams_requests=True)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its responses; retried only before the first response."""
        plain = self._plain.unary_stream(method, *args, **kwargs)

        def call(request: Any, timeout: float | None = None, metadata: Metadata = None) -> Stream:
            seconds = self._wiring.stream_timeout if timeout is None else timeout
            ending = Ending()
            return Stream(self._streamed(method, plain, request, seconds, metadata, ending), ending)

        return call

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: the public API has no bidirectional streams."""
        raise NotImplementedError(method)

    def _answered(self, method: str, plain: Callable[..., Any], *, streams_requests: bool = False) -> Any:
        wiring = self._wiring
        usual = wiring.stream_timeout if streams_requests else wiring.timeout

        def call(request: Any, timeout: float | None = None, metadata: Metadata = None) -> Any:
            sent, repeatable = (
                (Requests(request), False) if streams_requests else prepared(method, request, wiring.retry)
            )
            attempts = Attempts(wiring.retry, repeatable, usual if timeout is None else timeout)
            while True:
                try:
                    return response(plain, sent, attempts.remaining(), wiring.metadata(metadata))
                except CallError as error:
                    failure, cause = failure_of(error, wiring.address), error
                _wait(attempts, failure, cause)
                sent = again(sent, failure)

        return call

    def _streamed(
        self, method: str, plain: Callable[..., Any], request: Any, timeout: float, metadata: Metadata, ending: Ending
    ) -> Iterator[Any]:
        wiring = self._wiring
        sent, repeatable = prepared(method, request, wiring.retry)
        attempts, begun = Attempts(wiring.retry, repeatable, timeout), False
        while True:
            try:
                items = responses(plain, sent, attempts.remaining(), wiring.metadata(metadata), ending.began)
                with closing(items) as open_items:
                    for item in open_items:
                        begun = True
                        yield item
                return
            except CallError as error:
                failure, cause = failure_of(error, wiring.address, begun=begun), error
            except Closed:
                if ending.cancelled:
                    return
                raise
            if ending.cancelled:
                return
            if begun:
                raise failure from cause
            _wait(attempts, failure, cause, ending.pause)
