"""The client for threads, generated from `asynchronous.py`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from footnote_kit.edge import PATHS
from footnote_kit.errors import FootnoteError, Internal

from footnote.client.asking import is_last, is_settled, question
from footnote.client.connection import CALL_TIMEOUT, STREAM_TIMEOUT, Headers, connection
from footnote.client.failures import failure_of
from footnote.client.repeating import Attempts, Retry, prepared
from footnote.client.sync_transport import (
    CallError,
    Transport,
    closing,
    each_off_the_loop,
    off_the_loop,
    opened,
    pause,
    response,
)
from footnote.client.uploads import described, messages
from footnote.edge.v1.answers_pb2 import AskCompleted, AskRequest, AskResponse
from footnote.edge.v1.answers_pb2_grpc import AnswersServiceStub
from footnote.edge.v1.collections_pb2_grpc import CollectionsServiceStub
from footnote.edge.v1.conversations_pb2_grpc import ConversationsServiceStub
from footnote.edge.v1.documents_pb2 import (
    UploadDocumentResponse,
    UploadMetadata,
    WatchDocumentRequest,
    WatchDocumentResponse,
)
from footnote.edge.v1.documents_pb2_grpc import DocumentsServiceStub
from footnote.edge.v1.keys_pb2_grpc import KeysServiceStub
from footnote.edge.v1.operations_pb2_grpc import OperationsServiceStub
from footnote.edge.v1.providers_pb2_grpc import ProvidersServiceStub
from footnote.edge.v1.system_pb2_grpc import SystemServiceStub
from footnote.edge.v1.vectors_pb2_grpc import VectorsServiceStub


class Client:
    """A deployment's public API, for threads: many may share one client.

    `address` is HOST:PORT, or https://HOST:PORT with TLS; left out, FOOTNOTE_EDGE_ADDRESS, else 127.0.0.1:7100. The key
    is `api_key`, or the line in `api_key_file`, or FOOTNOTE_API_KEY, or the line in the file of FOOTNOTE_API_KEY_FILE;
    `tenant` and `user` are only for servers that ask for no key. `timeout` and `stream_timeout` are the seconds of a
    call unless it says its own, repeats and pauses included. `ca_file`, `cert_file` and `key_file` are PEM files: whom
    to trust, and with mTLS who calls. `headers` is asked for more metadata before each call.

    Nothing is connected before the first call. Failures are FootnoteErrors. ValueError for options that contradict.
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
        """For stubs of one's own: deadlines, key, repeats and errors are seen to."""
        once = Channel(self._plain, replace(self.connection, retry=Retry(attempts=1)))
        self._documents = DocumentsServiceStub(once)
        self._once = AnswersServiceStub(once)
        self.answers = AnswersServiceStub(self.channel)
        self.collections = CollectionsServiceStub(self.channel)
        self.conversations = ConversationsServiceStub(self.channel)
        self.documents = DocumentsServiceStub(self.channel)
        self.keys = KeysServiceStub(self.channel)
        self.operations = OperationsServiceStub(self.channel)
        self.providers = ProvidersServiceStub(self.channel)
        self.system = SystemServiceStub(self.channel)
        self.vectors = VectorsServiceStub(self.channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.connection.address!r})"

    def close(self) -> None:
        """End the connection and the calls in flight."""
        self._plain.close()

    def ask(
        self,
        asked: str | AskRequest,
        *,
        collections: Sequence[str] = (),
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> Iterator[AskResponse]:
        """Yield an answer's events as they come, `completed` last; leaving the loop cancels."""
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
        """Return a whole answer: text, footnotes, what did not work.

        Asked again where the connection or a service is lost, also amid the answer, of which nothing was shown yet.
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
        """Upload a file's bytes; it is accepted once this returns, and searchable when `watch` says so.

        A Path names the file itself; bytes need a `filename`. OSError where the file cannot be read.
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

    def watch(self, document_id: str, *, timeout: float | None = None) -> Iterator[WatchDocumentResponse]:
        """Yield a document's changes until it is INDEXED, ERROR or deleted, over as many connections as it takes."""
        attempts = self._attempts(timeout)
        request = WatchDocumentRequest(document_id=document_id)
        while True:
            try:
                events = self._documents.WatchDocument(request, timeout=attempts.remaining())
                with closing(events) as open_events:
                    for event in open_events:
                        attempts.begun_anew()
                        yield event
                        if is_settled(event):
                            return
            except FootnoteError as failure:
                _wait(attempts, failure)

    def _attempts(self, timeout: float | None, repeatable: bool = True) -> Attempts:
        return Attempts(self.connection.retry, repeatable, timeout or self.connection.stream_timeout)


def _wait(attempts: Attempts, failure: FootnoteError, cause: BaseException | None = None) -> None:
    """Wait before the next attempt; raise the failure when there is none."""
    seconds = attempts.pause(failure)
    if seconds is None:
        raise failure from (cause or failure.__cause__)
    pause(seconds)


class Channel(Transport):
    """A channel for generated stubs whose calls have a deadline, the caller's key, repeats and typed errors."""

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a unary method."""
        return self._answered(method, self._plain.unary_unary(method, *args, **kwargs))

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its requests; it is never repeated, for they are spent."""
        return self._answered(method, self._plain.stream_unary(method, *args, **kwargs), streams_requests=True)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method that streams its responses; repeated only before the first of them."""
        plain = self._plain.unary_stream(method, *args, **kwargs)

        def call(request: Any, timeout: float | None = None) -> Iterator[Any]:
            return self._streamed(method, plain, request, timeout or self._wiring.stream_timeout)

        return call

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the public API has no method that streams both ways."""
        raise NotImplementedError(method)

    def _answered(self, method: str, plain: Callable[..., Any], *, streams_requests: bool = False) -> Any:
        wiring = self._wiring
        usual = wiring.stream_timeout if streams_requests else wiring.timeout

        def call(request: Any, timeout: float | None = None) -> Any:
            sent, repeatable = (request, False) if streams_requests else prepared(method, request, wiring.retry)
            attempts = Attempts(wiring.retry, repeatable, timeout or usual)
            while True:
                try:
                    return response(plain, sent, attempts.remaining(), wiring.metadata())
                except CallError as error:
                    failure, cause = failure_of(error, wiring.address), error
                _wait(attempts, failure, cause)

        return call

    def _streamed(self, method: str, plain: Callable[..., Any], request: Any, timeout: float) -> Iterator[Any]:
        wiring = self._wiring
        sent, repeatable = prepared(method, request, wiring.retry)
        attempts, begun = Attempts(wiring.retry, repeatable, timeout), False
        while True:
            call = plain(sent, timeout=attempts.remaining(), metadata=wiring.metadata())
            try:
                for item in call:
                    begun = True
                    yield item
                return
            except CallError as error:
                failure, cause = failure_of(error, wiring.address, begun=begun), error
            finally:
                call.cancel()
            if begun:
                raise failure from cause
            _wait(attempts, failure, cause)
