"""`footnote operations`: list, show, watch, cancel."""

from typing import Annotated, Any

import typer
from footnote.edge.v1 import operations_pb2
from footnote.edge.v1.operations_pb2 import (
    CancelOperationRequest,
    GetOperationRequest,
    ListOperationsRequest,
    Operation,
)

from footnote_cli.command import connected
from footnote_cli.console import print_json
from footnote_cli.errors import usage_error
from footnote_cli.listing import read_all, show_list
from footnote_cli.operating import exit_if_failed, follow_operation, kind_of, sentence_of, show_end, state_of
from footnote_cli.render import tables
from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.text import moment
from footnote_cli.session import Session

app = typer.Typer(
    no_args_is_help=True, help="Show, watch and cancel long-running operations: reindexing, deletion of collections."
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the operation.", show_default=False)]


@app.command("list")
@connected("footnote operations list")
async def list_(
    session: Session,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only of this kind: reindex_documents, sync_source, …")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Only in this state: queued, running, succeeded, failed, cancelled."),
    ] = None,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Only about this collection: name or id.")
    ] = "",
) -> None:
    """List the operations that you began, newest first; administrators see all of the tenant."""
    request = ListOperationsRequest(
        kinds=_values(operations_pb2.OperationKind, "OPERATION_KIND_", kind),
        states=_values(operations_pb2.OperationState, "OPERATION_STATE_", state),
        collection=collection,
    )
    items = await read_all(session, session.stub.ListOperations, request, "operations")
    show_list(session, "operations", items, _table, "There are no such operations.")


@app.command()
@connected("footnote operations show")
async def show(session: Session, operation_id: IdArgument) -> None:
    """Show one operation."""
    response = await session.call(session.stub.GetOperation, GetOperationRequest(operation_id=operation_id))
    _show(session, response.operation)


@app.command()
@connected("footnote operations watch")
async def watch(session: Session, operation_id: IdArgument) -> None:
    """Follow an operation to its end. With --json, one state a line."""
    last = await follow_operation(session, Operation(id=operation_id), lines=True)
    if session.as_json:
        exit_if_failed(last)
    else:
        show_end(session, last)


@app.command()
@connected("footnote operations cancel")
async def cancel(session: Session, operation_id: IdArgument) -> None:
    """Cancel an operation: it begins nothing more, and what is indexed stays."""
    response = await session.call(session.stub.CancelOperation, CancelOperationRequest(operation_id=operation_id))
    _show(session, response.operation)


def _values(enum: Any, prefix: str, words: list[str] | None) -> list[Any]:
    known = [name.removeprefix(prefix).lower() for name in enum.keys()[1:]]
    unknown = [word for word in words or () if word.lower() not in known]
    if unknown:
        raise usage_error(f"There is no '{unknown[0]}' here.", f"Choose from: {', '.join(known)}.")
    return [enum.Value(prefix + word.upper()) for word in words or ()]


def _table(items: list[Operation]) -> FittedTable:
    result = FittedTable(
        "What", "Collection", "State", "Documents", "Begun", "By", "Id",
        optional=("By", "Begun", "Collection"), whole=("Begun", "Id"),
    )  # fmt: skip
    for item in items:
        reached = f"{item.done + item.failed + item.skipped} of {item.total}"
        result.add_row(
            kind_of(item), item.collection or item.collection_id, state_of(item), reached,
            moment(item.create_time), item.owner_id, item.id,
        )  # fmt: skip
    return result


def _show(session: Session, operation: Operation) -> None:
    if session.as_json:
        print_json(operation)
        return
    values = {
        "id": operation.id,
        "what": kind_of(operation),
        "collection": operation.collection or operation.collection_id,
        "state": sentence_of(operation),
        "begun": moment(operation.create_time),
        "ended": moment(operation.end_time),
        "by": operation.owner_id,
    }
    session.out.print(tables.fields({name: value for name, value in values.items() if value}))
