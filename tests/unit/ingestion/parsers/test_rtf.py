"""RTF: tables as rows with headers, notes after their paragraph, alphabets; and bodies of messages that are RTF."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import (
    FURNITURE,
    HEADING,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    TABLE_ROW,
    BlockWriter,
    Limits,
)
from footnote_ingestion.parsers.mail import MsgParser
from footnote_ingestion.parsers.texts.rtf import write_rtf
from footnote_ingestion.parsers.texts.rtf_compressed import decompress
from support.ingestion_client import assert_spans_exact


def read(body: str, head: str = r"\ansi\ansicpg1252") -> tuple[list[tuple[int, str]], list[str]]:
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    write_rtf(f"{{\\rtf1{head} {body}}}".encode("latin-1"), out)
    assert_spans_exact(blocks)
    return [(block.kind, block.text) for block in blocks], [one.text for one in out.noticed.warnings()]


def row(cells: list[str], edges: list[int] | None = None, marks: list[str] | None = None, head: str = "") -> str:
    edges = edges or [2000 * (at + 1) for at in range(len(cells))]
    marks = marks or [""] * len(cells)
    layout = "".join(f"{mark}\\cellx{edge}" for edge, mark in zip(edges, marks, strict=True))
    return f"\\trowd{head}{layout}" + "".join(f"\\pard\\intbl {cell}\\cell" for cell in cells) + "\\row\n"


def test_tables_are_rows_with_their_headers_between_their_paragraphs() -> None:
    table = row(["Name", "2022", "2023"]) + row(["Cash", "10", "12"]) + row(["Debt", "", "7\\par 8"])
    blocks, warned = read(rf"Before.\par {table}\pard After.\par")
    assert blocks == [
        (PARAGRAPH, "Before."),
        (TABLE_ROW, "Name: Cash; 2022: 10; 2023: 12"),
        (TABLE_ROW, "Name: Debt; 2023: 7 8"),
        (PARAGRAPH, "After."),
    ]
    assert not warned


@pytest.mark.parametrize("mark", ["", r"\trhdr"])
def test_merged_cells_stand_for_all_that_they_cover(mark: str) -> None:
    table = (
        row(["Land", "2023"], [2000, 6000], head=mark)
        + row(["", "North", "South"], head=mark)
        + row(["France", "1", "2"], marks=[r"\clvmgf", "", ""])
        + row(["", "3", "4"], marks=[r"\clvmrg", "", ""])
    )
    blocks, _ = read(table)
    assert [text for kind, text in blocks if kind == TABLE_ROW] == [
        "Land: France; 2023 › North: 1; 2023 › South: 2",
        "Land: France; 2023 › North: 3; 2023 › South: 4",
    ]


def test_cells_marked_as_merged_across_are_one() -> None:
    marks = ["", r"\clmgf", r"\clmrg"]
    table = row(["Land", "Sales", ""], marks=marks) + row(["", "A", "B"]) + row(["France", "1", "2"])
    assert [text for _, text in read(table)[0]] == ["Land: France; Sales › A: 1; Sales › B: 2"]


def test_a_table_within_a_table_is_text_of_its_cell() -> None:
    inner = r"{\pard\intbl\itap2 one\nestcell two\nestcell{\*\nesttableprops\trowd\cellx1000\cellx2000\nestrow}}"
    table = row(["Name", "Sum"]) + row([rf"\itap1 {inner}Cash", "1"])
    assert [text for _, text in read(table)[0]] == ["Name: one two Cash; Sum: 1"]


def test_tracked_changes_and_formulas_are_said() -> None:
    blocks, warned = read(r"Prices{\revised  rose}.\par The sum is {\mmath{\*\moMath{\mr x}}}12.\par")
    assert [text for _, text in blocks] == ["Prices rose.", "The sum is 12."]
    assert warned == ["1 formulas are left out", "1 tracked changes are read as if they were accepted"]


def test_the_choices_of_a_form_are_read_in_its_result_alone() -> None:
    form = r"{\field{\*\fldinst FORM {\*\formfield{\fftype2\ffres0{\*\ffl Peru}}}}}"
    link = r'{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt }}'
    assert [text for _, text in read(rf"So {form}it {link}is.\par end}}}} }}")[0]] == ["So it is.", "end"]


def test_pictures_and_objects_are_said() -> None:
    pictures = r"{\pict 00}{\*\shppict{\pict 00}}{\nonshppict{\pict 00}}"
    blocks, warned = read(rf"A {pictures}b {{\object{{\*\objdata 01}}{{\result{{\pict 00}}}}}}c.\par")
    assert [text for _, text in blocks] == ["A b c."]
    assert warned == [
        "1 embedded objects are not read",
        "2 pictures are not read, but for their alternative texts",
    ]


def test_notes_stand_after_their_paragraph() -> None:
    foot = r"{\super\chftn}{\footnote\pard\plain {\super\chftn} A note, {\i with} weight.}"
    end = r"{\footnote\ftnalt\pard\plain An endnote.}"
    blocks, _ = read(rf"First{foot} sentence.{end}\par Second.\par")
    assert blocks == [
        (PARAGRAPH, "First sentence."), (NOTE, "A note, with weight."), (NOTE, "An endnote."), (PARAGRAPH, "Second."),
    ]  # fmt: skip
    table = row(["Name", "Sum"]) + row(["Cash" + foot, "1"])
    blocks, _ = read(table + r"\pard After.\par")
    assert [kind for kind, _ in blocks] == [TABLE_ROW, NOTE, PARAGRAPH]


def test_a_link_cuts_no_note() -> None:
    link = r'{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt the bulletin}}'
    blocks, _ = read(rf"First{{\footnote See {link}, page 7.}}{{\footnote Another.}}\par")
    assert blocks == [(PARAGRAPH, "First"), (NOTE, "See the bulletin, page 7."), (NOTE, "Another.")]


@pytest.mark.parametrize(
    ("form", "result", "text"),
    [
        (r"\fftype1\ffres1", "", "☑"),
        (r"\fftype1\ffres25\ffdefres1", "", "☑"),
        (r"\fftype1\ffres0\ffdefres1", " ", "☐"),
        (r"\fftype2\ffres1{\*\ffl Peru}{\*\ffl Espa\'f1a \u8364?}", "", "España €"),
        (r"\fftype2\ffres1{\*\ffl Peru}{\*\ffl Chad}", "Chad", "Chad"),
        (r"\fftype2\ffres7{\*\ffl Peru}", "", ""),
        (r"\fftype0{\*\ffdeftext Peru}", "Chad", "Chad"),
    ],
)
def test_ticks_and_choices_of_forms_are_read(form: str, result: str, text: str) -> None:
    field = rf"{{\field{{\*\fldinst FORM {{\*\formfield{{{form}}}}}}}{{\fldrslt {result}}}}}"
    link = r'{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt }}'
    assert [one for _, one in read(rf"So {field}{link} it is.\par")[0]] == [" ".join(f"So {text} it is.".split())]


def test_headings_lists_comments_and_what_is_beside_the_text() -> None:
    head = r"\ansi{\stylesheet{\s0 Normal;}{\s3\sbasedon0 heading 2;}{\s4\outlinelevel2 Own;}{\*\cs5 heading 1 Char;}}"
    blocks, warned = read(
        r"{\header Annual report}{\footer Page}\pard\s3 Two\par\pard\s4 Three\par\pard\outlinelevel0 One\par\pard "
        r"Text 102{\super 3} and 5 m{\super 2}{\*\atnauthor Ann}{\*\annotation Really?}.\par "
        r"{\listtext 1.\tab}First\par\pard {\v secret}Seen{\deleted  gone}"
        r"\strike struck\strike0{\striked1 too}{\*\unknown not this}{\pict 00ff}.\par",
        head,
    )
    assert blocks == [
        (HEADING, "Two"), (HEADING, "Three"), (HEADING, "One"), (PARAGRAPH, "Text 102^3 and 5 m²."),
        (NOTE, "Comment by Ann: Really?"), (LIST_ITEM, "1. First"), (PARAGRAPH, "Seen."),
        (FURNITURE, "Annual report"), (FURNITURE, "Page"),
    ]  # fmt: skip
    assert any("4 pieces of hidden, deleted or struck text" in one for one in warned)
    assert any("2 headers and footers" in one for one in warned)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"caf\'e9 \emdash  50\'80", "café — 50€"),
        (r"\u8364?12 \u-10179?\u-8704? {\uc2\u233ab}x", "€12 😀 éx"),
        (r"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} {\f2\'83\'65\'83\'58\'83\'67} ok", "Привет テスト ok"),
        (r"a\~b\_c\-d \{x\} \\", "a b-cd {x} \\"),
        (r'{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt link}} {\*\bkmkstart b}end\bin3 }{}.', "link end."),
    ],
)
def test_characters_are_read_by_their_font_or_number(source: str, text: str) -> None:
    fonts = r"\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset128 MS;}}\f0"
    assert [one for _, one in read(source + r"\par", fonts)[0]] == [text]


def test_damaged_files_are_read_as_far_as_they_go() -> None:
    source = row(["Name", "Sum"]) + row(["Cash", "1"]) + r"{\footnote A note.} Text caf\'e9 \u233?.\par"
    whole = f"{{\\rtf1\\ansi {source}}}".encode("latin-1")
    chance = random.Random(5)
    for _ in range(300):
        data = bytearray(whole[: chance.randint(0, len(whole))])
        for _ in range(chance.randint(0, 4)):
            if data:
                data[chance.randrange(len(data))] = chance.choice(b"{}\\*'1 a\x00")
        write_rtf(bytes(data), BlockWriter(lambda block: None, Limits()))
    write_rtf(b"{\\rtf1" + b"{" * 100_000 + b"deep" + b"}" * 200_000, BlockWriter(lambda block: None, Limits()))


WRAPPED = (
    r"{\rtf1\ansi\fromhtml1 {\*\htmltag19 <html>}{\*\htmltag50 <body>}{\*\htmltag84 <h1>}\htmlrtf {\b \htmlrtf0 Title"
    r"{\*\htmltag92 </h1>}\htmlrtf }\par\htmlrtf0 {\*\htmltag64 <p>}The sum is 12.{\*\htmltag72 </p>}"
    r"{\*\htmltag58 </body>}}"
)


def test_the_html_of_a_message_is_found_in_its_rtf() -> None:
    blocks: list[Block] = []
    write_rtf(WRAPPED.encode(), BlockWriter(blocks.append, Limits()))
    assert [(block.kind, block.text) for block in blocks] == [(HEADING, "Title"), (PARAGRAPH, "The sum is 12.")]


# The example of [MS-OXRTFCP], section 4.1; and one of its second, which refers to what it writes itself.
HELLO = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232 0af3 2068656c 0900 206277 05b0 6c647d 0a80 0fa0"
)
REPEATED = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")


def test_compressed_rtf_is_read() -> None:
    assert decompress(HELLO, 100) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert decompress(REPEATED, 100) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"
    assert decompress(b"\x10\0\0\0\x04\0\0\0MELA\0\0\0\0{\\rtf}", 100) == b"{\\rt"


@pytest.mark.parametrize("data", [b"", HELLO[:20], HELLO[:-1], HELLO[:8] + b"NONE" + HELLO[12:], HELLO[:-2] + b"\0"])
def test_a_damaged_stream_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"header|cut off|kind"):
        decompress(data, 100)
    with pytest.raises(ValueError, match=r"too long|header|cut off|kind"):
        decompress(data, 10)


def message(name: str, data: bytes) -> bytes:
    """A compound file that holds one stream of 4096 bytes."""
    free, end, none = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIIII", 0, 1, 1, 0, 0x1000, end, 0, end, 0, 0) + struct.pack("<108I", *[free] * 108)
    table = struct.pack("<128I", 0xFFFFFFFD, end, *range(3, 10), end, *[free] * 118)

    def entry(title: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = title.encode("utf-16-le") + b"\0\0"
        head = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, none, none, child)
        return head + bytes(36) + struct.pack("<IQ", start, size)

    folder = entry("Root Entry", 5, 1, end, 0) + entry(name, 2, none, 2, 4096)
    return header + table + folder.ljust(512, b"\0") + data.ljust(4096, b"\0")


@pytest.mark.parametrize(
    ("data", "texts", "warned"),
    [
        (HELLO, ["hello world"], []),
        (b"\xff\0\0\0\x15\0\0\0MELA\0\0\0\0{\\rtf1\\ansi Hi there}", ["Hi there"], []),
        (HELLO[:30], [], ["1 bodies of messages, in compressed RTF, could not be read"]),
    ],
)
def test_a_message_whose_body_is_rtf_alone_is_read(
    data: bytes, texts: list[str], warned: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "mail.msg"
    path.write_bytes(message("__substg1.0_10090102", data))
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    MsgParser().parse(path, out, Limits())
    assert [block.text for block in blocks] == texts
    assert [one.text for one in out.noticed.warnings()] == warned


@pytest.mark.parametrize(("tag", "shown"), [(0x00390040, True), (0x0E060040, True), (0x30070040, False)])
def test_a_message_without_transport_headers_has_its_date(tag: int, shown: bool, tmp_path: Path) -> None:
    """As those from "Sent Items" have none."""
    ticks = 133_485_408_000_000_000  # 2024-01-01
    path = tmp_path / "mail.msg"
    path.write_bytes(message("__properties_version1.0", bytes(32) + struct.pack("<IIQ", tag, 6, ticks)))
    blocks: list[Block] = []
    properties = MsgParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    assert [block.text for block in blocks] == ["Date: Mon, 01 Jan 2024 00:00:00 +0000"] * shown
    assert (properties.file_time is not None) == shown
