"""What a command talks through: a channel to the edge with identity, deadline, trace and errors seen to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import grpc
import grpc.aio
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote_kit.edge import EdgeStub
from footnote_kit.ending import Ending
from google.protobuf.message import Message
from rich.console import Console

from footnote_cli.console import make_console
from footnote_cli.errors import explain
from footnote_cli.telemetry import CommandTrace

CALL_TIMEOUT = 60.0
# Models may write for minutes.
STREAM_TIMEOUT = 600.0
_MAX_MESSAGE = 64 * 1024 * 1024

Reply = TypeVar("Reply", bound=Message)
Item = TypeVar("Item", bound=Message)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to call and as whom. `timeout` is seconds a call, None for what suits it; `as_json` is for machines."""

    address: str
    tenant: str = ""
    user: str = ""
    api_key: str = ""
    timeout: float | None = None
    as_json: bool = False


class _Stream(Protocol):
    """A call that streams its response."""

    def __aiter__(self) -> AsyncIterator[Any]: ...
    def cancel(self) -> bool: ...


class Session:
    """One command's conversation with the edge."""

    def __init__(self, connection: Connection, channel: grpc.aio.Channel, telemetry: CommandTrace) -> None:
        self.connection = connection
        self.stub = EdgeStub(channel)
        self.telemetry = telemetry
        self.out: Console = make_console()
        self.err: Console = make_console(stderr=True)

    @property
    def as_json(self) -> bool:
        """Whether output is for machines."""
        return self.connection.as_json

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call: identity and trace."""
        connection = self.connection
        entries = self.telemetry.headers()
        if connection.api_key:
            entries.append(("authorization", f"Bearer {connection.api_key}"))
        if connection.tenant:
            entries.append(("x-footnote-tenant", connection.tenant))
        if connection.user:
            entries.append(("x-footnote-user", connection.user))
        return tuple(entries)

    async def call(self, method: Callable[..., Any], request: Any, *, timeout: float = CALL_TIMEOUT) -> Any:
        """Make one call that is answered once; `request` may be an async iterator for uploads. Raises CommandError."""
        rpc = method(request, timeout=self.connection.timeout or timeout, metadata=self.metadata())
        ending = Ending(rpc)
        try:
            return await rpc
        except grpc.aio.AioRpcError as error:
            raise explain(await ending.of(error), self.connection.address) from error

    async def stream(
        self, method: Callable[..., Any], request: Any, *, timeout: float = STREAM_TIMEOUT
    ) -> AsyncIterator[Any]:
        """Make one call whose answer is a stream; leaving the loop cancels it. Raises CommandError."""
        call: _Stream = method(request, timeout=self.connection.timeout or timeout, metadata=self.metadata())
        try:
            async for item in call:
                yield item
        except grpc.aio.AioRpcError as error:
            raise explain(error, self.connection.address) from error
        finally:
            call.cancel()


@asynccontextmanager
async def open_session(connection: Connection, name: str) -> AsyncIterator[Session]:
    """Open a channel for one command; everything inside is one trace whose root span is `name`."""
    telemetry = CommandTrace()
    async with open_channel(connection.address) as channel:
        try:
            with telemetry.root(name):
                yield Session(connection, channel, telemetry)
        finally:
            await asyncio.to_thread(telemetry.close)


def open_channel(address: str) -> grpc.aio.Channel:
    """Return a channel to host:port, or to https://host:port with TLS."""
    options: Sequence[tuple[str, Any]] = (
        ("grpc.max_receive_message_length", _MAX_MESSAGE),
        # A server that has just been started is found within a second rather than after gRPC's default back-off.
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 1000),
        # A watch may be silent for long: routers must not forget the connection, and a server that vanished is noticed.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_http_proxy", 0),
    )
    if address.startswith("https://"):
        return grpc.aio.secure_channel(address.removeprefix("https://"), grpc.ssl_channel_credentials(), options)
    return grpc.aio.insecure_channel(address.removeprefix("http://"), options)


def merge_spans(*groups: Sequence[TraceSpan]) -> list[TraceSpan]:
    """Return spans each once by id: several stages in one process report the same ones."""
    return list({span.span_id: span for group in groups for span in group}.values())
