"""Follows operations: long work that continues in the server."""

from collections.abc import AsyncIterator

import typer
from footnote.edge.v1 import operations_pb2
from footnote.edge.v1.operations_pb2 import Operation, WatchOperationRequest
from footnote_kit.printable import printable_line
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from footnote_cli.console import print_json
from footnote_cli.render.tables import enum_word
from footnote_cli.render.text import plural
from footnote_cli.session import Session

_TIMEOUT = 7200.0
_TITLES = {
    operations_pb2.OPERATION_KIND_REINDEX_DOCUMENTS: "Indexing again",
    operations_pb2.OPERATION_KIND_DELETE_COLLECTION: "Deleting",
    operations_pb2.OPERATION_KIND_SYNC_SOURCE: "Bringing into step",
    operations_pb2.OPERATION_KIND_DELETE_SOURCE: "Deleting",
}
_DONE = {
    operations_pb2.OPERATION_KIND_REINDEX_DOCUMENTS: "indexed again",
    operations_pb2.OPERATION_KIND_SYNC_SOURCE: "brought into step",
}


def state_of(operation: Operation) -> str:
    """Return an operation's state as a word."""
    return enum_word(operations_pb2.OperationState, operation.state)


def kind_of(operation: Operation) -> str:
    """Return what an operation does as a word."""
    return enum_word(operations_pb2.OperationKind, operation.kind)


def ended(operation: Operation) -> bool:
    """Return whether an operation has ended."""
    return operation.HasField("end_time")


async def moves(session: Session, operation_id: str) -> AsyncIterator[Operation]:
    """Yield an operation whenever it changes, until it ends, over as many streams as that takes."""
    last = Operation()
    while not ended(last):  # a stream lasts an hour at most
        request = WatchOperationRequest(operation_id=operation_id)
        async for update in session.stream(session.stub.WatchOperation, request, timeout=_TIMEOUT):
            last = update.operation
            yield last


async def follow_operation(session: Session, operation: Operation, *, lines: bool = False) -> Operation:
    """Return an operation when it has ended; until then a bar shows its progress if there is a screen.

    With `lines` and --json, every change is printed as one line.
    """
    bars = Bars(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=session.out,
        transient=True,
        disable=session.as_json or not session.out.is_terminal,
    )
    with bars:
        task = bars.add_task(_TITLES.get(operation.kind, "Working"), total=operation.total or None, state="")
        last = operation
        async for now in moves(session, operation.id):
            last = now
            reached = now.done + now.failed + now.skipped
            bars.update(task, total=now.total or None, completed=reached, state=state_of(now))
            if lines and session.as_json:
                print_json(now, line=True)
    return last


def sentence_of(operation: Operation) -> str:
    """Return an operation's state as one sentence."""
    of = "item" if operation.kind == operations_pb2.OPERATION_KIND_SYNC_SOURCE else "document"
    done = f"{plural(operation.done, of)} {_DONE.get(operation.kind, 'deleted')}"
    parts = [done]
    if chunks := operation.delete_collection.chunks_deleted:
        parts.append(plural(chunks, "chunk"))
    if operation.failed:
        parts.append(f"{operation.failed} failed")
    if operation.skipped:
        parts.append(f"{operation.skipped} left out")
    if not ended(operation):
        parts.append(f"of {operation.total}" if operation.total else "to be counted")
    words = ", ".join(parts)
    return f"{state_of(operation)}: {words}" + (f". {operation.error.message}" if operation.error.message else "")


def show_end(session: Session, operation: Operation) -> None:
    """Print an operation's state; the command fails if the operation or one of its documents has failed."""
    if session.as_json:
        print_json(operation)
    else:
        session.out.print(printable_line(f"{sentence_of(operation)[:1].upper()}{sentence_of(operation)[1:]}"))
        if not ended(operation):
            session.out.print(f"See how far it is: footnote operations watch {operation.id}", soft_wrap=True)
    exit_if_failed(operation)


def exit_if_failed(operation: Operation) -> None:
    """End the command with 1 if the operation or one of its documents has failed."""
    bad = (operations_pb2.OPERATION_STATE_FAILED, operations_pb2.OPERATION_STATE_CANCELLED)
    if operation.failed or operation.state in bad:
        raise typer.Exit(1)
