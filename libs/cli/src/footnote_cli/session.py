"""A command's connection: a channel to the edge with identity, deadline, trace and error handling."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc.aio
from footnote.client import AsyncClient, FootnoteError, Retry
from footnote.client.connection import CALL_TIMEOUT, STREAM_TIMEOUT
from footnote.client.connection import connection as client_connection
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote_kit.edge import EdgeStub
from google.protobuf.message import Message
from rich.console import Console

from footnote_cli.addresses import is_starting
from footnote_cli.console import make_console
from footnote_cli.errors import CommandError, explain_failure, usage_error
from footnote_cli.telemetry import CommandTrace

# No retries: a user at a terminal sees a failure at once and can repeat the command.
_ONCE = Retry(attempts=1)

Reply = TypeVar("Reply", bound=Message)
Item = TypeVar("Item", bound=Message)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to call, and as which caller. `timeout` is seconds per call, None for defaults; `as_json` for machines."""

    address: str
    tenant: str = ""
    user: str = ""
    api_key: str = ""
    timeout: float | None = None
    as_json: bool = False


class Session:
    """One command's connection to the edge."""

    def __init__(self, connection: Connection, client: AsyncClient, telemetry: CommandTrace) -> None:
        self.connection = connection
        self.stub = EdgeStub(client.channel)
        self.telemetry = telemetry
        self.out: Console = make_console()
        self.err: Console = make_console(stderr=True)

    @property
    def as_json(self) -> bool:
        """Whether output is for machines."""
        return self.connection.as_json

    async def call(self, method: Callable[..., Any], request: Any, *, timeout: float = CALL_TIMEOUT) -> Any:
        """Make a call with a single answer; `request` may be an async iterator for uploads. Raises CommandError."""
        try:
            return await method(request, timeout=self.connection.timeout or timeout)
        except FootnoteError as failure:
            raise _explained(failure) from failure

    async def stream(
        self, method: Callable[..., Any], request: Any, *, timeout: float = STREAM_TIMEOUT
    ) -> AsyncIterator[Any]:
        """Make a call with a streamed answer; leaving the loop cancels it. Raises CommandError."""
        async with aclosing(method(request, timeout=self.connection.timeout or timeout)) as items:
            try:
                async for item in items:
                    yield item
            except FootnoteError as failure:
                raise _explained(failure) from failure


def _explained(failure: FootnoteError) -> CommandError:
    """Return the error for a failed call; an unreachable server may still be starting from this folder."""
    error = explain_failure(failure)
    if not failure.reason and failure.message.startswith("No server at") and is_starting():
        return CommandError("The server is still starting.", "Repeat the command in a few seconds.", code=error.code)
    return error


@asynccontextmanager
async def open_session(connection: Connection, name: str) -> AsyncIterator[Session]:
    """Open a channel for one command; everything inside is one trace whose root span is `name`."""
    telemetry = CommandTrace()
    try:
        client = AsyncClient(
            connection.address,
            api_key=connection.api_key,
            tenant=connection.tenant,
            user=connection.user,
            retry=_ONCE,
            headers=telemetry.headers,
        )
    except ValueError as error:
        raise usage_error(str(error), getattr(error, "hint", "")) from None
    async with client:
        try:
            with telemetry.root(name):
                yield Session(connection, client, telemetry)
        finally:
            await asyncio.to_thread(telemetry.close)


def open_channel(address: str) -> grpc.aio.Channel:
    """Return a plain channel to host:port, or to https://host:port with TLS, for RPCs outside of edge."""
    return client_connection(address, api_key="").open_aio()


def merge_spans(*groups: Sequence[TraceSpan]) -> list[TraceSpan]:
    """Return spans without duplicate ids: several stages in one process report the same ones."""
    return list({span.span_id: span for group in groups for span in group}.values())
