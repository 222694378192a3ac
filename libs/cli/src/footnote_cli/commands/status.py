"""Commands about the caller, the system and its recent work: whoami, usage, health, probe, providers, trace."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import grpc
import grpc.aio
import typer
from footnote.edge.v1.providers_pb2 import ListProvidersRequest, ListProvidersResponse
from footnote.edge.v1.system_pb2 import (
    GetHealthRequest,
    GetHealthResponse,
    GetTraceRequest,
    GetTraceResponse,
    GetUsageRequest,
    GetUsageResponse,
    ListUserUsageRequest,
    WhoAmIRequest,
    WhoAmIResponse,
)
from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote.types.v1 import provider_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from footnote_cli.addresses import DEFAULT_ADDRESS, check_address
from footnote_cli.command import connected, run
from footnote_cli.console import as_dict, make_console, print_json
from footnote_cli.errors import EXIT_FAILED, CommandError, explain, usage_error
from footnote_cli.listing import read_all, show_list
from footnote_cli.render import tables
from footnote_cli.render import usage as drawn
from footnote_cli.render.progress import indexing_work
from footnote_cli.render.waterfall import Waterfall
from footnote_cli.session import Session, merge_spans, open_channel

_KINDS = ("embedding", "model", "reranker", "store")


@connected("footnote health")
async def health(session: Session) -> None:
    """Show the health of every service and of the vector store. Exit code 1 if one is down."""
    response: GetHealthResponse = await session.call(session.stub.GetHealth, GetHealthRequest())
    if session.as_json:
        print_json(response)
    else:
        if response.components:
            session.out.print(tables.health(response))
        for part in response.components:
            if part.detail:
                session.out.print(f"{part.name}: {part.detail}.")
        for line in indexing_work(response.indexing_work):
            session.out.print(f"{line}.")
        words = "Everything is healthy" if response.healthy else "Something is down"
        version = f", version {response.version}" if response.version else ""
        session.out.print(
            f"{words}: {session.connection.address}{version}.", style="green" if response.healthy else "red"
        )
        if not response.components:
            session.out.print("Set FOOTNOTE_API_KEY to see the health of each component.")
    if not response.healthy:
        raise typer.Exit(EXIT_FAILED)


@connected("footnote providers")
async def providers(
    session: Session,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only embedding, model, reranker or store.")] = "",
) -> None:
    """List the providers of embeddings, models, rerankers and stores."""
    if kind and kind.lower() not in _KINDS:
        raise usage_error(f"There is no kind '{kind}'.", f"Choose one of: {', '.join(_KINDS)}.")
    value = (
        provider_pb2.ProviderKind.Value(f"PROVIDER_KIND_{kind.upper()}")
        if kind
        else provider_pb2.PROVIDER_KIND_UNSPECIFIED
    )
    response: ListProvidersResponse = await session.call(session.stub.ListProviders, ListProvidersRequest(kind=value))
    if session.as_json:
        print_json(response)
    else:
        session.out.print(tables.providers(response.providers))
        for one in response.providers:
            if one.note:
                session.out.print(f"{one.id}: {one.note}.", markup=False)


@connected("footnote trace")
async def trace(
    session: Session,
    trace_id: Annotated[str, typer.Argument(metavar="ID", help="Trace id, 32 hexadecimal digits.", show_default=False)],
) -> None:
    """Show a recent trace: what each service did and how long it took."""
    cleaned = trace_id.strip().lower()
    if len(cleaned) != 32 or any(digit not in "0123456789abcdef" for digit in cleaned):
        raise usage_error(
            f"'{trace_id}' is not a trace id.",
            "It has 32 hexadecimal digits; `footnote ask` prints one under each answer.",
        )
    response = await fetch_trace(session, cleaned)
    if session.as_json:
        print_json({"spans": [as_dict(span) for span in response.spans], "missing": list(response.missing)})
    else:
        session.out.print(Waterfall(response.spans, cleaned, response.missing))


@connected("footnote whoami")
async def whoami(session: Session) -> None:
    """Show your identity, your key and your limits."""
    response: WhoAmIResponse = await session.call(session.stub.WhoAmI, WhoAmIRequest())
    if session.as_json:
        print_json(response)
    else:
        session.out.print(tables.fields(drawn.who(response)))


@connected("footnote usage")
async def usage(
    session: Session,
    by_user: Annotated[bool, typer.Option("--by-user", help="By user of the tenant; for administrators.")] = False,
) -> None:
    """Show your storage and today's usage, and your tenant's limits."""
    if by_user:
        users = await read_all(session, session.stub.ListUserUsage, ListUserUsageRequest(), "users")
        none = "No user has stored documents or used anything today."
        show_list(session, "users", users, drawn.users, none)
        return
    response: GetUsageResponse = await session.call(session.stub.GetUsage, GetUsageRequest())
    if session.as_json:
        print_json(response)
        return
    session.out.print(drawn.usage(response))
    session.out.print(drawn.day_end(response), style="dim")


def probe(
    address: Annotated[
        str, typer.Argument(metavar="HOST:PORT", envvar="FOOTNOTE_PROBE_ADDRESS", help="The service to ask.")
    ] = DEFAULT_ADDRESS,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")] = 3.0,
) -> None:
    """Check whether a service is ready. Exit code 0 if so, else 1."""

    async def body() -> None:
        async with open_channel(check_address(address)) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout)
            except grpc.aio.AioRpcError as error:
                raise explain(error, address) from error
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise CommandError(f"The service at {address} is not ready.", "Its log says what it waits for.")
        make_console().print(f"The service at {address} is ready.")

    run(body)


_ATTEMPTS = 10
_PAUSE = 0.1


async def fetch_trace(session: Session, trace_id: str) -> GetTraceResponse:
    """Return the stages' spans of a trace."""
    response: GetTraceResponse = await session.call(session.stub.GetTrace, GetTraceRequest(trace_id=trace_id))
    return response


async def own_waterfall(session: Session, trace_id: str) -> Waterfall:
    """Return the waterfall of the call this command has just made, its own root span included.

    The server records its outermost span just after the client has seen the end of the call. So the request is repeated
    until that span is there, for at most a second.
    """
    own = session.telemetry.spans()
    roots = {span.span_id for span in own}
    response = GetTraceResponse()
    for attempt in range(_ATTEMPTS):
        try:
            response = await fetch_trace(session, trace_id)
        except CommandError as error:
            if error.reason != "TRACE_NOT_FOUND" or attempt == _ATTEMPTS - 1:
                raise
        if any(span.parent_span_id in roots for span in response.spans):
            break
        await asyncio.sleep(_PAUSE)
    return Waterfall(merge_spans(response.spans, own), trace_id, _still_missing(response))


def _still_missing(response: GetTraceResponse) -> Sequence[str]:
    """Return the stages that did not answer and whose spans did not come from another stage either."""
    have = {_stage(span) for span in response.spans}
    return [stage for stage in response.missing if stage not in have]


def _stage(span: TraceSpan) -> str:
    return span.service.removeprefix("footnote-")
