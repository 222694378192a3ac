"""One damaged part of a package loses itself alone, and says so: every part of each kind, damaged in every way."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from footnote.types.v1.document_pb2 import WarningKind
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.sheets.parser import _warn_of, beside_cells
from support.packages import DAMAGES, MADE, every

pytestmark = pytest.mark.full

LOSS = {WarningKind.WARNING_KIND_PARTS_UNREADABLE, WarningKind.WARNING_KIND_DAMAGED}
WORDS = {
    "docx": ["Bodyword", "Listword", "Lastword", "Commentword", "Headword", "Footword", "Noteword", "4711"],
    "pptx": ["Bodyword", "Lastword", "Noteword", "4711"],
    "xlsx": ["Onehead", "BodyOne", "CommentOne", "Twohead", "BodyTwo", "CommentTwo", "47.1%"],
    "odt": ["Bodyword", "Lastword", "Headword"],
}
# Without these a document has no text, places are unknown, or dates are taken for numbers.
VITAL = {
    "docx": {"[Content_Types].xml", "_rels/.rels", "word/document.xml", "word/_rels/document.xml.rels"},
    "pptx": {"[Content_Types].xml", "_rels/.rels", "ppt/presentation.xml", "ppt/_rels/presentation.xml.rels"},
    "xlsx": {
        "[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml",
        "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml", "xl/styles.xml",
    },
    "odt": {"content.xml"},
}  # fmt: skip
OWN = {
    "docx": {
        "word/comments.xml": {"Commentword"}, "word/header1.xml": {"Headword"}, "word/footer1.xml": {"Footword"},
        "word/footnotes.xml": {"Noteword"}, "word/charts/chart1.xml": {"4711"},
    },
    "pptx": {
        "ppt/notesSlides/notesSlide1.xml": {"Noteword"}, "ppt/charts/chart1.xml": {"4711"},
        "ppt/slides/slide1.xml": {"Bodyword", "Noteword", "4711"}, "ppt/slides/slide2.xml": {"Lastword"},
        "ppt/slides/_rels/slide1.xml.rels": {"Noteword", "4711"},
    },
    "xlsx": {
        "xl/comments1.xml": {"CommentOne"}, "xl/comments2.xml": {"CommentTwo"},
        "xl/worksheets/_rels/sheet1.xml.rels": {"CommentOne"}, "xl/worksheets/_rels/sheet2.xml.rels": {"CommentTwo"},
    },
    "odt": {"styles.xml": {"Headword"}},
}  # fmt: skip
"""Words that may go with a part."""


@cache
def made(kind: str) -> bytes:
    return MADE[kind]()


def read(kind: str, data: bytes, folder: Path) -> tuple[str, dict[str, WarningKind.ValueType]]:
    path = folder / f"file.{kind}"
    path.write_bytes(data)
    texts: list[str] = []
    out = BlockWriter(lambda block: texts.append(block.text), Limits())
    parser_for(kind).inspect(path, Limits())
    parser_for(kind).parse(path, out, Limits())
    return "\n".join(texts), {one.text: one.kind for one in out.noticed.warnings()}


def cases() -> Iterator[tuple[str, str, str]]:
    for kind, name, damage in every():
        if name not in VITAL[kind]:
            yield kind, name, damage


@pytest.mark.parametrize("kind", MADE)
def test_a_sound_package_has_all_its_words(kind: str, tmp_path: Path) -> None:
    text, warnings = read(kind, made(kind), tmp_path)
    assert [word for word in WORDS[kind] if word not in text] == []
    assert not LOSS & set(warnings.values())


@pytest.mark.parametrize(("kind", "name", "damage"), list(cases()))
def test_a_damaged_part_loses_itself_alone_and_says_so(kind: str, name: str, damage: str, tmp_path: Path) -> None:
    text, warnings = read(kind, DAMAGES[damage](made(kind), name), tmp_path)
    lost = {word for word in WORDS[kind] if word not in text}
    assert lost <= OWN[kind].get(name, set())
    if lost and (kind, name, damage) != ("odt", "styles.xml", "missing"):  # nothing says that there was one
        assert LOSS & set(warnings.values()), warnings


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in MADE for name in sorted(VITAL[kind])])
def test_without_what_is_vital_it_is_refused_or_read_whole(kind: str, name: str, damage: str, tmp_path: Path) -> None:
    try:
        text, warnings = read(kind, DAMAGES[damage](made(kind), name), tmp_path)
    except ParseError:
        return
    lost = {word for word in WORDS[kind] if word not in text}
    assert not lost or LOSS & set(warnings.values())


def test_of_a_binary_workbook_it_is_said_that_nothing_is_looked_for_beside_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "file.xlsb"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("xl/workbook.bin", b"")
    out = BlockWriter(lambda block: None, Limits())
    _warn_of(beside_cells(path).of_sheet("One"), "One", out)
    [warning] = out.noticed.warnings()
    assert (warning.kind, warning.places[0].sheet.sheet) == (WarningKind.WARNING_KIND_CONTENT_LEFT_OUT, "One")
