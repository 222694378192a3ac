"""`footnote health`, `footnote providers`, `footnote trace`: the state of the system and its recent work."""

from typing import Annotated

import typer
from footnote.edge.v1.providers_pb2 import ListProvidersRequest, ListProvidersResponse
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetHealthResponse
from footnote.types.v1 import provider_pb2

from footnote_cli.command import connected
from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import EXIT_FAILED, usage_error
from footnote_cli.render import tables
from footnote_cli.render.waterfall import Waterfall
from footnote_cli.session import Session
from footnote_cli.traces import fetch

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
    response = await fetch(session, cleaned)
    if session.as_json:
        print_json({"spans": [as_dict(span) for span in response.spans], "missing": list(response.missing)})
    else:
        session.out.print(Waterfall(response.spans, cleaned, response.missing))
