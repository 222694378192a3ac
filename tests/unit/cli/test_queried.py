"""How an answer was computed from tables, as the command line prints it: formula, result, query."""

import io

from footnote.types.v1.table_pb2 import QueryResult, TableComputation
from footnote_cli.render.answer import MOST_SHOWN, computation, result_table, rows_table
from rich.console import Console

QUERY = 'SELECT "Town", SUM("Units") FROM "t_a_1" GROUP BY 1'


def printed(*parts: object, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def result(rows: int) -> QueryResult:
    found = QueryResult(columns=["Town", "sum"])
    for number in range(rows):
        found.rows.add().extend([f"Town {number}", number + 0.5])
    return found


def test_a_series_is_a_table_between_its_formula_and_its_query() -> None:
    made = TableComputation(formula="sum of Units by Town", query=QUERY, model="m-1")
    assert printed(*computation(made, result(2))) == [
        "Computed: sum of Units by Town (query by m-1)",
        "Town    sum",
        "Town 0  0.5",
        "Town 1  1.5",
        QUERY,
    ]


def test_one_number_needs_no_table() -> None:
    one = QueryResult(columns=["sum"])
    one.rows.add().extend([4.0])
    assert printed(*computation(TableComputation(formula="sum of Units", query=QUERY), one)) == [
        "Computed: sum of Units",
        QUERY,
    ]
    assert computation(TableComputation()) == []


def test_a_long_result_says_that_there_is_more() -> None:
    made = TableComputation(formula="rows", query=QUERY)
    lines = printed(*computation(made, result(MOST_SHOWN + 5)))
    assert sum(line.startswith("Town ") for line in lines) == MOST_SHOWN + 1
    assert f"The first {MOST_SHOWN} of {MOST_SHOWN + 5} rows." in lines
    cut = result(MOST_SHOWN + 5)
    cut.truncated = True
    assert any("of more than" in line for line in printed(*computation(made, cut)))


def test_no_cell_is_cut_and_none_controls_the_terminal() -> None:
    lines = printed(rows_table(["Note\x1b[2J", "N"], [["word " * 30 + "end\x1b[31m", "7"]], [False, True]), width=40)
    assert "\x1b" not in "".join(lines)
    assert "".join(lines).count("word") == 30
    assert "end" in "".join(lines)


def test_values_are_written_as_they_are() -> None:
    found = QueryResult(columns=["a", "b", "c"])
    found.rows.add().extend([None, True, 1234567.25])
    found.rows.add().extend(["x", False, -3.0])
    assert [line.split() for line in printed(result_table(found))] == [
        ["a", "b", "c"],
        ["true", "1234567.25"],
        ["x", "false", "-3"],
    ]
