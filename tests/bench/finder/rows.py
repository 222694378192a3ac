"""Questions about one cell of a table, of WikiTableQuestions: those whose answer stands in a row that they name."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from finder.sets import SEED, Asked, QuestionSet

_LEAST = 4  # characters of a cell that names a row
_WORD = re.compile(r"[^\W_]+")


def lookups(name: str, folder: Path, count: int) -> QuestionSet:
    """Return tables as CSV files and questions; `folder` is a checkout of WikiTableQuestions."""
    files: dict[str, str] = {}
    given: list[Asked] = []
    seen: set[str] = set()
    for question, path, answer in _questions(folder / "data" / "training.tsv"):
        if path in seen or not (folder / path).is_file():
            continue
        table = list(csv.reader(io.StringIO((folder / path).read_text("utf-8").replace('\\"', '""'))))
        if not 4 <= len(table) <= 40 or len(table[0]) < 3 or any(len(row) != len(table[0]) for row in table):
            continue
        if (row := _row(question, table, answer)) is None:
            continue
        seen.add(path)
        page = folder / path.replace("csv", "page", 1).replace("-csv/", "-page/").replace(".csv", ".json")
        about = json.loads(page.read_text("utf-8"))
        file = re.sub(r"[^\w.-]+", "_", f"{about['title']} {about['tableIndex']}") + ".csv"
        files[file] = _text(table)
        given.append(Asked(question, "given", (answer,), file, ", ".join(table[row])))
    chosen = random.Random(SEED).sample(given, min(count, len(given)))
    out = [Asked(one.question, "out", (), one.file, "") for one in chosen]
    return QuestionSet(name, {one.file: files[one.file] for one in chosen}, (*chosen, *out))


def _questions(path: Path) -> Iterator[tuple[str, str, str]]:
    for line in path.read_text("utf-8").splitlines()[1:]:
        _, question, table, answer = line.split("\t")[:4]
        if "|" not in answer:
            yield question, table, answer


def _row(question: str, table: list[list[str]], answer: str) -> int | None:
    """Return the row of the answer where it stands once, in a row of which the question names another cell."""
    places = [(r, c) for r, row in enumerate(table) if r for c, text in enumerate(row) if text.strip() == answer]
    if len(places) != 1:
        return None
    row, column = places[0]
    asked = f" {' '.join(_WORD.findall(question.lower()))} "
    names = [" ".join(_WORD.findall(text.lower())) for at, text in enumerate(table[row]) if at != column]
    rest = [text for at, one in enumerate(table) if at not in (0, row) for text in one]
    others = [" ".join(_WORD.findall(text.lower())) for text in rest]
    named = [one for one in names if len(one) >= _LEAST and f" {one} " in asked and one not in others]
    return row if named and answer.lower() not in question.lower() else None


def _text(table: list[list[str]]) -> str:
    into = io.StringIO()
    csv.writer(into).writerows([[cell.replace("\n", " ") for cell in row] for row in table])
    return into.getvalue()
