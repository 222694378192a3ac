"""Delimited text: where its records end, and what separates their cells."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import CsvParser, delimiter

UNCLOSED = ["1 quotes are opened and never closed: they are read as text"]


def read(text: str, tmp_path: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the text and range of each row, and what is warned of."""
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    CsvParser().parse(path, out, Limits())
    return [(one.text, one.locator.sheet.range) for one in blocks], [one.text for one in out.noticed.warnings()]


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\x0b", "\x0c"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_line_feeds_and_returns_end_a_record(inside: str, end: str, tmp_path: Path) -> None:
    found, _ = read(f"id,note{end}1,left{inside}right{end}2,other{end}", tmp_path)
    assert found == [("id: 1; note: left right", "A2:B2"), ("id: 2; note: other", "A3:B3")]


@pytest.mark.parametrize("separator", [";", "|", "\t", ","])
def test_the_separator_that_a_file_declares_is_used(separator: str, tmp_path: Path) -> None:
    inside = "," if separator != "," else ";"
    rows = (f"Ort{inside} Land", "Wert"), (f"Lyon{inside} FR", "12"), (f"Bonn{inside} DE", "9")
    found, _ = read(f"sep={separator}\n" + "\n".join(map(separator.join, rows)), tmp_path)
    assert found[0] == (f"Ort{inside} Land: Lyon{inside} FR; Wert: 12", "A2:B2")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("12,5\t1,01\n13,5\t1,02\n14,1\t1,03\n", ["12,5; 1,01", "13,5; 1,02", "14,1; 1,03"]),
        ("1,5;2,5;3,5\n4,5;5,5;6,5\n", ["1,5; 2,5; 3,5", "4,5; 5,5; 6,5"]),
        ("Log 7\n1,5;2,5\n4,5;5,5\n7,5;8,5\n", ["Log 7", "1,5; 2,5", "4,5; 5,5", "7,5; 8,5"]),
        (
            "Temperatur, °C;Druck, bar\n12,5;1,01\n13,5;1,02\n",
            ["Temperatur, °C: 12,5; Druck, bar: 1,01", "Temperatur, °C: 13,5; Druck, bar: 1,02"],
        ),
        (
            "Area\tSold\n" + 'North\t"1,234,567"\n' * 60,
            ["Area: North; Sold: 1,234,567"] * 60,
        ),
        ("id,n,parts\n1,2,3;4;5;6\n2,3,5;6;7;8\n", ["id: 1; n: 2; parts: 3;4;5;6", "id: 2; n: 3; parts: 5;6;7;8"]),
        ("10:01,INFO,up; ok\n10:02,INFO,down; bad\n", ["10:01; INFO; up; ok", "10:02; INFO; down; bad"]),
    ],
)
def test_a_comma_of_a_number_separates_no_cells(text: str, rows: list[str], tmp_path: Path) -> None:
    assert [row for row, _ in read(text, tmp_path)[0]] == rows


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("1,2,3;\n4,5,6;\n7,8,9;\n", ","),
        ("a,b,c;\n1,2,3;\n4,5,6;\n", ","),
        ("1,2,3\t\n4,5,6\t\n7,8,9\t\n", ","),
        ("1700000000,200,35,Mozilla/5.0 (X11; Linux; x)\n" * 3, ","),
        ("2024-01-01,12:00,1;2\n2024-01-02,12:30,2;3\n2024-01-03,12:00,4;5\n", ","),
        ("1,234,567;2,5\n2,345,678;3,5\n3,456,789;4,5\n", ";"),
        ("A;12,5\nB;\nC;13,5\nD;12,5\n", ";"),
    ],
)
def test_commas_between_numbers_separate_them_though_other_signs_stand_there(text: str, separator: str) -> None:
    assert delimiter(text) == separator


def test_a_quote_that_is_never_closed_in_the_first_line_hides_no_separator(tmp_path: Path) -> None:
    found, said = read('"Item;Price\nCup;5\nLamp;9', tmp_path)
    assert [text for text, _ in found] == ['"Item: Cup; Price: 5', '"Item: Lamp; Price: 9']
    assert said == UNCLOSED


def test_a_quote_that_is_never_closed_swallows_no_rows(tmp_path: Path) -> None:
    found, said = read('Item\tPrice\nTV 55"\t5\n"Best" shelf\t7\n"Open shelf\t8\nLamp\t9\n"A\tB"\t10\n', tmp_path)
    assert found == [
        ('Item: TV 55"; Price: 5', "A2:B2"),
        ("Item: Best shelf; Price: 7", "A3:B3"),
        ('Item: "Open shelf; Price: 8', "A4:B4"),
        ("Item: Lamp; Price: 9", "A5:B5"),
        ("Item: A B; Price: 10", "A6:B6"),
    ]
    assert said == UNCLOSED


def test_each_quote_that_is_never_closed_is_text(tmp_path: Path) -> None:
    found, said = read('Item;Price\nCup;5\n"Open;8\nLamp;9\n"Bed;10', tmp_path)
    assert [text for text, _ in found][1:] == ['Item: "Open; Price: 8', "Item: Lamp; Price: 9", 'Item: "Bed; Price: 10']
    assert said == ["2 quotes are opened and never closed: they are read as text"]


@pytest.mark.parametrize("blanks", [" ", "  ", "\t"])
def test_blanks_may_stand_behind_a_quoted_cell_of_several_lines(blanks: str, tmp_path: Path) -> None:
    found, said = read(f'Id,Note,Price\n1,"first\nsecond"{blanks},5\n2,"x, y",6\n', tmp_path)
    assert [row for row, _ in found] == ["Id: 1; Note: first second; Price: 5", "Id: 2; Note: x, y; Price: 6"]
    assert not said


def test_quotes_escaped_by_a_backslash_end_no_cell(tmp_path: Path) -> None:
    rows = ["id,name,size", *(f"{at},plain lamp,10" for at in range(1, 2000)), r'2000,"5\" pipe, black",20', "2001,x,7"]
    found, said = read("\n".join(rows), tmp_path)
    assert [row for row, _ in found[-2:]] == ['id: 2000; name: 5" pipe, black; size: 20', "id: 2001; name: x; size: 7"]
    assert said == []


@pytest.mark.parametrize("cell", [r'"C:\"', r'"a ""b\"" c"', r'"C:\\"', r"5\, or 6"])
def test_other_backslashes_escape_nothing(cell: str, tmp_path: Path) -> None:
    found, said = read(f"id,name,size\n1,{cell},10\n2,x,20\n", tmp_path)
    assert found[-1][0] == "id: 2; name: x; size: 20"
    assert "\\" in found[0][0]
    assert said == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("Id,Stars,Votes\n1,2,3\n2,5,10\n3,4,8\n", ["Id: 1; Stars: 2; Votes: 3", "Id: 2; Stars: 5; Votes: 10"]),
        ("user,film,stars\n1,2,3\n1,7,4\n", ["user: 1; film: 2; stars: 3", "user: 1; film: 7; stars: 4"]),
        ("Land,Men,Women\n1,2,3\nPeru,50,60\nMali,70,80\n", ["Land: Peru; Men: 50; Women: 60"]),
        ("Year,Born,Died\n1,2,3\n1990,50,60\n1991,70,80\n", ["Year: 1990; Born: 50; Died: 60"]),
        ("No,Name,Sum\n1,2,3\n1,Ann,60\n2,Bo,80\n", ["No: 1; Name: Ann; Sum: 60"]),
    ],
)
def test_a_first_record_that_counts_up_is_a_record(text: str, rows: list[str], tmp_path: Path) -> None:
    """A row that numbers the columns has other data below."""
    assert [row for row, _ in read(text, tmp_path)[0]][: len(rows)] == rows


def test_quoted_cells_go_on_over_lines(tmp_path: Path) -> None:
    found, said = read('a,b\n"x ""1""\ny",1\n"z\n",2', tmp_path)
    assert found == [('a: x "1" y; b: 1', "A2:B2"), ("a: z; b: 2", "A3:B3")]
    assert said == []


@pytest.mark.parametrize("line", ['"a"b,"c\n', '"a\n', '"""x\n', '"a,""\n'])
def test_many_quotes_that_are_never_closed_take_linear_time(line: str, tmp_path: Path) -> None:
    begun = time.process_time()
    found, _ = read(line * 20_000, tmp_path)
    assert len(found) > 0
    assert time.process_time() - begun < 20
