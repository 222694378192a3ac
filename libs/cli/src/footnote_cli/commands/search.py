"""`footnote search`: shows the passages that match best, without an answer."""

from pathlib import Path
from typing import Annotated

import typer
from footnote.edge.v1.answers_pb2 import SearchRequest, SearchResponse
from footnote.types.v1 import collection_pb2

from footnote_cli.command import connected
from footnote_cli.commands.status import own_waterfall
from footnote_cli.console import as_dict, print_json
from footnote_cli.errors import usage_error
from footnote_cli.render import answer, reasons, tables
from footnote_cli.session import Session
from footnote_cli.values import parse_filter, read_vector

_STRATEGIES = {
    "auto": collection_pb2.SEARCH_STRATEGY_AUTO,
    "vector": collection_pb2.SEARCH_STRATEGY_VECTOR,
    "fulltext": collection_pb2.SEARCH_STRATEGY_FULLTEXT,
    "hybrid": collection_pb2.SEARCH_STRATEGY_HYBRID,
}


@connected("footnote search")
async def search(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    collection: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            help="Search this collection; may be given several times. Default: every visible one.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", min=0, max=100, help="Passages to show; 0 leaves it to the collection."
        ),
    ] = 0,
    page_token: Annotated[
        str, typer.Option("--page-token", metavar="TOKEN", help="Continue after a page, by the token that it printed.")
    ] = "",
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help="auto, vector, fulltext or hybrid; empty leaves it to the collection.")
    ] = "",
    dense_weight: Annotated[
        float | None, typer.Option(metavar="0..1", min=0, max=1, help="Weight of the vectors against the words.")
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(metavar="0..1", min=0, max=1, help="Leave out passages scoring below; 0 leaves out none."),
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", metavar="ID", help="Only in this document, by id; repeatable.")
    ] = None,
    filter_: Annotated[
        str,
        typer.Option(
            "--filter", metavar="JSON", help='Only passages with this metadata, as JSON: {"year": {"$gte": 2024}}.'
        ),
    ] = "",
    vector: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Search by this vector, a JSON list of numbers, beside the words of the query, which may be empty.",
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what made each score.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show where the time went, span by span.")] = False,
) -> None:
    """Find the passages that best match a query."""
    if not query.strip() and vector is None:
        raise usage_error("The query is empty.", 'Search like this: footnote search "travel allowance"')
    if strategy and strategy.lower() not in _STRATEGIES:
        raise usage_error(f"There is no strategy '{strategy}'.", f"Choose one of: {', '.join(_STRATEGIES)}.")
    request = SearchRequest(query=query, page_token=page_token, filter=parse_filter(filter_), explain=explain)
    request.collections.extend(collection or ())
    request.document_ids.extend(document or ())
    request.query_vector.extend(read_vector(vector) if vector is not None else ())
    if limit:
        request.settings.limit = limit
    if min_score is not None:
        request.settings.min_score = min_score
    if strategy:
        request.settings.strategy = _STRATEGIES[strategy.lower()]
    if dense_weight is not None:
        request.settings.dense_weight = dense_weight
    response: SearchResponse = await session.call(session.stub.Search, request)
    waterfall = await own_waterfall(session, response.trace_id) if trace else None
    if session.as_json:
        result = as_dict(response)
        if waterfall is not None:
            result["spans"] = [as_dict(span) for span in waterfall.spans]
        print_json(result)
        return
    _print(session, response, explain)
    if waterfall is not None:
        session.out.print()
        session.out.print(waterfall)


def _print(session: Session, response: SearchResponse, explain: bool) -> None:
    out = session.out
    if response.chunks:
        out.print(tables.search_results(response.chunks))
    else:
        out.print("Nothing found.")
    if response.next_page_token:
        out.print(f"More: --page-token {response.next_page_token}", markup=False, soft_wrap=True)
    if explain and response.chunks:
        out.print(tables.explanation(response.chunks))
    for notice in answer.notices(response.degradations):
        out.print(notice, soft_wrap=True)
    word = tables.enum_word(collection_pb2.SearchStrategy, response.strategy)
    why = reasons.strategy_choice(response.strategy_choice)
    parts = [word + (f" ({why})" if why else "")]
    if response.query_language:
        parts.append(f"language {response.query_language}")
    parts.append(f"{response.total_candidates} candidates")
    out.print(" · ".join(part for part in parts if part), style="dim", soft_wrap=not out.is_terminal)
    if response.trace_id:
        out.print(f"trace {response.trace_id}", style="dim", soft_wrap=True)
