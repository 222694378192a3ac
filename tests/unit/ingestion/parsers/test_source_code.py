"""Source code keeps its lines, their indentation and their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_CODE, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import MAX_BLOCK, BlockWriter, Limits
from footnote_ingestion.parsers.sniff import sniff
from support.ingestion_client import assert_spans_exact

PROGRAM = '''"""Reads the gauge."""

import serial

def pressure(port):
    with serial.Serial(port) as gauge:
        return float(gauge.readline())  # bar


if __name__ == "__main__":
    print(pressure("/dev/ttyS0"))
'''


def read(text: str, kind: str, tmp_path: Path) -> list[Block]:
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for(kind).parse(path, out, Limits())
    assert_spans_exact(blocks)
    return blocks


def lines(block: Block) -> tuple[int, int]:
    return block.locator.lines.first_line, block.locator.lines.last_line


def told(name: str, text: str, tmp_path: Path) -> str:
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    return sniff(path, name).document_type


@pytest.mark.parametrize(
    "name",
    [
        "gauge.py", "Gauge.java", "gauge.c", "gauge.rs", "gauge.go", "gauge.ts", "gauge.sql", "gauge.sh", "gauge.yaml",
        "gauge.toml", "gauge.json", "gauge.ini", "Makefile", "Dockerfile", "CMakeLists.txt", "src/deep/gauge.rb",
    ],
)  # fmt: skip
def test_source_code_is_told_by_its_name(name: str, tmp_path: Path) -> None:
    assert told(name, PROGRAM, tmp_path) == "code"


@pytest.mark.parametrize(
    "name", ["notes.txt", "README", "server.log", "paper.tex", "guide.rst", "guide.org", "robots.txt", "letter", ""]
)
def test_prose_is_not(name: str, tmp_path: Path) -> None:
    assert told(name, PROGRAM, tmp_path) == "txt"


def test_a_program_that_writes_pages_is_no_page(tmp_path: Path) -> None:
    text = 'PAGE = "<html><body><p>{}</p><p>{}</p></body></html>"\nprint(PAGE)\n'
    assert told("page.py", text, tmp_path) == "code"
    assert told("page.txt", text, tmp_path) == "html"


@pytest.mark.parametrize("name", ["page.xml", "page.php", "page.jsp"])
def test_a_page_under_another_name_is_a_page(name: str, tmp_path: Path) -> None:
    assert told(name, "<!doctype html><html><body><p>All prices rose.</p></body></html>", tmp_path) == "html"


def test_markup_of_another_kind_keeps_its_lines(tmp_path: Path) -> None:
    assert told("rates.xml", '<?xml version="1.0"?>\n<rates>\n  <rate>1</rate>\n</rates>\n', tmp_path) == "code"


def test_what_stands_between_blank_lines_is_a_block_with_its_lines(tmp_path: Path) -> None:
    blocks = read(PROGRAM, "code", tmp_path)
    assert {block.kind for block in blocks} == {BLOCK_KIND_CODE}
    assert [block.text for block in blocks] == [
        '"""Reads the gauge."""',
        "import serial",
        "def pressure(port):\n    with serial.Serial(port) as gauge:\n        return float(gauge.readline())  # bar",
        'if __name__ == "__main__":\n    print(pressure("/dev/ttyS0"))',
    ]
    assert [lines(block) for block in blocks] == [(1, 1), (3, 3), (5, 7), (10, 11)]


def test_every_line_has_its_number(tmp_path: Path) -> None:
    block = read(PROGRAM, "code", tmp_path)[2]
    assert [(block.text[one.span.start : one.span.end], one.locator.lines.first_line) for one in block.anchors] == [
        ("def pressure(port):", 5),
        ("    with serial.Serial(port) as gauge:", 6),
        ("        return float(gauge.readline())  # bar", 7),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_counts(end: str, tmp_path: Path) -> None:
    assert [lines(block) for block in read(PROGRAM.replace("\n", end), "code", tmp_path)][-1] == (10, 11)


def test_a_large_block_is_cut_between_lines(tmp_path: Path) -> None:
    count = 3 * MAX_BLOCK // 10
    blocks = read("".join(f"x = {number:05}\n" for number in range(count)), "code", tmp_path)
    assert len(blocks) == 3
    assert all(len(block.text) <= MAX_BLOCK and block.text.startswith("x = ") for block in blocks)
    assert [lines(block)[0] for block in blocks] == [1, lines(blocks[0])[1] + 1, lines(blocks[1])[1] + 1]
    assert lines(blocks[-1])[1] == count


def test_a_line_larger_than_a_block_is_cut_in_words(tmp_path: Path) -> None:
    blocks = read("word " * (MAX_BLOCK // 4), "code", tmp_path)
    assert [lines(block) for block in blocks] == [(1, 1), (1, 1)]


@pytest.mark.parametrize("fence", ["```\n{}```\n", "```python\n{}```\n"])
def test_code_in_markdown_has_the_numbers_of_its_lines(fence: str, tmp_path: Path) -> None:
    code = "def f():\n\n    return 1\n"
    (block,) = [one for one in read("# Gauge\n\n" + fence.format(code), "md", tmp_path) if one.kind == BLOCK_KIND_CODE]
    assert block.text == "def f():\n\n    return 1"
    assert lines(block) == (4, 6)
    assert [one.locator.lines.first_line for one in block.anchors] == [4, 6]


def test_indented_code_in_markdown_has_the_numbers_of_its_lines(tmp_path: Path) -> None:
    (block,) = [one for one in read("Gauge:\n\n    a = 1\n    b = 2\n", "md", tmp_path) if one.kind == BLOCK_KIND_CODE]
    assert (block.text, lines(block)) == ("a = 1\nb = 2", (3, 4))
