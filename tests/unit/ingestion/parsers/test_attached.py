"""Files attached to mails are read by the parser of their format, each block under its file's name with its place."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import duckdb
import openpyxl
import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_FURNITURE, Block
from footnote_ingestion.documents.uploads import file_error
from footnote_ingestion.parsers import attached, parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import NO_ROOM, ParseError, is_no_room
from footnote_kit.transient_errors import waits_for
from fpdf import FPDF
from support.ingestion_client import assert_spans_exact

LIMITS = Limits()
BEYOND = "{} attachments are too many, too large or too deep and are not read, but for their names"


def read(data: bytes, tmp_path: Path, limits: Limits = LIMITS) -> tuple[list[Block], dict[str, int]]:
    path = tmp_path / "mail.eml"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, limits)
    parser_for("eml").parse(path, out, limits)
    assert_spans_exact(blocks)
    return blocks, {one.text: one.count for one in out.noticed.warnings()}


def mail(subject: str = "Prices", **files: bytes) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "ann@example.org"
    message.set_content("See the files.")
    for name, data in files.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name.replace("_", "."))
    return message


def pdf(*pages: str) -> bytes:
    made = FPDF()
    made.set_font("helvetica", size=12)
    for text in pages:
        made.add_page()
        made.write(6, text)
    return bytes(made.output())


def workbook(rows: int = 1) -> bytes:
    book = openpyxl.Workbook()
    for row in (("Land", "Price"), *[("Gaul", 102)] * rows):
        book.active.append(row)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def test_attached_files_are_read_with_their_places(tmp_path: Path) -> None:
    data = bytes(mail(a_pdf=pdf("The first page.", "The second page."), b_xlsx=workbook(), c_csv=b"x,y\n1,2\n"))
    blocks, said = read(data, tmp_path)
    found = {block.text: block.locator for block in blocks}
    assert list(found["The second page."].heading_path) == ["Prices", "a.pdf"]
    assert found["The second page."].page.page == 2
    assert list(found["Land: Gaul; Price: 102"].heading_path) == ["Prices", "b.xlsx"]
    assert found["Land: Gaul; Price: 102"].sheet.sheet == "Sheet"
    assert list(found["x: 1; y: 2"].heading_path) == ["Prices", "c.csv"]
    assert list(found["Attachment: c.csv"].heading_path) == ["Prices"]
    assert said == {}


def test_headings_of_an_attached_file_stand_under_its_name(tmp_path: Path) -> None:
    message = mail(a_md=b"# Law\n\nArticle one.\n")
    message.add_attachment("The last part.", subtype="html")
    blocks, _ = read(bytes(message), tmp_path)
    paths = {block.text: list(block.locator.heading_path) for block in blocks}
    assert paths["Article one."] == ["Prices", "a.md", "Law"]
    assert paths["The last part."] == ["Prices"]


def test_an_attached_mail_is_read_with_what_is_attached_to_it(tmp_path: Path) -> None:
    blocks, said = read(bytes(mail(b_eml=bytes(mail("Costs", c_txt=b"All costs fell.")))), tmp_path)
    paths = {block.text: list(block.locator.heading_path) for block in blocks}
    assert paths["All costs fell."] == ["Prices", "b.eml", "Costs", "c.txt"]
    assert said == {}


def locked() -> bytes:
    made = FPDF()
    made.set_encryption(owner_password="a", user_password="b")
    made.add_page()
    return bytes(made.output())


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("a.txt", "All prices rose.")
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"%PDF-1.7", "1 attachments are not read, but for their names"),
        (b"", "1 attachments are not read, but for their names"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "1 attachments are not read, but for their names"),
        (archive(), "1 attachments are not read, but for their names"),
        (locked(), "1 attachments open only with a password and are not read, but for their names"),
    ],
    ids=["broken", "empty", "picture", "archive", "locked"],
)
def test_a_file_that_cannot_be_read_loses_only_itself(data: bytes, words: str, tmp_path: Path) -> None:
    blocks, said = read(bytes(mail(a_bin=data, b_txt=b"All prices rose.")), tmp_path)
    texts = [block.text for block in blocks if block.kind != BLOCK_KIND_FURNITURE]
    assert texts[2:] == ["See the files.", "Attachment: a.bin", "Attachment: b.txt", "All prices rose."]
    assert said == {words: 1}


def test_an_attached_workbook_keeps_to_the_limits_of_unpacking(tmp_path: Path) -> None:
    blocks, said = read(bytes(mail(a_xlsx=workbook(5000))), tmp_path, Limits(decompressed_bytes=100_000))
    assert [block.text for block in blocks][-1] == "Attachment: a.xlsx"
    assert said == {"1 attachments are not read, but for their names": 1}


def test_mails_in_mails_end(tmp_path: Path) -> None:
    inner = bytes(mail("Last", z_txt=b"All prices rose."))
    for depth in range(6):
        inner = bytes(mail(str(depth), a_eml=inner))
    blocks, said = read(inner, tmp_path)
    assert not any("All prices rose." in block.text for block in blocks)
    assert said == {BEYOND.format(1): 1}


@pytest.mark.parametrize(("bound", "value"), [("_MOST_FILES", 3), ("_MOST_BYTES", 50), ("_MOST_SECONDS", -1.0)])
def test_files_beyond_the_bounds_are_said(
    bound: str, value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, bound, value)
    files = {f"{name}_txt": b"All prices rose." for name in "abcde"}
    blocks, said = read(bytes(mail(**files)), tmp_path)
    left_out = sum(said.values())
    assert said == {BEYOND.format(left_out): left_out}
    assert [block.text for block in blocks].count("All prices rose.") == 5 - left_out < 5


def test_one_file_says_nothing_of_how_another_writes_numbers(tmp_path: Path) -> None:
    german = b"Ware;Preis;Tag\nA;1,5;31/01/2024\nB;2,75;30/01/2024\n"
    english = b"Item\tUnits\tDay\nA\t1,234\t02/03/2024\nB\t2,500\t04/05/2024\n"
    blocks, _ = read(bytes(mail(a_csv=german, b_tsv=english)), tmp_path)
    cells = {one.cell.WhichOneof("value") for one in blocks[-1].anchors if one.cell.column > 1}
    assert "B; Units: 2,500" in blocks[-1].text
    assert cells == {None}


def test_a_full_disk_is_no_fault_of_an_attached_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read again later with `waiting`, instead of a document without what was attached to it."""

    class Full(tempfile.TemporaryDirectory):  # type: ignore[type-arg]
        def __enter__(self) -> str:
            folder = super().__enter__()
            (Path(folder) / "attached").symlink_to("/dev/full")  # writing to it fails as on a full disk
            return folder

    data = bytes(mail(c_csv=b"x,y\n1,2\n"))
    monkeypatch.setattr(attached.tempfile, "TemporaryDirectory", Full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        read(data, tmp_path)
    assert is_no_room(caught.value)
    assert is_no_room(duckdb.IOException(f'Could not write "x": {os.strerror(errno.ENOSPC)}'))
    assert not is_no_room(ValueError(f"a file may say {os.strerror(errno.ENOSPC)}"))
    assert waits_for(file_error(ParseError(NO_ROOM, "full", "later"))) == "DISK"
