"""Hebrew and Arabic are read in the order in which they were written, with their numbers, names and brackets."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import PARAGRAPH, TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.pdf.bidi import logical
from footnote_ingestion.parsers.pdf.parser import PdfParser
from fpdf.bidi import BidiParagraph
from fpdf.enums import TextDirection

RIGHT = [
    "שלום לכולם, זהו מבחן של 2023 שנים.",
    'המחיר הוא 1,234.56 ש"ח ועוד 15% מס.',
    "החברה Footnote Ltd הוקמה בשנת 1998 בתל אביב.",
    "פרק 3: תוצאות (2019-2020) של Apple Inc. ב-Q3",
    "משרד ה-IT של Google Inc.",
    "בשורה 10 20 30 נתונים",
    "2023 היא שנה טובה",
    "הטלפון: 03-1234567 או 050-7654321",
    "ראה https://example.com/a?b=1 לפרטים",
    'הוא אמר "שלום" והלך (אל הים).',
    "החברה Apple (2019) היא חברה",
    "ראה [3], [4] ועוד",
    "وفقا للتقرير رقم 45 لسنة 2021 بلغت الأرباح 12.5 مليون",
    "استخدم نظام Linux 5.10 في 2020 فقط",
    "الأرقام ١٢٣٤ و ٥٦٧٨ في سنة ٢٠٢٣",
]
LEFT = [
    "The word שלום means peace.",
    "The words שלום עולם stand here, (שלום) too.",
    "Price of the ערך is 123 today.",
    "In 2023 the وفقا للتقرير said 12.5 more.",
]
TURNED = str.maketrans("()[]", ")(][")


def seen(text: str, backwards: bool) -> str:
    """Return a line from left to right as it is shown, with brackets as written."""
    way = TextDirection.RTL if backwards else TextDirection.LTR
    return "".join(char.character for char in BidiParagraph(text, base_direction=way).get_reordered_characters())


def page(lines: list[tuple[int, int, str]], by_word: bool = False, rules: bytes = b"") -> bytes:
    """A PDF of lines from the left as they are seen, at their places, each character 6 points wide."""
    chars = sorted({char for _, _, line in lines for char in line})
    code = {char: b"%02x" % (33 + at) for at, char in enumerate(chars)}
    names = b"".join(b"<%s> <%04x>\n" % (code[char], ord(char)) for char in chars)
    to_unicode = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange "
        b"<00> <FF> endcodespacerange %d beginbfchar\n%sendbfchar endcmap end end" % (len(chars), names)
    )
    shown = []
    for left, top, line in lines:
        at = 0
        for part in line.split(" ") if by_word else [line]:
            glyphs = b"".join(code[char] for char in part)
            shown.append(b"1 0 0 1 %d %d Tm <%s> Tj" % (left + 6 * at, top, glyphs))
            at += len(part) + 1
    content = rules + b" BT /F 10 Tf " + b" ".join(shown) + b" ET"
    widths = b"600 " * len(chars)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 4 0 R>>>>/Contents 6 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier/FirstChar 33/LastChar %d/Widths[%s]/ToUnicode 5 0 R>>"
        % (32 + len(chars), widths),
        *(b"<</Length %d>>stream\n%s\nendstream" % (len(one), one) for one in (to_unicode, content)),
    ]  # fmt: skip
    data = b"%PDF-1.7\n"
    for number, one in enumerate(objects, 1):
        data += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    return data + b"trailer<</Size %d/Root 1 0 R>>\n%%%%EOF" % (len(objects) + 1)


def read(data: bytes, path: Path) -> list[Block]:
    path.write_bytes(data)
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return blocks


@pytest.mark.parametrize("by_word", [False, True], ids=["by line", "by word"])
@pytest.mark.parametrize("text", [*RIGHT, *LEFT])
def test_a_line_is_read_as_it_was_written(text: str, by_word: bool, tmp_path: Path) -> None:
    data = page([(72, 700, seen(text, text in RIGHT))], by_word)
    assert [block.text for block in read(data, tmp_path / "page.pdf")] == [text]


@pytest.mark.parametrize("text", ["תוצאות (2019-2020) של שנה", "ראה [3], [4] ועוד (גם כאן)"])
def test_brackets_are_the_right_way_round_whichever_of_them_a_font_names(text: str) -> None:
    assert logical(seen(text, backwards=True), False)[0] == text
    assert logical(seen(text, backwards=True).translate(TURNED), False)[0] == text


def test_marks_stay_on_their_letters_and_ligatures_whole(tmp_path: Path) -> None:
    text = "הסכום 12 לא"
    ligature = seen("قال \ufefb 12 كتاب", backwards=True)
    blocks = read(page([(72, 700, seen(text, backwards=True)), (72, 600, ligature)]), tmp_path / "page.pdf")
    assert [block.text for block in blocks] == [text, "قال لا 12 كتاب"]


def test_lines_ragged_at_the_left_are_one_paragraph(tmp_path: Path) -> None:
    lines = [
        "זהו המשפט הראשון של פסקה שלמה והוא ממשיך הלאה אל",
        "השורה השנייה שהיא קצת קצרה מן הראשונה ואחריה",
        "השורה השלישית שהיא שוב ארוכה כמו זו הראשונה ואז",
        "סוף.",
    ]
    placed = [(500 - 6 * len(line), 700 - 14 * at, seen(line, backwards=True)) for at, line in enumerate(lines)]
    blocks = read(page(placed), tmp_path / "page.pdf")
    assert [(block.kind, block.text) for block in blocks] == [(PARAGRAPH, " ".join(lines))]


def test_words_of_a_cell_are_in_their_order(tmp_path: Path) -> None:
    cells = [("שם החברה", "סך הכול"), ("בנק לאומי", "1,200"), ("חברת Google Inc", "3,400")]
    # Which way a cell of words of both kinds is read, the page says.
    placed, rules = [], b""
    for row, (name, value) in enumerate(cells):
        placed += [
            (310, 706 - 20 * row, seen(name, backwards=True)),
            (110, 706 - 20 * row, seen(value, backwards=True)),
        ]
    for row in range(4):
        rules += b"100 %d m 500 %d l S " % (720 - 20 * row, 720 - 20 * row)
    for left in (100, 300, 500):
        rules += b"%d 660 m %d 720 l S " % (left, left)
    blocks = read(page(placed, rules=rules), tmp_path / "page.pdf")
    rows = [block.text for block in blocks if block.kind == TABLE_ROW]
    assert len(rows) == 2
    for text in ("שם החברה", "סך הכול", "בנק לאומי", "1,200"):
        assert text in rows[0]
    assert "חברת Google Inc" in rows[1]


def test_the_first_column_of_a_table_read_from_the_right_is_the_rightmost(tmp_path: Path) -> None:
    cells = [("שם החברה", "הכנסות", "רווח"), ("בנק לאומי", "1,200", "300"), ("בנק הפועלים", "3,400", "410")]
    placed, rules = [], b""
    for row, texts in enumerate(cells):
        placed += [(410 - 150 * at, 706 - 20 * row, seen(text, backwards=True)) for at, text in enumerate(texts)]
    for row in range(4):
        rules += b"100 %d m 550 %d l S " % (720 - 20 * row, 720 - 20 * row)
    for left in (100, 250, 400, 550):
        rules += b"%d 660 m %d 720 l S " % (left, left)
    blocks = read(page(placed, rules=rules), tmp_path / "page.pdf")
    rows = [block for block in blocks if block.kind == TABLE_ROW]
    assert [block.text for block in rows] == [
        "שם החברה: בנק לאומי; הכנסות: 1,200; רווח: 300",
        "שם החברה: בנק הפועלים; הכנסות: 3,400; רווח: 410",
    ]
    lefts = [anchor.locator.page.box.left for anchor in rows[0].anchors]
    assert lefts == sorted(lefts, reverse=True)
    assert len(lefts) == 3


def test_a_table_without_borders_is_read_from_the_right(tmp_path: Path) -> None:
    cells = [
        ("", "2023", "2022"),
        ("בנק לאומי", "1,200", "300"),
        ("בנק הפועלים", "3,400", "410"),
        ("סך הכול", "4,600", "710"),
    ]
    placed = []
    for row, (name, *values) in enumerate(cells):
        if name:
            placed.append((520 - 6 * len(name), 700 - 16 * row, seen(name, backwards=True)))
        placed += [(left, 700 - 16 * row, value) for left, value in zip((300, 150), values, strict=True)]
    blocks = read(page(placed), tmp_path / "page.pdf")
    rows = [block for block in blocks if block.kind == TABLE_ROW]
    assert [block.text for block in rows] == [
        "בנק לאומי; 2023: 1,200; 2022: 300",
        "בנק הפועלים; 2023: 3,400; 2022: 410",
        "סך הכול; 2023: 4,600; 2022: 710",
    ]
    lefts = [anchor.locator.page.box.left for anchor in rows[0].anchors]
    assert lefts == sorted(lefts, reverse=True)
    assert all(anchor.locator.page.box.right > anchor.locator.page.box.left > 100 for anchor in rows[0].anchors)
