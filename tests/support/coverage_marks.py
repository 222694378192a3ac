"""The table in docs/coverage.md, and its marks from results of whole runs.

`PYTHONPATH=tests .venv/bin/python -m support.coverage_marks RESULTS.xml…` sets them. Results are pytest's JUnit XML,
as `PYTEST_ADDOPTS=--junitxml=/tmp/test.xml make test` writes it. "✓": each test of the row passed in one of these runs,
and none failed in any. "○": all others, as where a test was skipped or not run. "–" stays.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from _pytest.mark.expression import Expression

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "coverage.md"
PASSED, OTHERWISE, OPEN = "✓", "○", "–"
_QUOTED = re.compile(r"`([^`\n]+)`")
_BAR = re.compile(r"(?<!\\)\|")
_DATE = re.compile(r"(?<=ran on )\d{1,2} \w+ \d{4}")

Results = Mapping[str, Mapping[str, set[str]]]
"""By file, by test with its parameters, the outcomes: "passed", "failed", "skipped"."""


def cells(line: str) -> list[str]:
    """Return id, clause, what shows it and the mark of a row; an empty list for other lines."""
    found = [cell.strip() for cell in _BAR.split(line.strip().strip("|"))]
    return found if len(found) == 4 and found[0] not in ("id", "from", "---") else []


def named(shown: str) -> list[tuple[str, str]]:
    """Return the files that a cell names, each with the expression for -k that chooses tests in it, "" for all."""
    found: list[tuple[str, str]] = []
    folder = PurePosixPath()
    for quoted in _QUOTED.findall(shown):
        if quoted.endswith(".py"):
            path = PurePosixPath(quoted) if "/" in quoted else folder / quoted
            folder = path.parent
            found.append((str(path), ""))
        elif not quoted.startswith("-"):
            assert found, f"words before any file: {shown}"
            assert not found[-1][1], f"words twice for {found[-1][0]}"
            found[-1] = (found[-1][0], quoted)
    return found


@cache
def functions(path: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    names = (node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in names if name.startswith("test_"))


def chosen(path: str, words: str, tests: Iterable[str]) -> list[str]:
    """Return which tests of a file -k chooses by these words, as pytest does: by parts of names, folders included."""
    if not words:
        return list(tests)
    expression, parts = Expression.compile(words), PurePosixPath(path).parts[1:]

    def matches(test: str) -> bool:
        names = [name.lower() for name in (*parts, test)]
        return expression.evaluate(lambda word, /, **_: any(word.lower() in name for name in names))

    return [test for test in tests if matches(test)]


def read(files: Sequence[Path]) -> tuple[dict[str, defaultdict[str, set[str]]], datetime]:
    """Return all results, and when the last run began."""
    found: dict[str, defaultdict[str, set[str]]] = {}
    began = []
    for file in files:
        root = ElementTree.parse(file).getroot()
        began += [datetime.fromisoformat(suite.attrib["timestamp"]) for suite in root.iter("testsuite")]
        for case in root.iter("testcase"):
            place = case.attrib["classname"].split(".")
            at = next((n for n, part in enumerate(place) if part.startswith("test_")), len(place) - 1)
            of_file = found.setdefault("/".join(place[: at + 1]) + ".py", defaultdict(set))
            states = {child.tag for child in case} & {"failure", "error", "skipped"}
            outcome = "failed" if states - {"skipped"} else "skipped" if states else "passed"
            of_file[case.attrib["name"]].add(outcome)
    return found, max(began)


def mark(shown: str, results: Results) -> str:
    """Return the mark of a row that names tests."""
    for path, words in named(shown):
        of_file = results.get(path, {})
        cases = chosen(path, words, of_file)
        if any("failed" in of_file[case] for case in cases):
            return OTHERWISE
        passed = {case.partition("[")[0] for case in cases if "passed" in of_file[case]}
        if not passed or not passed.issuperset(chosen(path, words, functions(path))):
            return OTHERWISE
    return PASSED


def marked(text: str, results: Results, day: datetime) -> str:
    """Return the page with the marks and the date of these results."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        row = cells(line)
        if row and row[3] in (PASSED, OTHERWISE):
            lines[at] = f"{line.rstrip().rstrip('|').rstrip()[:-1]}{mark(row[2], results)} |"
    return _DATE.sub(f"{day.day} {day:%B %Y}", "\n".join(lines) + "\n")


if __name__ == "__main__":
    page = marked(TABLE.read_text(encoding="utf-8"), *read([Path(name) for name in sys.argv[1:]]))
    TABLE.write_text(page, encoding="utf-8")
    rows = [cells(line) for line in page.splitlines()]
    print(dict(Counter(row[3] for row in rows if row)))
    print(*(f"{row[3]} {row[0]}: {row[2]}" for row in rows if row and row[3] != PASSED), sep="\n")
