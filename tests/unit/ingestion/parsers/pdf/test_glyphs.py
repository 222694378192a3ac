"""Glyphs without a character: a minus sign stays one, nothing that is drawn is deleted, a jumble is not searched."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import (
    WARNING_KIND_PAGES_WITHOUT_TEXT,
    WARNING_KIND_PARTS_UNREADABLE,
    WARNING_KIND_UNREADABLE_TEXT,
    ReadingWarning,
)
from footnote_ingestion.parsers.base import FURNITURE, LIST_ITEM, BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.pdf import listed
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.ingestion_client import assert_spans_exact

HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
PROSE = (
    "The committee met in the small hall and it was decided that the bridge is to be closed for the winter. "
    "All of those who live on the other side of the river will have to take the boat until the work is done."
)


def made(pages: list[bytes], font: bytes, more: bytes = b"null") -> bytes:
    """A PDF of content streams with the fonts F1, which is `font`, and F2, plain Helvetica; `more` is object 4."""
    kids = b" ".join(b"%d 0 R" % (6 + 2 * index) for index in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        font, more, HELVETICA,
    ]  # fmt: skip
    for index, content in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R/F2 5 0 R>>>>"
            b"/Contents %d 0 R>>" % (7 + 2 * index)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
    data = b"%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return data + end % (len(objects) + 1, table, len(objects) + 1, len(data))


def mapped(code: int, to: int) -> tuple[bytes, bytes]:
    """Helvetica whose character `code` is said to be the character `to`."""
    stream = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <00> "
        b"<FF> endcodespacerange 1 beginbfchar <%02X> <%04X> endbfchar endcmap end end" % (code, to)
    )
    return HELVETICA[:-2] + b"/ToUnicode 4 0 R>>", b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)


def nameless(shift: int) -> tuple[bytes, bytes]:
    """A font that names no character; its glyph numbers are those of ASCII and `shift` more."""
    names = b"".join(b"/g%d" % code for code in range(1, 128))
    descriptor = (
        b"<</Type/FontDescriptor/FontName/ABCDEF+X/Flags 4/FontBBox[0 0 500 700]/ItalicAngle 0/Ascent 700/Descent 0"
        b"/CapHeight 700/StemV 80>>"
    )
    font = b"<</Type/Font/Subtype/Type1/BaseFont/ABCDEF+X/FirstChar 1/LastChar 127/Widths[%s]/FontDescriptor %s" % (
        b"500 " * 127, descriptor,
    )  # fmt: skip
    return font + b"/Encoding<</Type/Encoding/Differences[1%s]>>>>" % names, b"null"


def lines(font: str, texts: list[bytes], top: int = 700) -> bytes:
    shown = b" ".join(b"<%s> Tj 0 -14 Td" % text.hex().encode() for text in texts)
    return b"BT /%s 11 Tf 60 %d Td %s ET" % (font.encode(), top, shown)


def wrapped(text: str, shift: int = 0) -> list[bytes]:
    words, found = text.split(), [""]
    for word in words:
        if len(found[-1]) + len(word) > 70:
            found.append("")
        found[-1] += (" " if found[-1] else "") + word
    return [bytes((ord(char) + shift) % 128 or 1 for char in line) for line in found]


def read(folder: Path, data: bytes, limits: Limits | None = None) -> tuple[list[Block], list[ReadingWarning]]:
    path = folder / "made.pdf"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, limits or Limits())
    PdfParser().parse(path, out, limits or Limits())
    assert_spans_exact(blocks)
    return blocks, out.noticed.warnings()


@pytest.mark.parametrize("to", [0, 1, 2, 3, 8, 0x0B, 0x0D, 0x0A, 0x1F, 0x7F, 0x80, 0x9F, 0xFFFE])
def test_a_minus_sign_said_to_be_a_control_character_stays_one(to: int, tmp_path: Path) -> None:
    font, more = mapped(ord("-"), to)
    content = lines("F1", [b"The first is -0.9393 and the last -12.", b"-7 stands at the beginning."])
    blocks, warnings = read(tmp_path, made([content, lines("F2", wrapped(PROSE))], font, more))
    text = " ".join(block.text for block in blocks)
    assert "is \u22120.9393 and the last \u221212." in text
    assert "\u22127 stands" in text
    (warning,) = [one for one in warnings if one.kind == WARNING_KIND_UNREADABLE_TEXT]
    assert warning.count == 3
    assert {place.page.page for place in warning.places} == {1}


@pytest.mark.parametrize("to", [0, 1, 2, 0x1F, 0xFFFE])
def test_any_other_glyph_is_shown_to_be_there(to: int, tmp_path: Path) -> None:
    font, more = mapped(ord("Q"), to)
    blocks, (warning,) = read(tmp_path, made([lines("F1", [b"The sum of Q is 4 and Q5 is less."])], font, more))
    assert blocks[0].text == "The sum of \ufffd is 4 and \ufffd5 is less."
    assert (warning.kind, warning.count) == (WARNING_KIND_UNREADABLE_TEXT, 2)


@pytest.mark.parametrize(
    ("font", "code", "shown"),
    [
        ("Symbol", 0xF0B3, "≥"),
        ("SymbolMT", 0xF0B3, "≥"),
        ("ABCDEF+Wingdings-Regular", 0xF0E0, "→"),
        ("ABCDEF+Wingdings2", 0xF050, "✓"),
        ("Helvetica", 0xF0B3, "\uf0b3"),
        ("Helvetica", 0xF0B7, "•"),
    ],
)
def test_characters_of_symbol_fonts_are_read(font: str, code: int, shown: str, tmp_path: Path) -> None:
    described, more = mapped(ord("A"), code)
    described = described.replace(b"/Helvetica", b"/%s" % font.encode())
    content = lines("F1", [b"A"]) + b" " + lines("F2", [b"5 mg of it are the dose."], 680)
    blocks, _ = read(tmp_path, made([content], described, more))
    assert " ".join(block.text for block in blocks) == f"{shown} 5 mg of it are the dose."


def test_bullets_of_symbol_fonts_begin_items(tmp_path: Path) -> None:
    font, more = mapped(ord("~"), 0xF0B7)
    texts = [b"The following rules hold for all members of the club who live in this town:"]
    texts += [b"~ Children under the age of ten do not pay anything at all if they come al%d" % at for at in range(3)]
    blocks, _ = read(tmp_path, made([lines("F1", texts)], font, more))
    assert [block.text[:10] for block in blocks if block.kind == LIST_ITEM] == ["• Children"] * 3


def test_soft_hyphens_that_are_drawn_stay(tmp_path: Path) -> None:
    font, more = mapped(ord("-"), 0xAD)
    blocks, _ = read(tmp_path, made([lines("F1", [b"It was -5 at the well-known bridge."])], font, more))
    assert blocks[0].text == "It was -5 at the well-known bridge."


@pytest.mark.parametrize("hyphen", [0x2D, 0xAD, 0x2010])
def test_words_cut_at_the_end_of_a_line_are_made_whole(hyphen: int, tmp_path: Path) -> None:
    font, more = mapped(ord("-"), hyphen)
    text = [
        b"The well-known commit-",
        b"tee met in the hall with a co-",
        b"worker, and the co-worker spoke of 2-",
        b"3 plans.",
    ]
    blocks, warnings = read(tmp_path, made([lines("F1", text)], font, more))
    (written,) = {block.text.replace("\u2010", "-") for block in blocks}
    assert (
        written == "The well-known committee met in the hall with a co-worker, and the co-worker spoke of 2- 3 plans."
    )
    assert warnings == []


def test_a_word_cut_at_the_end_of_a_page_goes_on_below_its_notes(tmp_path: Path) -> None:
    upper = b" ".join(
        (
            lines(
                "F2", [b"All customers of the group are told of the changes in the rules that concern them by let-"], 90
            ),
            lines("F2", [b"1 See the register of companies."], 60).replace(b"11 Tf", b"7 Tf"),
        )
    )
    lower = lines("F2", [b"ter or by mail. A letter needs a stamp."])
    blocks, _ = read(tmp_path, made([upper, lower], HELVETICA))
    assert [block.text for block in blocks] == [
        "All customers of the group are told of the changes in the rules that concern them by letter or by mail. "
        "A letter needs a stamp.",
        "1 See the register of companies.",
    ]


@pytest.mark.parametrize("shift", [-29, 3, -60])
def test_a_jumble_is_kept_apart_and_said(shift: int, tmp_path: Path) -> None:
    font, more = nameless(shift)
    pages = [lines("F2", wrapped(PROSE)), lines("F1", wrapped(PROSE, shift)), lines("F1", wrapped(PROSE, shift))]
    blocks, warnings = read(tmp_path, made(pages, font, more))
    searched = [block for block in blocks if block.kind != FURNITURE]
    assert {block.locator.page.page for block in searched} == {1}
    assert {block.locator.page.page for block in blocks if block.kind == FURNITURE} == {2, 3}
    jumble = next(one for one in warnings if "lines" in one.text)
    assert (jumble.kind, jumble.count) == (WARNING_KIND_UNREADABLE_TEXT, 2 * len(wrapped(PROSE)))
    assert [place.page.page for place in jumble.places] == [2, 3]


@pytest.mark.parametrize("shift", [-29, -60])
def test_a_file_of_nothing_but_a_jumble_is_refused_with_what_to_do(shift: int, tmp_path: Path) -> None:
    font, more = nameless(shift)
    with pytest.raises(ParseError) as caught:
        read(tmp_path, made([lines("F1", wrapped(PROSE, shift))], font, more))
    assert caught.value.reason == "NO_TEXT"
    assert "OCR" in caught.value.hint


@pytest.mark.parametrize(
    "text", [PROSE, "Le pont est ferm pour la saison et les gens de la ville vont par le bateau. " * 3]
)
def test_a_font_without_names_whose_numbers_are_letters_is_text(text: str, tmp_path: Path) -> None:
    font, more = nameless(0)
    blocks, warnings = read(tmp_path, made([lines("F1", wrapped(text))], font, more))
    assert " ".join(block.text for block in blocks).startswith(text[:40])
    assert warnings == []


def test_figures_in_a_font_without_names_are_text(tmp_path: Path) -> None:
    font, more = nameless(0)
    rows = [b"2019 4,512 1,204", b"2020 5,817 1,377", b"2021 6,002 1,421", b"2022 6,114 1,498"]
    blocks, _ = read(tmp_path, made([lines("F2", wrapped(PROSE)), lines("F1", rows)], font, more))
    assert any("5,817" in block.text for block in blocks if block.kind != FURNITURE)


def test_ligatures_of_fonts_without_names_are_read(tmp_path: Path) -> None:
    font, more = nameless(0)
    data = made([lines("F1", [b"The o\x1ece has \x10\x1cve\x11 sta\x1b and \x1c + 1."])], font, more)
    blocks, (warning,) = read(tmp_path, data)
    assert blocks[0].text == "The office has “five” staff and \ufffd + 1."
    assert warning.count == 1


def placed(font: str, left: int, base: int, text: str) -> bytes:
    return b"BT /%s 10 Tf %d %d Td (%s) Tj ET " % (font.encode(), left, base, text.encode())


def underlined(*rows: tuple[int, str]) -> bytes:
    """Three underlined headers above these rows, each a base and a name in the font F1, and four rows of words."""
    content = b""
    for left, name in ((50, "No."), (150, "Title"), (300, "Form")):
        content += placed("F2", left, 700, name) + b"%d 697 m %d 697 l S " % (left, left + 90)
    for base, name in rows:
        content += placed("F1", 52, base, name)
    for at in range(4):
        for left, text in ((52, f"2.{at}"), (152, "Plan of merger"), (302, "Annex")):
            content += placed("F2", left, 674 - 16 * at, text)
    return content


@pytest.mark.parametrize("blank", [0x200B, 0x200E, 0x2060])
def test_a_line_without_a_visible_character_is_no_row(tmp_path: Path, blank: int) -> None:
    blocks, _ = read(tmp_path, made([underlined((686, "~~"), (610, "~~"))], *mapped(ord("~"), blank)))
    assert [block.text for block in blocks] == [f"No.: 2.{at}; Title: Plan of merger; Form: Annex" for at in range(4)]


def test_a_fault_of_the_search_for_tables_leaves_the_text_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("max() iterable argument is empty")

    monkeypatch.setattr(listed, "_rows", fail)
    blocks, (warning,) = read(tmp_path, made([placed("F2", 52, 700, "Before"), underlined()], HELVETICA))
    words = " ".join(block.text for block in blocks).split()
    assert sorted(words) == sorted(
        ["Before", "No.", "Title", "Form", *(f"2.{at}" for at in range(4)), *4 * ["Plan", "of", "merger", "Annex"]]
    )
    assert warning.kind == WARNING_KIND_PARTS_UNREADABLE
    assert warning.text == "tables of 1 pages could not be read; their text is read without columns"
    assert [place.page.page for place in warning.places] == [2]


def test_too_little_memory_for_tables_ends_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(listed, "_rows", fail)
    with pytest.raises(MemoryError):
        read(tmp_path, made([underlined()], HELVETICA))


def test_a_page_of_characters_that_are_not_visible_has_no_text(tmp_path: Path) -> None:
    pages = [placed("F1", 52, 700, "~"), placed("F2", 52, 700, "Read")]
    blocks, warnings = read(tmp_path, made(pages, *mapped(ord("~"), 0x200B)))
    assert [block.text for block in blocks] == ["Read"]
    assert [(one.kind, [place.page.page for place in one.places]) for one in warnings] == [
        (WARNING_KIND_PAGES_WITHOUT_TEXT, [1])
    ]
