"""Books: order, headings, tables, pictures' texts, notes; other content; locked books are refused with an error."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import HEADING, NOTE, PARAGRAPH, TABLE_ROW, BlockWriter, Limits
from footnote_ingestion.parsers.failures import PASSWORD_PROTECTED, ParseError
from footnote_ingestion.parsers.office.epub import EpubParser

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def lock(uri: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod '
        'Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><enc:CipherData>'
        f'<enc:CipherReference URI="{uri}"/></enc:CipherData></enc:EncryptedData></encryption>'
    )


def book(
    chapters: Mapping[str, str | bytes],
    spine: Sequence[str] = (),
    items: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> bytes:
    """A book; `spine` has the attributes of its references, `items` more attributes of chapters."""
    manifest = "".join(f'<item id="{name}" href="{name}.xhtml" {(items or {}).get(name, "")}/>' for name in chapters)
    order = "".join(f"<itemref {one}/>" for one in spine or [f'idref="{name}"' for name in chapters])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("mimetype", "application/epub+zip")
        package.writestr("META-INF/container.xml", CONTAINER)
        package.writestr(
            "OEBPS/book.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{manifest}</manifest>'
            f"<spine>{order}</spine></package>",
        )
        for name, text in chapters.items():
            package.writestr(f"OEBPS/{name}.xhtml", text)
        for name, text in (more or {}).items():
            package.writestr(name, text)
    return made.getvalue()


def chapter(body: str, head: str = "<title>T</title>") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head>{head}</head><body>{body}</body></html>'
    )


def read(data: bytes, tmp_path: Path) -> tuple[list[tuple[int, str]], list[str]]:
    path = tmp_path / "book.epub"
    path.write_bytes(data)
    EpubParser().inspect(path, Limits())
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    EpubParser().parse(path, out, Limits())
    return [(block.kind, block.text) for block in blocks], [one.text for one in out.noticed.warnings()]


def test_chapters_have_their_headings_tables_and_texts_of_pictures(tmp_path: Path) -> None:
    table = "<table><tr><th>Land</th><th>Sum</th></tr><tr><td>Gaul</td><td>12</td></tr></table>"
    blocks, warned = read(book({"a": chapter(f'<h2>One</h2><p>See <img src="x" alt="a map"/></p>{table}')}), tmp_path)
    assert blocks == [(HEADING, "One"), (PARAGRAPH, "See a map"), (TABLE_ROW, "Land: Gaul; Sum: 12")]
    assert warned == ["1 pictures are not read, but for their alternative texts"]


def test_parts_beside_the_reading_order_stand_after_it(tmp_path: Path) -> None:
    chapters = {name: chapter(f"<p>Text {name}.</p>") for name in ("answers", "one", "toc", "two", "cover")}
    spine = ['idref="answers" linear="no"', *(f'idref="{name}"' for name in ("cover", "toc", "two", "one", "one"))]
    items = {"toc": 'properties="nav"', "cover": 'media-type="image/svg+xml"'}
    blocks, warned = read(book(chapters, [*spine, 'idref="gone"'], items), tmp_path)
    assert [text for _, text in blocks] == ["Text two.", "Text one.", "Text answers."]
    assert sorted(warned) == [
        "1 chapters are missing", "1 pages of the book are pictures or the like",
        "1 parts beside the reading order stand after it", "1 tables of contents are left out",
        "1 times a chapter is named again in the reading order: it is read once",
    ]  # fmt: skip


@pytest.mark.parametrize("note", ['epub:type="footnote"', 'role="doc-footnote"'])
@pytest.mark.parametrize("tag", ["aside", "div", "li"])
def test_notes_are_notes_and_their_marks_make_no_other_number(note: str, tag: str, tmp_path: Path) -> None:
    mark = '<a epub:type="noteref" href="#n">3</a>'
    inner = f'<{tag} {note} id="n"><p>A note.</p></{tag}>'
    body = f"<h1>Of 1999{mark}</h1><p>We saw 102{mark} of them.</p>{f'<ol>{inner}</ol>' if tag == 'li' else inner}"
    blocks, _ = read(book({"a": chapter(f"{body}<p>After.</p>")}), tmp_path)
    assert blocks == [
        (HEADING, "Of 1999^3"), (PARAGRAPH, "We saw 102^3 of them."), (NOTE, "A note."), (PARAGRAPH, "After."),
    ]  # fmt: skip


@pytest.mark.parametrize("head", ["<title/>", '<script src="x.js" />', '<title /><style type="text/css"/>'])
def test_elements_that_end_at_once_swallow_nothing(head: str, tmp_path: Path) -> None:
    assert read(book({"a": chapter("<p>Text.</p>", head)}), tmp_path)[0] == [(PARAGRAPH, "Text.")]


def test_a_book_is_opened_as_often_for_many_chapters_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it reads the names of all of its files."""
    opened: list[object] = []
    begin = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]

    def counted(self: zipfile.ZipFile) -> None:
        opened.append(self)
        begin(self)

    path, counts = tmp_path / "a.epub", []
    for number in (2, 20):
        path.write_bytes(book({f"c{at}": chapter(f"<p>Text {at}.</p>") for at in range(number)}))
        with monkeypatch.context() as patched:
            patched.setattr(zipfile.ZipFile, "_RealGetContents", counted)
            EpubParser().parse(path, BlockWriter(lambda _: None, Limits()), Limits())
        counts.append(len(opened))
        opened.clear()
    assert counts[0] == counts[1]


def test_the_declared_encoding_is_used(tmp_path: Path) -> None:
    text = chapter("<p>Zażółć</p>").replace("utf-8", "iso-8859-2").encode("iso-8859-2")
    assert read(book({"a": text}), tmp_path) == ([(PARAGRAPH, "Zażółć")], [])


def test_latin_1_means_windows(tmp_path: Path) -> None:
    text = chapter("<p>It’s “45 €”</p>").replace("utf-8", "iso-8859-1").encode("cp1252")
    assert read(book({"a": text}), tmp_path) == ([(PARAGRAPH, "It’s “45 €”")], [])


def test_an_encoding_that_is_not_declared_is_guessed_and_said(tmp_path: Path) -> None:
    sentence = "Die Straße zum Bahnhof ist bis Mittwoch gesperrt."
    text = chapter(f"<p>{sentence}</p>").replace(' encoding="utf-8"', "").encode("cp1252")
    blocks, (warning,) = read(book({"a": text}), tmp_path)
    assert blocks == [(PARAGRAPH, sentence)]
    assert "cp1252" in warning


def test_a_locked_book_is_refused_in_words_and_one_with_locked_fonts_is_read(tmp_path: Path) -> None:
    chapters = {"a": chapter("<p>Text.</p>")}
    with pytest.raises(ParseError, match="DRM") as caught:
        read(book(chapters, more={"META-INF/encryption.xml": lock("OEBPS/a.xhtml")}), tmp_path)
    assert caught.value.reason == PASSWORD_PROTECTED
    blocks, _ = read(book(chapters, more={"META-INF/encryption.xml": lock("OEBPS/font.otf")}), tmp_path)
    assert blocks == [(PARAGRAPH, "Text.")]
