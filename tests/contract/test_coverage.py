"""The table of requirements and scenarios is whole, and each test that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from support.scenarios import INSIDE, MEMORY, OPEN, SCENARIOS
from support.shared import shared_dir

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "coverage.md"
_QUOTED = re.compile(r"`([^`\n]+)`")


def rows() -> list[tuple[str, str, str, str]]:
    """Return id, clause, what shows it and the mark of each row."""
    found = []
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) == 4 and cells[0] not in ("id", "from", "---"):
            found.append((cells[0], cells[1], cells[2], cells[3]))
    return found


def named(shown: str) -> list[tuple[str, list[str]]]:
    """Return the files that a cell names, each with the words that choose tests in it."""
    found: list[tuple[str, list[str]]] = []
    folder = PurePosixPath()
    for quoted in _QUOTED.findall(shown):
        if quoted.endswith(".py"):
            path = PurePosixPath(quoted) if "/" in quoted else folder / quoted
            folder = path.parent
            found.append((str(path), []))
        elif not quoted.startswith("-"):
            assert found, f"words before any file: {shown}"
            found[-1][1].extend(quoted.split(" or "))
    return found


@cache
def cases_of(path: str) -> list[str]:
    tree = ast.parse((ROOT / path).read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [one.name for one in functions if one.name.startswith("test_")]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}: {row[1][:50]}")
def test_what_a_row_names_exists(row: tuple[str, str, str, str]) -> None:
    _, _, shown, mark = row
    assert mark in ("✓", "○", "–")
    files = named(shown)
    assert files or mark == "–", "a clause is met, and nothing shows it"
    for path, words in files:
        assert (ROOT / path).is_file(), path
        names = cases_of(path)
        assert names, f"{path} holds no test"
        for word in words:
            where = [PurePosixPath(path).stem, *names]
            assert any(word in name for name in where), f"no test of {path} is chosen by {word}"


def test_every_scenario_has_a_row_with_its_test() -> None:
    listed = {clause: shown for _, clause, shown, _ in rows()}
    for title, test in {**SCENARIOS, **INSIDE, **MEMORY}.items():
        file, _, name = test.partition("::")
        assert listed[title] == f"`tests/{file}`, `{name}`"
    for title in OPEN:
        assert [mark for _, clause, _, mark in rows() if clause.startswith(title)] == ["–"]


@pytest.mark.slow
def test_every_requirement_has_a_row() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the requirements are not beside the checkout (FOOTNOTE_SHARED names their folder)")
    text = (shared / "requirements.md").read_text(encoding="utf-8")
    ids = set(re.findall(r"^- ([A-Z]{3,4}-\d{1,2})\b", text, re.MULTILINE))
    assert len(ids) > 60
    assert ids - {name for name, _, _, _ in rows()} == set()


def test_the_table_is_read() -> None:
    assert len(rows()) > 150
    assert named('`tests/unit/a.py`, `x or y` with `-m ""`; `b.py`') == [
        ("tests/unit/a.py", ["x", "y"]),
        ("tests/unit/b.py", []),
    ]
