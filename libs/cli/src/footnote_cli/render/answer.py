"""Renders the part below an answer: footnotes, verdicts, how it was computed, failures, time, cost; graded answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from footnote.edge.v1.answers_pb2 import AskCompleted
from footnote.types.v1 import answer_pb2
from footnote.types.v1.answer_pb2 import Answer, Citation, Degradation
from footnote.types.v1.table_pb2 import QueryResult, TableComputation
from footnote_kit.degradations import word
from footnote_kit.printable import enum_word, printable, printable_line
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from footnote_cli.console import make_console
from footnote_cli.render import reasons
from footnote_cli.render.figures import FigureTable
from footnote_cli.render.text import elapsed, one_line, plural, seconds

_PLAIN = make_console()

SUPPORT_WORDS = {
    answer_pb2.VERDICT_SUPPORTED: ("supported", "green"),
    answer_pb2.VERDICT_NOT_CONFIRMED: ("not confirmed", "yellow"),
    answer_pb2.VERDICT_UNSUPPORTED: ("unsupported", "red"),
    answer_pb2.VERDICT_UNCITED: ("uncited", "yellow"),
}


BASIS_WORDS = {
    answer_pb2.BASIS_QUOTED: "quoted",
    answer_pb2.BASIS_CELLS: "from the cell",
    answer_pb2.BASIS_COMPUTED: "computed from cells",
    answer_pb2.BASIS_READ: "a model has read it",
}
"""How a source was found to support a statement; each text is shown with "supported"."""


def stage_name(stage: int) -> str:
    """Return a stage's name in lower case, "retrieval", or "" for none."""
    name = enum_word(answer_pb2.PipelineStage.DESCRIPTOR, stage).lower()
    return "" if name == "unspecified" else name


def footnotes(citations: Sequence[Citation], width: int) -> list[Text]:
    """Return one line per footnote, `[1] file, page — “quote” (supported)`, without duplicates, hanging-indented."""
    seen: set[tuple[int, str, str]] = set()
    lines: list[Text] = []
    for citation in citations:
        label = printable_line(citation.label or citation.filename)
        key = (citation.number, label, citation.quote)
        if key in seen:
            continue
        seen.add(key)
        word, style = SUPPORT_WORDS.get(citation.support, ("", ""))
        line = Text.assemble((f"[{citation.number}]", "bold cyan"), " ", (label, "bold"))
        if citation.quote:
            line.append(f" — “{one_line(citation.quote)}”")
        if word:
            reader = printable_line(citation.reader)
            basis = f"{reader} has read it" if reader else BASIS_WORDS.get(citation.basis, "")
            line.append(f" ({word}: {basis})" if basis else f" ({word})", style=style)
        lines.append(hang(line, len(f"[{citation.number}] "), width))
        if address := printable_line(citation.origin.address):
            lines.append(Text(f"    {address}", style="underline"))
    return lines


def nearest(answer: Answer, width: int) -> list[Text]:
    """Return the line of the passage offered with a refusal, `Nearest: file, page — “quote”`; [] without one."""
    if not answer.HasField("nearest"):
        return []
    near, lead = answer.nearest, "Nearest: "
    line = Text.assemble((lead, "bold"), (printable_line(near.label or near.filename), "bold"))
    return [hang(line.append(f" — “{one_line(near.quote)}”"), len(lead), width)]


def hang(line: Text, indent: int, width: int) -> Text:
    """Return the text wrapped at `width` columns, every line but the first indented; a width of 0 doesn't wrap."""
    if width == 0 or len(line) <= width:
        return line
    result = Text()
    for index, part in enumerate(line.wrap(_PLAIN, max(width - indent, 20))):
        part.rstrip()
        result.append_text(part if index == 0 else Text.assemble("\n" + " " * indent, part))
    return result


def unsupported_claims(answer: Answer) -> Iterator[Text]:
    """Yield one line for each statement that is wrong or cites nothing, one for all unread, one for each warning."""
    if unread := answer.reliability.claims_unread:
        what = f"! not confirmed: no model has read {plural(unread, 'statement')} against the sources"
        yield Text(what, style="yellow")
    for claim in answer.claims:
        if claim.support not in (answer_pb2.VERDICT_UNSUPPORTED, answer_pb2.VERDICT_UNCITED):
            continue
        word, style = SUPPORT_WORDS[claim.support]
        sentence = one_line(answer.text[claim.span.start : claim.span.end], 100)
        why = f": {reasons.claim(claim)}" if claim.reason else ""
        yield Text(printable_line(f"! {word}: “{sentence}”{why}"), style=style)
    for warning in answer.warnings:
        yield Text(printable_line(f"! {warning}"), style="yellow")


def notices(degradations: Sequence[Degradation]) -> Iterator[Text]:
    """Yield one line for each failure, with its effect on the answer."""
    for degradation in degradations:
        where = stage_name(degradation.stage)
        cause = ", ".join(part for part in (where, word(degradation), degradation.detail) if part)
        effect = degradation.effect or "Something did not work as configured."
        yield Text(printable_line(f"! {effect}" + (f" ({cause})" if cause else "")), style="yellow")


def summary(completed: AskCompleted, waited: float) -> list[Text]:
    """Return dim lines: total time and time to the first word, model, tokens; where to look further."""
    answer = completed.answer
    parts = [elapsed(waited)]
    first = seconds(completed.time_to_first_token)
    if first > 0:
        parts.append(f"first word after {elapsed(first)}")
    if answer.provider:
        parts.append(answer.provider + (f"/{answer.model}" if answer.model and answer.model != answer.provider else ""))
    if completed.sources:
        cited = len({citation.number for citation in answer.citations})
        parts.append(f"{cited} of {plural(len(completed.sources), 'source')} cited")
    tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens
    if tokens:
        parts.append(plural(tokens, "token"))
    handles = {"answer": answer.id, "trace": completed.trace_id, "conversation": completed.conversation_id}
    further = " · ".join(f"{name} {value}" for name, value in handles.items() if value)
    return [Text(printable_line(line), style="dim") for line in (" · ".join(parts), further) if line]


MOST_SHOWN = 20
"""Rows of a computed answer's query that are shown; the answer lists them all."""


def rows_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> Table:
    """Return rows as a table whose cells are never cut; `numbers` says which columns stand at the right."""
    table = Table(box=None, pad_edge=False)
    for name, is_number in zip(names, numbers, strict=True):
        table.add_column(printable_line(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(printable(value) for value in row))
    return table


def result_table(result: QueryResult, most: int = 0) -> Table:
    """Return what a query gave, at most `most` rows; 0 means all."""
    rows = [list(row) for row in (result.rows[:most] if most else result.rows)]
    kinds = [{type(row[at]) for row in rows} - {type(None)} for at in range(len(result.columns))]
    numbers = [one == {float} for one in kinds]
    return rows_table(list(result.columns), [[value_text(value) for value in row] for row in rows], numbers)


def value_text(value: object) -> str:
    """Return a value of a query's row as text; null is empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def computation(made: TableComputation, result: QueryResult | None = None) -> list[RenderableType]:
    """Return how an answer was computed; `result` is what its query gave, None where it was not run again."""
    if not made.query:
        return []
    by = f" (query by {printable_line(made.model)})" if made.model else ""
    lines: list[RenderableType] = [Text.assemble(("Computed: ", "bold"), printable_line(made.formula), by)]
    if result is not None and (len(result.rows) > 1 or len(result.columns) > 1):
        lines.append(result_table(result, MOST_SHOWN))
        if len(result.rows) > MOST_SHOWN or result.truncated:
            count = f"more than {len(result.rows)}" if result.truncated else str(len(result.rows))
            lines.append(Text(f"The first {MOST_SHOWN} of {count} rows.", style="dim"))
    lines.append(Text(printable_line(made.query), style="dim"))
    return lines


_COLUMNS = (
    "questions", "good", "right", "part", "wrong", "failed", "refused rightly", "refused wrongly",
    "wrong though supported", "offered", "absent refused", "footnote file", "footnote place",
)  # fmt: skip
_GOOD = ("right", "refused rightly")


def show(console: Console, result: Mapping[str, Any], *, answers: bool) -> None:
    """Print runs by tag, times and costs, comparisons and missed thresholds; `answers` adds each bad answer."""
    for run in result["runs"]:
        table = FigureTable(f"{result['questions']}, {run['name']}", ("", *_COLUMNS))
        for name, one in run["figures"].items():
            table.add_row(name, *(_number(one[key]) for key in _COLUMNS), style="bold" if name == "all" else "")
        console.print(table)
        everything = run["figures"]["all"]
        times = (
            f"{label} {_number(everything[key]['p50'])} ms, p95 {_number(everything[key]['p95'])} ms"
            for key, label in (("first word ms", "first word"), ("ms", "answer"))
        )
        cost = "" if everything["cost_usd"] is None else f", {everything['cost_usd']} USD"
        console.print(f"{'; '.join(times)}; {everything['tokens']} tokens{cost}")
        for id, one in run["answers"].items():
            if one["error"]:
                console.print(f"{id}: failed: {one['error']}", style="red")
            elif answers and one["outcome"] not in _GOOD:
                console.print(f"{id}: {one['outcome']}: {one['question']}", style="yellow")
                console.print(f"  {' '.join(one['text'].split())}")
                if one["missing"]:
                    console.print(f"  lacks {'; '.join(one['missing'])}")
    for one in result["compared"]:
        console.print(
            f"{one['run']} with {one['with']}: {one['shared']} questions in both, {len(one['better'])} better, "
            f"{len(one['worse'])} worse, p = {one['p']:.3f} (sign test)"
        )
        for kind in ("better", "worse"):
            if one[kind]:
                console.print(f"  {kind}: {' '.join(one[kind][:20])}")
    for line in result["missed"]:
        console.print(line, style="red")


def _number(value: float | int | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if value <= 1 else f"{value:.0f}"
