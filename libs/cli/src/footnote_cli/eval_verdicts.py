"""`footnote eval verdicts`: measures the reliability of SUPPORTED through the real service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote_kit.errors import FootnoteError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from footnote_cli.console import make_console, print_json
from footnote_cli.evaluation.dataset import DatasetError
from footnote_cli.evaluation.judging import RULES, Judged, judge
from footnote_cli.evaluation.statements import Statement, load
from footnote_cli.evaluation.verdicts import changes, figures, grouped, reliability
from footnote_cli.render.figures import FigureTable
from footnote_cli.supervise import StartError

_COLUMNS = {
    "statements": "statements",
    "precision": "precision",
    "recall": "recall (true → SUPPORTED)",
    "false_supported": "false → SUPPORTED",
    "partly_supported": "partly → SUPPORTED",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC of the order",
    "auc_scores": "AUC with scores",
}


def verdicts(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="JSON lines, or a folder with claims.jsonl.")],
    reader: Annotated[
        list[str] | None,
        typer.Option(
            help="Run also with this second reader, as FOOTNOTE_GENERATION_VERIFIER names it: model, "
            "model:PROVIDER:MODEL, nli:FOLDER, PROVIDER:MODEL; repeatable."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all results, per statement too, as JSON.")] = False,
    compare: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Compare with what --json printed earlier.")
    ] = None,
) -> None:
    """Judge statements against their sources, and report how far the verdicts can be trusted."""
    console = make_console(pipe_width=170)
    progress = make_console(stderr=True)
    try:
        statements = load(dataset)
        before = json.loads(compare.read_text(encoding="utf-8-sig")) if compare else None
        if before is not None and not (isinstance(before, dict) and isinstance(before.get("runs"), list)):
            raise DatasetError(f"{compare} is not what `footnote eval verdicts --json` prints")
        runs = [
            _record(statements, name, asyncio.run(_judged(progress, statements, name)))
            for name in dict.fromkeys([RULES, *(reader or ())])
        ]
    except (DatasetError, OSError, ValueError, FootnoteError, StartError) as error:
        progress.print(str(error), style="red")
        raise typer.Exit(1) from None
    result: dict[str, Any] = {"dataset": dataset.name, "runs": runs}
    if before is not None:
        result["compared"] = _compared(statements, before["runs"], runs)
    if as_json:
        print_json(result)
        return
    _print(console, result)


async def _judged(console: Console, statements: Sequence[Statement], reader: str) -> Judged:
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(f"{len(statements)} statements, {reader}", total=len(statements))
        return await judge(statements, reader, lambda done: progress.advance(bar, done))


def _record(statements: Sequence[Statement], reader: str, judged: Judged) -> dict[str, Any]:
    """Return the record of a run: in total, by kind, by language, by score, and each verdict."""
    return {
        "reader": reader,
        "figures": figures(statements, judged.verdicts),
        "by_kind": grouped(statements, judged.verdicts, "kind"),
        "by_language": grouped(statements, judged.verdicts, "language"),
        "reliability": reliability(statements, judged.verdicts),
        "tokens": judged.usage.prompt_tokens + judged.usage.completion_tokens,
        "degradations": judged.degraded,
        "verdicts": {
            one.id: {
                "label": one.label,
                "verdict": judged.verdicts[one.id].verdict,
                "score": round(judged.verdicts[one.id].score, 4),
                "reason": judged.verdicts[one.id].reason,
            }
            for one in statements
        },
    }


def _compared(
    statements: Sequence[Statement], before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    labels = {one.id: one.label for one in statements}
    earlier = {run["reader"]: run for run in before}
    found = []
    for run in after:
        if run["reader"] not in earlier:
            continue
        old = earlier[run["reader"]]
        was, now = ({id: one["verdict"] for id, one in each["verdicts"].items()} for each in (old, run))
        shared, better, worse = changes(labels, was, now)
        differences = {
            name: [old["figures"].get(name), run["figures"][name]] for name in _COLUMNS if name != "statements"
        }
        found.append(
            {"reader": run["reader"], "shared": shared, "better": better, "worse": worse, "figures": differences}
        )
    return found


def _print(console: Console, result: Mapping[str, Any]) -> None:
    for run in result["runs"]:
        table = FigureTable(f"{result['dataset']}, read by {run['reader']}", ("", *_COLUMNS.values()))
        table.add_row("all", *_cells(run["figures"]), style="bold")
        for name, one in (*run["by_kind"].items(), *run["by_language"].items()):
            table.add_row(name, *_cells(one))
        console.print(table)
        console.print(_reliability(run))
        if run["tokens"]:
            console.print(f"{run['reader']}: {run['tokens']} tokens")
        for what, count in run["degradations"].items():
            console.print(f"{run['reader']}: {count} calls with {what}", style="yellow")
    for one in result.get("compared", ()):
        console.print(f"Against the earlier run, {one['reader']}: {one['shared']} statements in both")
        differences = Table()
        for heading in ("", "before", "now"):
            differences.add_column(heading)
        for name, (was, now) in one["figures"].items():
            differences.add_row(_COLUMNS[name], _number(was), _number(now))
        console.print(differences)
        console.print(f"better: {len(one['better'])} {' '.join(one['better'][:20])}")
        console.print(f"worse: {len(one['worse'])} {' '.join(one['worse'][:20])}")


def _reliability(run: Mapping[str, Any]) -> Table:
    table = Table(title=f"How often statements of a score are true, read by {run['reader']}")
    for heading in ("score", "statements", "mean score", "true"):
        table.add_column(heading, justify="right")
    for one in run["reliability"]:
        cells = _number(one["statements"]), _number(one["score"]), _number(one["true"])
        table.add_row(f"{one['from']:.1f} to {one['to']:.1f}", *cells)
    return table


def _cells(one: Mapping[str, Any]) -> list[str]:
    return [_number(one[name]) for name in _COLUMNS]


def _number(value: float | int | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
