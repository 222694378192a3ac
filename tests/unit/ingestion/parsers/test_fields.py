"""Fields of Word documents, and files imported into them: what a reader sees of them is read."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.office import legacy

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def char(kind: str, form: str = "") -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}">{form and f"<w:ffData>{form}</w:ffData>"}</w:fldChar></w:r>'


def text(words: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{words}</w:t></w:r>'


def field(code: str, result: str, form: str = "") -> str:
    """A field whose code may hold fields between its words."""
    return f"{char('begin', form)}{code}{char('separate')}{result}{char('end')}"


def code(words: str) -> str:
    return f'<w:r><w:instrText xml:space="preserve"> {words} </w:instrText></w:r>'


def read(runs: str, tmp_path: Path) -> str:
    document = docx.Document()
    document.element.body.insert(0, parse_xml(f"<w:p {W}>{runs}</w:p>"))
    document.save(str(tmp_path / "a.docx"))
    blocks: list[Block] = []
    parser_for("docx").parse(tmp_path / "a.docx", BlockWriter(blocks.append, Limits()), Limits())
    return "|".join(block.text for block in blocks)


SEX = field(code("MERGEFIELD sex"), text("F"))
DOUBLED = field(code("=") + field(code("MERGEFIELD n"), text("12")) + code("* 2"), text("24"))


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        (text("Dear ") + field(code("IF") + SEX + code('= "F" "Ms" "Mr"'), text("Ms")) + text(" Ito"), "Dear Ms Ito"),
        (text("Pay ") + DOUBLED + text(" EUR."), "Pay 24 EUR."),
        (text("Pay ") + field(code("QUOTE"), text("about ") + DOUBLED) + text(" EUR."), "Pay about 24 EUR."),
        (text("Pay ") + char("begin") + code("XE") + text("fee") + char("end") + text("now."), "Pay now."),
        (text("Pay ") + char("begin") + text("now."), "Pay now."),
        (text("Pay ") + char("separate") + text("now") + char("end") + text("."), "Pay now."),
        (field(char("begin") + code("="), text("24")) + text(" EUR."), "24 EUR."),
    ],
)
def test_results_of_fields_are_read_and_not_their_code(runs: str, shown: str, tmp_path: Path) -> None:
    assert read(runs, tmp_path) == shown


LIST = '<w:ddList>{}<w:listEntry w:val="Peru"/><w:listEntry w:val="Chad"/></w:ddList>'


@pytest.mark.parametrize(
    ("form", "result", "shown"),
    [
        ("<w:checkBox><w:checked/></w:checkBox>", "", "☑"),
        ("<w:checkBox><w:default w:val='1'/></w:checkBox>", "", "☑"),
        ("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "", "☐"),
        ("<w:checkBox/>", "", "☐"),
        (LIST.format("<w:result w:val='1'/>"), "", "Chad"),
        (LIST.format("<w:default w:val='1'/>"), "", "Chad"),
        (LIST.format(""), "", "Peru"),
        (LIST.format("<w:result w:val='1'/>"), text("Chad"), "Chad"),
        (LIST.format("<w:result w:val='99999999'/>"), "", ""),
        ("<w:textInput><w:default w:val='Peru'/></w:textInput>", text("Chad"), "Chad"),
    ],
)
def test_ticks_and_choices_of_forms_are_read(form: str, result: str, shown: str, tmp_path: Path) -> None:
    runs = text("So: ") + field(code("FORM"), result, form) + text(" it is.")
    assert read(runs, tmp_path) == " ".join(f"So: {shown} it is.".split())


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('Dear \x13 IF \x13MERGEFIELD x\x14F\x15 = "F" "Ms" "Mr" \x14Ms\x15 Ito', "Dear Ms Ito"),
        ("\x13 TOC \x14Chapter \x13 PAGE \x147\x15", "Chapter 7"),
        ("the end\x15 and \x13 XE fee\x15so on \x13 IF ", "the end and so on "),
    ],
)
def test_results_of_fields_of_word_97_are_read(stored: str, shown: str) -> None:
    assert legacy._without_code(stored) == shown


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("text/html", b"<h1>Terms</h1><p>The limit is 42 kg.</p>", ["Terms", "The limit is 42 kg."]),
        ("application/rtf", rb"{\rtf1 The limit is 42 kg.\par}", ["The limit is 42 kg."]),
        ("text/plain; charset=utf-8", b"The limit is 42 kg.", ["The limit is 42 kg."]),
        ("message/rfc822", b"", []),
    ],
)
def test_files_imported_into_word_are_read(kind: str, content: bytes, expected: list[str], tmp_path: Path) -> None:
    document = docx.Document()
    part = Part(PackURI("/word/chunk.dat"), kind, content, document.part.package)
    known = document.part.relate_to(part, f"{RELATIONS}/aFChunk")
    names = f'{W} xmlns:r="{RELATIONS}"'
    for number in (known, "none") if expected else (known,):
        document.element.body.insert(0, parse_xml(f'<w:altChunk {names} r:id="{number}"/>'))
    document.save(str(tmp_path / "a.docx"))
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for("docx").parse(tmp_path / "a.docx", out, Limits())
    assert [block.text for block in blocks] == expected
    words = "files within the document are missing" if expected else "files within the document are not read"
    assert [one.text for one in out.noticed.warnings()] == [f"1 {words}"]
