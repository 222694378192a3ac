"""Merged cells count for all cells that they cover, in every format; headers of several rows are joined."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import PARAGRAPH, TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.sniff import sniff
from support.ingestion_client import assert_spans_exact

Spanned = tuple[str, int, int]
"""Text, rows, columns."""
Rows = Sequence[Sequence[str | Spanned]]


def placed(rows: Rows) -> list[tuple[int, int, str, int, int]]:
    """Row, column, text, rows, columns of each cell, with those that others cover left out."""
    taken: set[tuple[int, int]] = set()
    found = []
    for at, row in enumerate(rows):
        column = 0
        for cell in row:
            text, down, across = cell if isinstance(cell, tuple) else (cell, 1, 1)
            while (at, column) in taken:
                column += 1
            taken |= {(at + r, column + c) for r in range(down) for c in range(across)}
            found.append((at, column, text, down, across))
            column += across
    return found


def size(rows: Rows) -> tuple[int, int]:
    cells = placed(rows)
    return len(rows), max(column + across for _, column, _, _, across in cells)


def html(rows: Rows) -> bytes:
    lines = [
        "".join(
            f"<td rowspan={cell[1]} colspan={cell[2]}>{cell[0]}</td>" if isinstance(cell, tuple) else f"<td>{cell}</td>"
            for cell in row
        )
        for row in rows
    ]
    return f"<html><body><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table></body></html>".encode()


def word(rows: Rows) -> bytes:
    document = docx.Document()
    table = document.add_table(*size(rows))
    for row, column, text, down, across in placed(rows):
        cell = table.cell(row, column)
        if down > 1 or across > 1:
            cell = cell.merge(table.cell(row + down - 1, column + across - 1))
        cell.text = text
    return saved(document)


def slides(rows: Rows) -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(*size(rows), 0, 0, 5_000_000, 2_000_000).table
    for row, column, text, down, across in placed(rows):
        if down > 1 or across > 1:
            table.cell(row, column).merge(table.cell(row + down - 1, column + across - 1))
        table.cell(row, column).text = text
    return saved(presentation)


def writer(rows: Rows) -> bytes:
    height, width = size(rows)
    cells = {(row, column): (text, down, across) for row, column, text, down, across in placed(rows)}
    lines = []
    for row in range(height):
        line = ""
        for column in range(width):
            if (row, column) not in cells:
                line += "<table:covered-table-cell/>"
                continue
            text, down, across = cells[row, column]
            spans = f'table:number-rows-spanned="{down}" table:number-columns-spanned="{across}"'
            line += f"<table:table-cell {spans}><text:p>{text}</text:p></table:table-cell>"
        lines.append(f"<table:table-row>{line}</table:table-row>")
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    content = f"<office:document-content {names}><office:body><office:text><table:table>{''.join(lines)}</table:table>"
    content += "</office:text></office:body></office:document-content>"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", content)
    return buffer.getvalue()


def workbook(rows: Rows) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row, column, text, down, across in placed(rows):
        sheet.cell(row + 1, column + 1, int(text) if text.isdecimal() else text)
        if down > 1 or across > 1:
            sheet.merge_cells(
                start_row=row + 1, start_column=column + 1, end_row=row + down, end_column=column + across
            )
    return saved(book)


def saved(what: object) -> bytes:
    buffer = io.BytesIO()
    what.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "a.html": html, "a.docx": word, "a.pptx": slides, "a.odt": writer, "a.xlsx": workbook,
}  # fmt: skip


def read(folder: Path, name: str, data: bytes) -> list[Block]:
    path = folder / name
    path.write_bytes(data)
    blocks: list[Block] = []
    parser_for(sniff(path, name).document_type).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert_spans_exact(blocks)
    return blocks


TABLES: dict[str, tuple[Rows, list[str]]] = {
    "down": (
        [["Region", "City", "People"], [("North", 2, 1), "Ghent", "260"], ["Bruges", "118"], ["South", "Mons", "95"]],
        [
            "Region: North; City: Ghent; People: 260",
            "Region: North; City: Bruges; People: 118",
            "Region: South; City: Mons; People: 95",
        ],
    ),
    "across": (
        [["City", "2022", "2023"], ["Ghent", ("closed", 1, 2)], ["Mons", "5", "6"]],
        ["City: Ghent; 2022: closed; 2023: closed", "City: Mons; 2022: 5; 2023: 6"],
    ),
    "two header rows": (
        [[("City", 2, 1), ("Income", 1, 2), ("Costs", 1, 2)], ["2022", "2023", "2022", "2023"],
         ["Ghent", "11", "12", "13", "14"], ["Mons", "21", "22", "23", "24"]],
        [
            "City: Ghent; Income › 2022: 11; Income › 2023: 12; Costs › 2022: 13; Costs › 2023: 14",
            "City: Mons; Income › 2022: 21; Income › 2023: 22; Costs › 2022: 23; Costs › 2023: 24",
        ],
    ),
    "two header rows over an empty corner": (
        [["", ("Land", 1, 2)], ["", "2023", "2024"], ["Ghent", "11", "12"], ["Mons", "21", "22"]],
        ["Ghent; Land › 2023: 11; Land › 2024: 12", "Mons; Land › 2023: 21; Land › 2024: 22"],
    ),
    "three header rows": (
        [[("City", 3, 1), ("A", 1, 4)], [("Sown", 1, 2), ("Fallow", 1, 2)], ["2022", "2023", "2022", "2023"],
         ["Ghent", "1", "2", "3", "4"], ["Mons", "5", "6", "7", "8"]],
        [
            "City: Ghent; A › Sown › 2022: 1; A › Sown › 2023: 2; A › Fallow › 2022: 3; A › Fallow › 2023: 4",
            "City: Mons; A › Sown › 2022: 5; A › Sown › 2023: 6; A › Fallow › 2022: 7; A › Fallow › 2023: 8",
        ],
    ),
    "a block of four": (
        [["Day", "Hall", "Yard"], ["Monday", ("concert", 2, 2)], ["Tuesday"], ["Friday", "chess", "market"]],
        [
            "Day: Monday; Hall: concert; Yard: concert",
            "Day: Tuesday; Hall: concert; Yard: concert",
            "Day: Friday; Hall: chess; Yard: market",
        ],
    ),
    "years as header": (
        [["Item", "2022", "2023"], ["Rent", "11", "12"], ["Wages", "21", "22"]],
        ["Item: Rent; 2022: 11; 2023: 12", "Item: Wages; 2022: 21; 2023: 22"],
    ),
    "numbers from 0 as header": (
        [["Month", "0", "1", "2"], ["Sown", "11", "15", "12"], ["Reaped", "21", "29", "22"]],
        ["Month: Sown; 0: 11; 1: 15; 2: 12", "Month: Reaped; 0: 21; 1: 29; 2: 22"],
    ),
    "days as header": (
        [["Item", "2024-01-31", "2024-02-29"], ["Rent", "11", "12"], ["Wages", "21", "22"]],
        ["Item: Rent; 2024-01-31: 11; 2024-02-29: 12", "Item: Wages; 2024-01-31: 21; 2024-02-29: 22"],
    ),
    "names with values": (
        [["Name", "Ann"], ["Born", "1990"], ["Town", "Ghent"], ["Children", "3"]],
        ["Name: Ann", "Born: 1990", "Town: Ghent", "Children: 3"],
    ),
    "names with colons": (
        [["Name:", "Ann"], ["Role:", "Chef"], ["Town:", "Ghent"]],
        ["Name: Ann", "Role: Chef", "Town: Ghent"],
    ),
    "amounts of several units below a header": (
        [["Plan", "Term"], ["Trial", "30 days"], ["Basic", "2 years"], ["Pro", "1.5 months"], ["Club", "unlimited"]],
        ["Plan: Trial; Term: 30 days", "Plan: Basic; Term: 2 years", "Plan: Pro; Term: 1.5 months",
         "Plan: Club; Term: unlimited"],
    ),
    "a column without values": (
        [["City", "Mayor", "People"], ["Ghent", "", "260"], ["Mons", "", "95"]],
        ["City: Ghent; People: 260", "City: Mons; People: 95", "Mayor"],
    ),
    "an empty form": ([["Name", "Grade", "Days"], ["", "", ""], ["", "", ""]], ["Name; Grade; Days"]),
    "figures without a header": ([["Rent", "11", "15"], ["Wages", "21", "22"]], ["Rent; 11; 15", "Wages; 21; 22"]),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", FORMATS)
def test_a_value_stands_under_all_its_headers(name: str, table: str, tmp_path: Path) -> None:
    rows, expected = TABLES[table]
    assert [block.text for block in read(tmp_path, name, FORMATS[name](rows))] == expected


@pytest.mark.parametrize("name", FORMATS)
def test_a_title_over_the_whole_table_is_no_header(name: str, tmp_path: Path) -> None:
    rows: Rows = [[("Towns of the north", 1, 3)], ["City", "Mayor", "People"], ["Ghent", "Ann", "260"]]
    blocks = read(tmp_path, name, FORMATS[name](rows))
    assert [(block.kind, block.text) for block in blocks] == [
        (PARAGRAPH, "Towns of the north"),
        (TABLE_ROW, "City: Ghent; Mayor: Ann; People: 260"),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_across_the_rows_is_written_once(name: str, tmp_path: Path) -> None:
    rows: Rows = [["City", "Mayor", "People"], [("North", 1, 3)], ["Ghent", "Ann", "260"], ["Mons", "Bo", "95"]]
    texts = [block.text for block in read(tmp_path, name, FORMATS[name](rows))]
    assert "North" in texts[0]
    assert texts[0].count("North") == 1
    section = "North › " if name == "a.xlsx" else ""
    assert texts[1:] == [
        f"City: {section}Ghent; Mayor: Ann; People: 260",
        f"City: {section}Mons; Mayor: Bo; People: 95",
    ]


def test_header_cells_of_html(tmp_path: Path) -> None:
    page = b"""<table><thead><tr><th rowspan=2>City</th><th colspan=2>0</th></tr><tr><th>7</th><th>9</th></tr></thead>
    <tr><td>Ghent</td><td>1</td><td>2</td></tr></table>
    <table><tr><th>Born</th><td>Ghent</td></tr><tr><th>Died</th><td>Mons</td></tr></table>"""
    assert [block.text for block in read(tmp_path, "a.html", b"<html><body>" + page)] == [
        "City: Ghent; 0 \xe2\x80\xba 7: 1; 0 \xe2\x80\xba 9: 2".encode("latin-1").decode(),
        "Born: Ghent",
        "Died: Mons",
    ]


def test_a_table_within_a_table_that_lays_out_a_page_keeps_its_rows(tmp_path: Path) -> None:
    order = "<table><tr><th>Article<th>Price<tr><td>Lamp<td>40<tr><td>Chair<td>60</table>"
    boxes = "<table><tr><td>Home<td>Basket<tr><td>Read our news.<td>Visit us.</table>"
    page = f"<html><body><table><tr><td>Dear Ann,</td></tr><tr><td>{order}</td></tr><tr><td>{boxes}</td></tr></table>"
    assert [block.text for block in read(tmp_path, "a.html", page.encode())] == [
        "Dear Ann,",
        "Article: Lamp; Price: 40",
        "Article: Chair; Price: 60",
        "Home",
        "Basket",
        "Read our news.",
        "Visit us.",
    ]


@pytest.mark.parametrize("cell", ["<ul><li>Mail<li>Chat</ul>", "<pre>Mail\nChat</pre>", "<h3>Mail</h3><p>Chat"])
@pytest.mark.parametrize("mark", ["<caption></caption>", "<thead><tr><th>Plan<th>Price<th>Features<tbody>"])
def test_cells_with_lists_code_and_headings_are_cells(cell: str, mark: str, tmp_path: Path) -> None:
    names = "" if "thead" in mark else "<tr><td>Plan<td>Price<td>Features"
    rows = f"{names}<tr><td>Basic<td>10<td>{cell}</td><tr><td>Pro<td>20<td>{cell}</td>"
    assert [block.text for block in read(tmp_path, "a.html", f"<body><table>{mark}{rows}</table>".encode())] == [
        "Plan: Basic; Price: 10; Features: Mail Chat",
        "Plan: Pro; Price: 20; Features: Mail Chat",
    ]


def test_the_cells_of_a_merged_value_are_cited(tmp_path: Path) -> None:
    rows, _ = TABLES["two header rows"]
    blocks = read(tmp_path, "a.xlsx", workbook(rows))
    cells = {
        anchor.locator.sheet.range: b.text[anchor.span.start : anchor.span.end] for b in blocks for anchor in b.anchors
    }
    assert cells["D3"] == "13"
    assert cells["A4"] == "Mons"


@pytest.mark.slow
def test_spans_of_a_bomb_are_not_written_out(tmp_path: Path) -> None:
    row = "<td rowspan=60000 colspan=1000>x</td>"
    page = f"<html><body><table>{f'<tr>{row}</tr>' * 3000}</table>".encode()
    path = tmp_path / "a.html"
    path.write_bytes(page)
    out = BlockWriter(lambda _: None, Limits())
    parser_for("html").parse(path, out, Limits())
    assert [one.text for one in out.noticed.warnings()]
    assert out.char_count < 5_000_000
