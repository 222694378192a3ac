"""Tables of figures: every figure is readable at any width."""

import io
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.evaluation.golden import Question
from footnote_cli.evaluation.grading import Graded, Outcome, by_tag
from footnote_cli.render import answer
from footnote_cli.render.figures import FigureTable
from rich.console import Console


def drawn(item: Any, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(item)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_or_heading_is_cut(width: int) -> None:
    headings = ("", "questions", "wrong though supported", "footnote file", "good", "refused rightly")
    table = FigureTable("golden.jsonl", headings)
    table.add_row("all", "1234", "0.125", "0.851", "0.500", "17", style="bold")
    table.add_row("a tag whose name is longer than a column", "4", "0.250", "0.750", "1.000", "3")
    lines = drawn(table, width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for one in ("1234", "0.125", "0.851", "0.500", "17", "supported", "questions", "rightly", "all"):
        assert one in words
    assert not any("…" in line for line in lines)
    assert len([line for line in lines if line.split()[:1] == ["all"]]) == (1 if width == 200 else words.count("all"))


@pytest.mark.parametrize("width", [80, 120])
def test_graded_answers_are_readable_in_a_terminal(width: int) -> None:
    asked = [Question(id=str(at), question="?", must=("27",), language="de", tags=("time",)) for at in range(40)]
    outcomes = [Outcome.RIGHT] * 34 + [Outcome.WRONG] * 5 + [Outcome.FAILED]
    grades = {one.id: Graded(outcome, supported=True) for one, outcome in zip(asked, outcomes, strict=True)}
    run = {"name": "default", "figures": by_tag(asked, grades), "answers": {}}
    console = Console(file=io.StringIO(), width=width)
    answer.show(
        console, {"questions": Path("golden.jsonl").name, "runs": [run], "compared": [], "missed": []}, answers=False
    )
    assert isinstance(console.file, io.StringIO)
    words = console.file.getvalue().split()
    assert {"0.850", "supported", "failed", "expect", "answer", "language", "de", "time"} <= set(words)
    assert "…" not in console.file.getvalue()
