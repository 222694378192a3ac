"""Binary formats of Office 97 to 2003: pictures are warned of, texts of boxes on sheets and tables of Word are read."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import olefile  # type: ignore[import-untyped]
import pytest
from footnote.types.v1.document_pb2 import ReadingWarning
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets import xls

WORDS = "{} pictures are not read, but for their alternative texts"


def record(kind: int, body: bytes = b"", *, instance: int = 0, container: bool = False) -> bytes:
    return struct.pack("<HHI", instance << 4 | (0xF if container else 0), kind, len(body)) + body


def shape(picture: int, anchor: bytes = b"") -> bytes:
    """A shape of Office Art with two properties, the second of which names its picture; 0 for none."""
    properties = struct.pack("<HI", 0x007F, 1) + struct.pack("<HI", 0x4104, picture)
    parts = record(0xF00A, bytes(8)) + record(0xF00B, properties, instance=2)
    return record(0xF004, parts + (record(0xF010, anchor) if anchor else b""), container=True)


def drawing(*shapes: bytes) -> bytes:
    return record(0xF002, record(0xF003, b"".join(shapes), container=True), container=True)


def contain(monkeypatch: pytest.MonkeyPatch, **streams: bytes) -> None:
    """Let every OLE container hold these streams."""

    class Container:
        def __init__(self, _: str) -> None: ...

        def __enter__(self) -> Container:
            return self

        def __exit__(self, *_: object) -> None: ...

        def exists(self, name: str) -> bool:
            return name.replace(" ", "_") in streams

        def openstream(self, name: str) -> io.BytesIO:
            return io.BytesIO(streams[name.replace(" ", "_")])

        def get_metadata(self) -> object:
            raise OSError

    monkeypatch.setattr(olefile, "OleFileIO", Container)


def read(kind: str, folder: Path) -> tuple[list[str], list[ReadingWarning]]:
    path = folder / f"file.{kind}"
    path.write_bytes(b"")
    texts: list[str] = []
    out = BlockWriter(lambda block: texts.append(block.text), Limits())
    parser_for(kind).parse(path, out, Limits())
    return texts, out.noticed.warnings()


def test_pictures_of_a_presentation_have_their_slide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def text(words: str) -> bytes:
        return record(4000, words.encode("utf-16-le"))

    slides = (
        record(1006, text("Prices"), container=True),
        record(
            1006, text("Keys") + record(0x040C, drawing(shape(1), shape(0), shape(2)), container=True), container=True
        ),
    )
    contain(monkeypatch, PowerPoint_Document=b"".join(slides))
    texts, (one,) = read("ppt", tmp_path)
    assert texts == ["Prices", "Keys"]
    assert (one.text, [place.slide.slide for place in one.places]) == (WORDS.format(2), [2])


def word(text: str, art: bytes = b"") -> dict[str, bytes]:
    """The streams of a Word document of one piece, with its drawings."""
    head = bytearray(0x400)
    struct.pack_into("<HHHHH", head, 0, 0xA5EC, 0x00C1, 0, 0, 0)
    struct.pack_into("<H", head, 10, 0x0200)
    struct.pack_into("<i", head, 0x4C, len(text))
    pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, 0x40000000 | 2 * 0x400, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<II", head, 0x1A2, 0, len(table))
    struct.pack_into("<II", head, 0x22A, len(table), len(art))
    return {"WordDocument": bytes(head) + text.encode("cp1252"), "1Table": table + art}


def test_pictures_of_a_word_document_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In line, in the first part of a field (which holds the field's data), and beside the text in a drawing.
    text = "All prices rose.\r\x01\r\x13 FORMTEXT \x01\x14Peru\x15\r"
    art = (
        record(0xF000, bytes(24), container=True) + b"\x00" + drawing(shape(1), shape(0)) + b"\x01" + drawing(shape(2))
    )
    contain(monkeypatch, **word(text, art))
    texts, (one,) = read("doc", tmp_path)
    assert texts == ["All prices rose.", "Peru"]
    assert (one.text, one.count) == (WORDS.format(3), 3)


def test_pictures_of_a_workbook_have_their_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def biff(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def anchored(column: int, row: int) -> bytes:
        return struct.pack("<9H", 2, column, 0, row, 0, column + 1, 0, row + 1, 0)

    drawn = drawing(shape(1, anchored(2, 4)), shape(0, anchored(0, 0)), shape(1, anchored(0, 9)))
    # A drawing lies in pieces: between records of objects, and continued where a piece is too long.
    first = biff(0x809) + biff(0xEC, drawn[:50]) + biff(0x3C, drawn[50:90]) + biff(0x5D) + biff(0xEC, drawn[90:])
    sheets = [first + biff(0x0A), biff(0x809) + biff(0x0A)]

    def bound(name: bytes, start: int, wide: int = 0) -> bytes:
        return biff(0x85, struct.pack("<IHBB", start, 0, len(name) // (1 + wide), wide) + name)

    names = [b"Prices", "Κόστη".encode("utf-16-le")]
    size = sum(len(bound(name, 0, wide)) for wide, name in enumerate(names)) + len(biff(0x809) + biff(0x0A))
    starts = [size, size + len(sheets[0])]
    book = biff(0x809) + b"".join(bound(name, starts[wide], wide) for wide, name in enumerate(names)) + biff(0x0A)
    contain(monkeypatch, Workbook=book + b"".join(sheets))
    assert {name: drawn.pictures for name, drawn in xls.drawn_by_sheet(tmp_path).items()} == {
        "Prices": ["C5", "A10"],
        "Κόστη": [],
    }


def test_texts_of_boxes_on_a_workbooks_sheet_have_their_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def biff(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def anchored(column: int, row: int) -> bytes:
        return struct.pack("<9H", 2, column, 0, row, 0, column + 1, 0, row + 1, 0)

    def boxed(kind: int, text: str, *pieces: bytes) -> bytes:
        thing = biff(0x5D, struct.pack("<HHH", 0x15, 0x12, kind))
        return thing + biff(0x1B6, struct.pack("<5HHHH", 0, 0, 0, 0, 0, len(text), 16, 0)) + b"".join(pieces)

    formats = biff(0x3C, bytes(16))
    first, second, third = (shape(0, anchored(2 * at, 4)) for at in range(3))
    plain = boxed(6, "Open until 5", biff(0x3C, b"\0Open unt"), biff(0x3C, b"\0il 5"), formats)
    wide = boxed(0x1E, "Κόστη", biff(0x3C, b"\1" + "Κόστη".encode("utf-16-le")), formats)
    comment = boxed(0x19, "A remark", biff(0x3C, b"\0A remark"), formats)
    chart = biff(0x809, bytes.fromhex("00062000")) + boxed(6, "Peak", biff(0x3C, b"\0Peak"), formats) + biff(0x0A)
    sheet = b"".join(
        (biff(0x809, bytes.fromhex("00061000")), biff(0xEC, first), plain, chart, biff(0xEC, second), comment)
    )
    sheet += biff(0xEC, third) + wide + biff(0x0A)
    bound = biff(0x85, struct.pack("<IHBB", 0, 0, 1, 0) + b"A")
    start = len(biff(0x809) + bound + biff(0x0A))
    book = biff(0x809) + biff(0x85, struct.pack("<IHBB", start, 0, 1, 0) + b"A") + biff(0x0A)
    contain(monkeypatch, Workbook=book + sheet)
    assert xls.drawn_by_sheet(tmp_path)["A"].texts == [("A5", "Open until 5"), ("", "Peak"), ("E5", "Κόστη")]


def test_the_place_of_a_text_is_found_without_another_search_of_the_drawing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workbook may have thousands of texts after one large drawing: looking through it for each takes hours."""
    seen: list[int] = []

    class Counted(bytearray):
        def rfind(self, sub: object, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
            seen.append(len(self) - start)
            return bytes(self).rfind(sub, start)  # type: ignore[arg-type]

        def __getitem__(self, at: slice) -> bytearray:  # type: ignore[override]
            found = bytearray.__getitem__(self, at)
            seen.append(len(found))
            return found

    def biff(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    anchor = struct.pack("<9H", 2, 2, 0, 4, 0, 3, 0, 5, 0)
    drawn = shape(0, anchor) + record(0xF122, bytes(60_000))
    text = biff(0x5D, struct.pack("<HHH", 0x15, 0x12, 6)) + biff(0x1B6, struct.pack("<5HHHH", 0, 0, 0, 0, 0, 2, 16, 0))
    text += biff(0x3C, b"\0Hi")
    cut = len(shape(0, anchor)) - len(anchor) - 4  # in the middle of the anchor's head
    data = biff(0x809) + biff(0xEC, drawn[:cut]) + biff(0x3C, drawn[cut:8_000]) + biff(0x3C, drawn[8_000:])
    monkeypatch.setattr(xls, "bytearray", Counted, raising=False)
    assert xls._drawn(data + 500 * text + biff(0x0A), 0).texts == 500 * [("C5", "Hi")]
    assert sum(seen) < 2 * len(drawn)


def test_empty_cells_of_a_word_document_keep_their_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("Name", "Phone", "City"), ("Ann", "", "Ghent"), ("Bob", "12", ""), ("Cid", "13\r14", "Rome")]
    table = "".join("".join(f"{cell}\x07" for cell in row) + "\x07" for row in rows)
    contain(monkeypatch, **word(f"Before.\r{table}After.\r"))
    assert read("doc", tmp_path) == (
        ["Before.", "Name: Ann; City: Ghent", "Name: Bob; Phone: 12", "Name: Cid; Phone: 13 14; City: Rome", "After."],
        [],
    )


def test_rows_of_different_lengths_of_a_word_document_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contain(monkeypatch, **word("Prices\x07in\x07EUR\x07\x07Axle\x073\x07\x07Nut\x074\x07\x07After.\r"))
    texts, (one,) = read("doc", tmp_path)
    assert texts == ["Prices; in; EUR", "Axle; 3", "Nut; 4", "After."]
    assert one.text == "1 tables whose columns are not certain are read as text, without columns"


def test_a_row_of_one_cell_in_a_word_document_is_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ("Prices", "Part\x07Sum\x07Mass", "Axle\x073\x075", "Old parts", "Nut\x074\x077")
    contain(monkeypatch, **word("".join(f"{row}\x07\x07" for row in rows) + "After.\r"))
    texts = ["Prices", "Part: Axle; Sum: 3; Mass: 5", "Old parts", "Part: Nut; Sum: 4; Mass: 7", "After."]
    assert read("doc", tmp_path) == (texts, [])
    contain(monkeypatch, **word("Prices\x07\x07A\x07B\x07C\x07\x07Axle\x07\x075\x07\x07After.\r"))
    texts, said = read("doc", tmp_path)
    assert (texts, len(said)) == (["Prices", "A; B; C", "Axle", "5", "After."], 1)


def test_a_row_behind_a_cell_of_two_paragraphs_names_no_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ("Name\x07Street", "Ann\x07S1", "Bob\rB\x07S2", "Cid\x07S3", "Dan\x07S4")
    contain(monkeypatch, **word("".join(f"{row}\x07\x07" for row in rows) + "After.\r"))
    texts, _ = read("doc", tmp_path)
    assert not any("B:" in text or "S2:" in text for text in texts)
    assert texts[-4:] == ["B; S2", "Cid; S3", "Dan; S4", "After."]
