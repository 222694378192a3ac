"""`footnote eval runs` and `delete-run`: runs of golden questions that a collection keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from footnote.edge.v1.evaluations_pb2 import (
    DeleteEvaluationRunRequest,
    EvaluationCount,
    EvaluationGrade,
    EvaluationRun,
    ListEvaluationRunsRequest,
)
from footnote_kit.printable import printable_line

from footnote_cli.command import connected
from footnote_cli.console import print_json
from footnote_cli.listing import read_all, show_list
from footnote_cli.render.fitted import FittedTable
from footnote_cli.render.text import moment
from footnote_cli.session import Session
from footnote_cli.values import confirm


@connected("footnote eval runs")
async def runs(
    session: Session,
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Name of a collection.", show_default=False)],
) -> None:
    """List the runs that `eval answers --save` kept with a collection, newest first."""
    request = ListEvaluationRunsRequest(collection=collection)
    items = await read_all(session, session.stub.ListEvaluationRuns, request, "runs")
    none = "No runs are kept. Keep one: footnote eval answers QUESTIONS.jsonl -c COLLECTION --save"
    show_list(session, "runs", items, _table, none)


@connected("footnote eval delete-run")
async def delete_run(
    session: Session,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Delete a run that is kept with a collection."""
    await confirm("Delete this run?", yes)
    await session.call(session.stub.DeleteEvaluationRun, DeleteEvaluationRunRequest(run_id=run_id))
    if session.as_json:
        print_json({"deleted": run_id})
    else:
        session.out.print(f"Deleted {run_id}.")


def _table(items: Iterable[EvaluationRun]) -> FittedTable:
    table = FittedTable("When", "Asked", "Questions", "Grades", "By", "Id", optional=("By", "Questions"))
    for one in items:
        texts = (one.label, one.filename, _grades(one.counts), one.user_id, one.id)
        table.add_row(moment(one.create_time), *(printable_line(text) for text in texts))
    return table


def _grades(counts: Iterable[EvaluationCount]) -> str:
    words = ((one, EvaluationGrade.Name(one.grade).removeprefix("EVALUATION_GRADE_")) for one in counts)
    return ", ".join(f"{one.count} {word.replace('_', ' ').lower()}" for one, word in words)
