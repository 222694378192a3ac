"""Content besides values in workbooks that are not Office Open XML: merged and hidden cells, comments, formulas."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import WorkbookParser, beside_cells
from support.ingestion_client import assert_spans_exact
from support.opendocument import spreadsheet

# Made with xlwt: a sheet whose third row and column are hidden, and a hidden sheet.
XLS = Path(__file__).parent / "files" / "hidden.xls"
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def read(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Texts of the blocks, and the places of the warnings by their words."""
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    WorkbookParser().parse(path, out, Limits())
    assert_spans_exact(blocks)
    said = {
        one.text: [place.sheet.range or place.sheet.sheet for place in one.places] for one in out.noticed.warnings()
    }
    return [block.text for block in blocks], said


def cell(text: str, more: str = "", inside: str = "") -> str:
    return f'<table:table-cell office:value-type="string" {more}>{inside}<text:p>{text}</text:p></table:table-cell>'


def figure(value: int) -> str:
    typed = f'office:value-type="float" office:value="{value}"'
    return f"<table:table-cell {typed}><text:p>{value}</text:p></table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def table(*rows: str, columns: str = "") -> str:
    return f'<table:table table:name="Prices">{columns}{"".join(rows)}</table:table>'


def test_hidden_rows_columns_and_sheets_of_xls_are_read_and_said() -> None:
    texts, said = read(XLS)
    assert texts[1:4] == [
        "Item: Laser; Price: 12; Cost: 7",
        "Item: Mirror; Price: 3; Cost: 2",
        "Item: Lens; Price: 5; Cost: 4",
    ]
    assert said == {
        "1 hidden sheets are read like the others": ["Old"],
        "2 hidden rows and columns are read like the others": ["Prices"],
    }


@pytest.mark.parametrize("how", ["collapse", "filter"])
def test_hidden_rows_and_columns_of_ods_are_read_and_said(how: str, tmp_path: Path) -> None:
    made = table(
        row(cell("Item"), cell("Price")),
        row(cell("Laser"), cell("12"), more=f'table:visibility="{how}"'),
        row(cell("Lens"), cell("5"), more='table:visibility="visible"'),
        columns=f'<table:table-column/><table:table-column table:visibility="{how}"/>',
    )
    texts, said = read(spreadsheet(tmp_path / "a.ods", made))
    assert texts == ["Item: Laser; Price: 12", "Item: Lens; Price: 5"]
    assert said == {"2 hidden rows and columns are read like the others": ["Prices"]}


def test_hidden_sheets_of_ods_are_read_and_said(tmp_path: Path) -> None:
    style = '<style:style style:name="no" style:family="table"><style:table-properties table:display="false"/>'
    made = table(row(cell("Item"), cell("Price")), row(cell("Laser"), cell("12")))
    hidden = made.replace('"Prices"', '"Old" table:style-name="no"')
    texts, said = read(spreadsheet(tmp_path / "a.ods", made + hidden, f"{style}</style:style>"))
    assert texts == ["Prices", "Item: Laser; Price: 12", "Old", "Item: Laser; Price: 12"]
    assert said == {"1 hidden sheets are read like the others": ["Old"]}


def test_merged_cells_of_ods_stand_for_all_that_they_cover(tmp_path: Path) -> None:
    covered = "<table:covered-table-cell/>"
    made = table(
        row(cell("Land", 'table:number-rows-spanned="2"'), cell("2023", 'table:number-columns-spanned="2"'), covered),
        row(covered, cell("Price"), cell("Wage")),
        row(cell("Chad", 'table:number-rows-spanned="2"'), figure(7), figure(9)),
        row(covered, figure(8), figure(10)),
    )
    assert read(spreadsheet(tmp_path / "a.ods", made))[0] == [
        "Land: Chad; 2023 › Price: 7; 2023 › Wage: 9",
        "Land: Chad; 2023 › Price: 8; 2023 › Wage: 10",
    ]


def test_comments_of_ods_are_kept_with_their_cell(tmp_path: Path) -> None:
    said = f"<dc:creator {DC}>Ann</dc:creator><text:p>Not</text:p><text:p>in Peru.</text:p>"
    remark = f"<office:annotation>{said}</office:annotation>"
    made = table(row(cell("Item"), cell("Price")), row(cell("Laser"), cell("12", inside=remark)))
    assert read(spreadsheet(tmp_path / "a.ods", made))[0] == [
        "Item: Laser; Price: 12", "Comment on B2: Ann: Not in Peru.",
    ]  # fmt: skip


def test_formulas_of_ods_without_a_value_are_said(tmp_path: Path) -> None:
    made = table(
        row(cell("Item"), cell("Price")),
        row(cell("Laser"), cell("12", 'table:formula="of:=6*2"')),
        row(cell("Lens"), '<table:table-cell table:formula="of:=[.B2]*2"/>'),
    )
    texts, said = read(spreadsheet(tmp_path / "a.ods", made))
    assert texts[0] == "Item: Laser; Price: 12"
    words = "1 formulas have no computed value: open the file in a spreadsheet program and save it again"
    assert said == {words: ["B3"]}


def test_what_comes_before_damage_is_known(tmp_path: Path) -> None:
    hidden = table(row(cell("Laser"), more='table:visibility="collapse"'))
    path = spreadsheet(tmp_path / "a.ods", hidden + "<table:table table:name='Broken'><oops>")
    assert beside_cells(path).of_sheet("Prices").hidden == 1
    assert beside_cells(path).of_sheet("Broken").hidden == 0
