"""Marks of notes and struck figures in cells of workbooks do not melt into the numbers beside them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter  # type: ignore[import-untyped]
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import WorkbookParser
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from support.opendocument import spreadsheet

# "1" and "2" are superscript, "90" is struck.
ROWS = [("Land", "2022", "2023^1"), ("Peru", 100, 200), ("Chad", "150^2", 160), ("Mali", "-90-95", 99)]
# Made with xlwt: the same cells.
OLD = Path(__file__).parent / "files" / "rich.xls"


def xlsx(folder: Path) -> Path:
    book = xlsxwriter.Workbook(folder / "a.xlsx")
    sheet = book.add_worksheet()
    plain, raised, struck = (book.add_format(one) for one in ({}, {"font_script": 1}, {"font_strikeout": 1}))
    for row, values in enumerate(ROWS):
        for column, value in enumerate(values):
            if "^" in str(value):
                before, after = str(value).split("^")
                sheet.write_rich_string(row, column, plain, before, raised, after)
            elif str(value).startswith("-"):
                sheet.write_rich_string(row, column, struck, "90", plain, "95")
            else:
                sheet.write(row, column, value)
    book.close()
    return folder / "a.xlsx"


def inline(folder: Path) -> Path:
    """The same with each string in its cell."""
    path = folder / "b.xlsx"
    with zipfile.ZipFile(xlsx(folder)) as old, zipfile.ZipFile(path, "w") as new:
        strings = re.findall(rb"<si>(.*?)</si>", old.read("xl/sharedStrings.xml"))
        for name in old.namelist():
            data = old.read(name)
            if "worksheets/" in name:
                data = re.sub(
                    rb't="s"><v>(\d+)</v>', lambda one: b't="inlineStr"><is>' + strings[int(one[1])] + b"</is>", data
                )
            new.writestr(name, data)
    return path


def ods(folder: Path) -> Path:
    def cell(value: object) -> str:
        kind = f'float" office:value="{value}' if isinstance(value, int) else "string"
        text = re.sub(r"\^(\d)", r'<text:span text:style-name="T1">\1</text:span>', str(value))
        text = re.sub("-(.*)-", r'<text:span text:style-name="T2">\1</text:span>', text)
        return f'<table:table-cell office:value-type="{kind}"><text:p>{text}</text:p></table:table-cell>'

    rows = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in ROWS)
    styles = "".join(
        f'<style:style style:name="T{at}" style:family="text"><style:text-properties style:{one}/></style:style>'
        for at, one in enumerate(('text-position="super 58%"', 'text-line-through-style="solid"'), 1)
    )
    return spreadsheet(folder / "a.ods", f'<table:table table:name="Sheet">{rows}</table:table>', styles)


@pytest.mark.parametrize("made", [xlsx, inline, ods, lambda folder: OLD], ids=["xlsx", "inline", "ods", "xls"])
def test_marks_and_struck_figures_are_no_digits(made: Callable[[Path], Path], tmp_path: Path) -> None:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    WorkbookParser().parse(made(tmp_path), out, Limits())
    assert [block.text for block in blocks] == [
        "Land: Peru; 2022: 100; 2023^1: 200",
        "Land: Chad; 2022: 150^2; 2023^1: 160",
        "Land: Mali; 2022: 95; 2023^1: 99",
    ]
    typed = [anchor.cell.number for block in blocks for anchor in block.anchors if anchor.cell.HasField("number")]
    assert typed == [100, 200, 160, 95, 99]
    assert [one.text for one in out.noticed.warnings()] == ["1 pieces of struck text are left out"]


def test_line_breaks_and_tabs_of_ods_are_spaces(tmp_path: Path) -> None:
    text = "a<text:line-break/>b<text:span>c<text:a>l<text:tab/>m</text:a>d</text:span> e"
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{one}</text:p></table:table-cell>' for one in (text, "x")
    )
    table = f'<table:table table:name="S"><table:table-row>{cells}</table:table-row></table:table>'
    blocks: list[Block] = []
    WorkbookParser().parse(spreadsheet(tmp_path / "a.ods", table), BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == ["a bcl md e; x"]


def test_a_struck_row_does_not_part_the_header_from_the_rows_below(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    struck = CellRichText(TextBlock(InlineFont(strike=True), "Buy milk"))
    for row in (("Task", "State"), (struck, None), ("Pay", 1), ("Call", 2)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    blocks: list[Block] = []
    WorkbookParser().parse(tmp_path / "a.xlsx", BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == ["Task: Pay; State: 1", "Task: Call; State: 2"]
