"""The table of requirements and scenarios is whole, and each test that it names exists."""

import re
from datetime import datetime
from pathlib import Path

import pytest
from support.coverage_marks import ROOT, TABLE, cells, chosen, functions, mark, marked, named, read
from support.scenarios import INSIDE, MEMORY, SCENARIOS
from support.shared import shared_dir


def rows() -> list[list[str]]:
    return [row for line in TABLE.read_text().splitlines() if (row := cells(line))]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}: {row[1][:50]}")
def test_what_a_row_names_exists(row: list[str]) -> None:
    _, _, shown, mark = row
    assert mark in ("✓", "○", "–")
    files = named(shown)
    assert files or mark == "–", "a clause is met, and nothing shows it"
    for path, words in files:
        assert (ROOT / path).is_file(), path
        assert functions(path), f"{path} holds no test"
        for word in words.split(" or ") if words else ():
            assert chosen(path, word, functions(path)), f"no test of {path} is chosen by {word}"


def test_every_scenario_has_a_row_with_its_test() -> None:
    listed = {clause: shown for _, clause, shown, _ in rows()}
    for title, test in {**SCENARIOS, **INSIDE, **MEMORY}.items():
        file, _, name = test.partition("::")
        assert listed[title] == f"`tests/{file}`, `{name}`"


@pytest.mark.slow
def test_every_requirement_has_a_row() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the requirements are not beside the checkout (FOOTNOTE_SHARED names their folder)")
    text = (shared / "requirements.md").read_text(encoding="utf-8")
    ids = set(re.findall(r"^- ([A-Z]{3,4}-\d{1,2})\b", text, re.MULTILINE))
    assert len(ids) > 60
    assert ids - {row[0] for row in rows()} == set()


def test_the_table_is_read() -> None:
    assert len(rows()) > 150
    assert named('`tests/unit/a.py`, `x or y` with `-m ""`; `b.py`') == [
        ("tests/unit/a.py", "x or y"),
        ("tests/unit/b.py", ""),
    ]


HERE = "`tests/contract/test_coverage.py`"
ALL = dict.fromkeys(functions("tests/contract/test_coverage.py"), "passed")
A, B = "test_what_a_row_names_exists[a]", "test_what_a_row_names_exists[b]"


@pytest.mark.parametrize(
    ("shown", "outcomes", "expected"),
    [
        (HERE, ALL, "✓"),
        (HERE, ALL | {"test_the_table_is_read": "failed"}, "○"),
        (HERE, ALL | {"test_the_table_is_read": "skipped"}, "○"),
        (HERE, {name: "passed" for name in ALL if "table" not in name}, "○"),
        (f"{HERE}, `table_is_read`", {"test_the_table_is_read": "passed", "test_another": "failed"}, "✓"),
        (f"{HERE}, `row_names`", {A: "passed", B: "skipped"}, "✓"),
        (f"{HERE}, `row_names`", {A: "passed", B: "failed"}, "○"),
        (f"{HERE}, `no_such_test`", ALL, "○"),
        (f"{HERE}; `test_names.py`", ALL, "○"),
    ],
)
def test_a_row_is_marked_where_each_of_its_tests_passed_and_none_failed(
    shown: str, outcomes: dict[str, str], expected: str
) -> None:
    results = {"tests/contract/test_coverage.py": {test: {outcome} for test, outcome in outcomes.items()}}
    assert mark(shown, results) == expected


def test_results_of_runs_are_read_together_and_written_with_their_date(tmp_path: Path) -> None:
    case = '<testcase classname="tests.contract.test_coverage{}" name="{}">{}</testcase>'
    skipped = case.format(".TestIt", "test_x[a-1]", "<skipped/>")
    runs = [
        ("2026-11-28T01:30:00+00:00", case.format("", "test_the_table_is_read", "")),
        ("2026-11-27T23:00:00+00:00", skipped + case.format("", "y", "<error/>")),
    ]
    files = [tmp_path / "test.xml", tmp_path / "all.xml"]
    for file, (moment, cases) in zip(files, runs, strict=True):
        file.write_text(f'<testsuites><testsuite timestamp="{moment}">{cases}</testsuite></testsuites>')
    results, began = read(files)
    assert results == {
        "tests/contract/test_coverage.py": {
            "test_the_table_is_read": {"passed"}, "test_x[a-1]": {"skipped"}, "y": {"failed"},
        }
    }  # fmt: skip
    assert began == datetime.fromisoformat("2026-11-28T01:30:00+00:00")
    page = (
        "ran on {}\n"
        + f"| A | a \\| b | {HERE}, `table_is_read` | {{}} |\n| A | b | {HERE} | {{}} |\n| A | c | | – |\n"
    )
    written = marked(page.format("1 May 2020", "○", "✓"), results, began)
    assert written == page.format("28 November 2026", "✓", "○")
