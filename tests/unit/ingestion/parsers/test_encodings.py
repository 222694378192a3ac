"""The text of a file is decoded correctly in any encoding; guesses and losses are reported."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote.types.v1.document_pb2 import WARNING_KIND_BYTES_REPLACED, WARNING_KIND_ENCODING_GUESSED, ReadingWarning
from footnote_edge.sources.kinds.mailbox import header_text
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sniff import sniff
from footnote_ingestion.parsers.texts.encoding import decode, guess, read
from support.encoded_texts import cases, texts

GERMAN = "Die Straße zum Bahnhof ist bis Mittwoch gesperrt. "


WRAPPED = {"a.md": "# T\n\n{}", "a.csv": "name,note\nx,{}\n", "a.html": "<p>{}"}


def parsed(folder: Path, data: bytes, name: str = "a.txt") -> tuple[list[str], list[ReadingWarning]]:
    path = folder / name
    path.write_bytes(data)
    found: list[str] = []
    out = BlockWriter(lambda block: found.append(block.text), Limits())
    parser_for(sniff(path, name).document_type).parse(path, out, Limits())
    return found, out.noticed.warnings()


@pytest.mark.slow
def test_short_texts_in_twelve_encodings() -> None:
    found = cases()
    assert len(found) >= 300
    assert len({codec for codec, _ in found}) >= 12
    wrong = Counter(codec for codec, text in found if decode(text.encode(codec)) != text)
    assert wrong.total() <= 0.02 * len(found), wrong


@pytest.mark.parametrize("codec", ["utf-8", "iso2022_jp", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_japanese_without_a_mark(codec: str) -> None:
    for text in texts("ja"):
        assert decode(text.encode(codec)) == text


@pytest.mark.parametrize("language", ["fr", "ru", "zh", "ko", "el"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(codec: str, language: str) -> None:
    for text in texts(language):
        assert decode(text.encode(codec)) == text


def test_korean_of_mail() -> None:
    text = "\n".join(texts("ko"))
    assert decode(text.encode("iso2022_kr")) == text


@pytest.mark.parametrize("length", [200_000, 2_000_000])
def test_the_whole_file_is_looked_at(length: int) -> None:
    plain = "A line of nothing but plain letters.\n" * (length // 37)
    assert decode((plain + GERMAN).encode("cp1252")) == plain + GERMAN
    assert decode((plain + GERMAN).encode()) == plain + GERMAN


def test_a_few_bad_bytes_do_not_make_it_another_encoding(tmp_path: Path) -> None:
    data = (GERMAN * 40).encode() + b"broken \xe4 here and \xff there. " + (GERMAN * 40).encode()
    found, warnings = parsed(tmp_path, data)
    assert "".join(found).count("Straße") == 80
    assert "broken \ufffd here and \ufffd there" in "".join(found)
    (warning,) = warnings
    assert (warning.kind, warning.count) == (WARNING_KIND_BYTES_REPLACED, 2)


def test_replacement_characters_of_the_text_itself_are_no_bad_bytes() -> None:
    found = read("a \ufffd b é è à ç".encode())
    assert (found.text, found.replaced, found.guessed) == ("a \ufffd b é è à ç", 0, False)


def test_a_guess_is_recorded_and_what_is_sure_is_not(tmp_path: Path) -> None:
    for codec in ("utf-8", "utf-8-sig", "utf-16"):
        assert parsed(tmp_path, GERMAN.encode(codec))[1] == []
    _, (warning,) = parsed(tmp_path, GERMAN.encode("cp1252"))
    assert warning.kind == WARNING_KIND_ENCODING_GUESSED
    assert "cp1252" in warning.text
    _, (warning,) = parsed(tmp_path, "".join(texts("ja")).encode("utf-16-le"))
    assert "utf-16-le" in warning.text


@pytest.mark.parametrize(("name", "wrapped"), [*WRAPPED.items(), ("a.eml", "Subject: T\nFrom: ann@example.org\n\n{}")])
def test_every_kind_of_text_says_what_was_guessed(name: str, wrapped: str, tmp_path: Path) -> None:
    found, warnings = parsed(tmp_path, wrapped.format(GERMAN).encode("cp1252"), name)
    assert "Straße" in "".join(found)
    assert [one.kind for one in warnings] == [WARNING_KIND_ENCODING_GUESSED]


@pytest.mark.parametrize("name", WRAPPED)
def test_every_kind_of_text_says_what_was_lost(name: str, tmp_path: Path) -> None:
    text = WRAPPED[name].format(40 * GERMAN + "broken XX here and NNN there.").encode()
    found, warnings = parsed(tmp_path, text.replace(b"XX", b"\xe4 \xff").replace(b"NNN", bytes(3)), name)
    assert "broken \ufffd \ufffd here and there." in " ".join(" ".join(found).split())
    assert [(one.kind, one.count) for one in warnings] == [
        (WARNING_KIND_BYTES_REPLACED, 2),
        (WARNING_KIND_BYTES_REPLACED, 3),
    ]


def test_pages_that_declare_latin_1_mean_windows(tmp_path: Path) -> None:
    page = '<html><head><meta charset="iso-8859-1"></head><body><p>“45 €” – été</p></body></html>'
    found, warnings = parsed(tmp_path, page.encode("cp1252"), "a.html")
    assert found == ["“45 €” – été"]
    assert warnings == []


def test_mails_that_declare_latin_1_mean_windows(tmp_path: Path) -> None:
    head = "Subject: T\nFrom: ann@example.org\nContent-Type: text/plain; charset=iso-8859-1\n\n"
    found, warnings = parsed(tmp_path, f"{head}It’s “45 €” – été".encode("cp1252"), "a.eml")
    assert found[-1] == "It’s “45 €” – été"
    assert warnings == []


_JP = (  # "①見積㈱髙" as Windows writes it: no codec of Python reads these signs
    ("iso-2022-jp", b"\x1b$B-!8+@Q-j|b\x1b(B", "①見積㈱髙"),
    ("iso-2022-jp", b"\x1b$B-!8+@Q\x1b(I1\x1b(B x", "①見積ｱ x"),
    ("euc-jp", b"\xad\xa1\xb8\xab\xc0\xd1\xad\xea \x8e\xb1", "①見積㈱ ｱ"),
)


@pytest.mark.parametrize(
    ("declared", "data", "text"),
    [
        *_JP,
        ("iso-8859-1", "30 € – “neu”".encode("cp1252"), "30 € – “neu”"),
        ("gb2312", "朱镕基的合同".encode("gbk"), "朱镕基的合同"),
        ("shift_jis", "①見積㈱".encode("cp932"), "①見積㈱"),
        ("big5", "碁恒裏報價單 €".encode("cp950"), "碁恒裏報價單 €"),
        ("ks_c_5601-1987", "똠방각하".encode("cp949"), "똠방각하"),
        ("iso-8859-8-i", "שלום עולם".encode("iso8859-8"), "שלום עולם"),
        ("gb2312", "合同的条件是三十天之内付款".encode("gbk") + b" \xff", "合同的条件是三十天之内付款 \ufffd"),
    ],
)
def test_mails_are_read_in_the_encodings_that_programs_mean(
    declared: str, data: bytes, text: str, tmp_path: Path
) -> None:
    word = b"=?" + declared.encode() + b"?B?" + b64encode(data) + b"?="
    head = b"Subject: " + word + b"\nFrom: " + word + b" <a@x.org>\nContent-Type: text/plain; charset="
    head += declared.encode() + b"\nContent-Transfer-Encoding: 8bit\n\n"
    found, warnings = parsed(tmp_path, head + data, "a.eml")
    assert found == [text, f"From: {text} <a@x.org>", text]
    assert [one.kind for one in warnings] == [WARNING_KIND_BYTES_REPLACED] * text.count("\ufffd")
    assert header_text(word.decode()) == text


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        ("iso-8859-8-i", "cp1255", "מחיר “חדש” 500 ש״ח – שלום לכולם "),
        ("iso-8859-6", "cp1256", "السعر “الجديد” هو 500 – للجميع، "),
        ("shift_jis", "gb18030", "价格是五百元，请查收附件的报价单。谢谢！"),
        ("punycode", "cp1252", "Grüße aus Köln, schöne Straße. "),
    ],
)
def test_a_wrong_declaration_is_not_believed(declared: str, codec: str, text: str, tmp_path: Path) -> None:
    page = f'<meta charset="{declared}"><p>{text * 6}</p>'.encode(codec)
    assert text.strip() in parsed(tmp_path, page, "a.html")[0][0]


def test_japanese_of_windows_is_found_without_a_declaration(tmp_path: Path) -> None:
    for _, data, text in _JP[:2]:
        assert parsed(tmp_path, data)[0] == [text]


def test_texts_of_single_bytes_that_declare_utf_16_are_read_as_they_are(tmp_path: Path) -> None:
    page = '<html><head><meta charset="utf-16"></head><body><p>Grüße aus Köln</p></body></html>'
    assert parsed(tmp_path, page.encode(), "a.html") == (["Grüße aus Köln"], [])
    mail = b"Subject: T\nFrom: ann@example.org\nContent-Type: text/plain; charset=utf-16\n\nAll prices rose.\n"
    assert parsed(tmp_path, mail, "a.eml")[0][-1] == "All prices rose."


def test_a_log_with_nulls_is_text_and_they_are_counted(tmp_path: Path) -> None:
    log = b"12:00 started\n" * 50 + b"\0" * 4096 + b"12:09 started again, caf\xc3\xa9\n" * 50
    found, (warning,) = parsed(tmp_path, log, "a.log")
    assert "café" in "".join(found)
    assert (warning.kind, warning.count) == (WARNING_KIND_BYTES_REPLACED, 4096)


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 20,
        b"\0" * 5000,
        b"\x01\x02\x03\x04" * 500,
        bytes((i * 7919 + i // 3) % 256 for i in range(9000)),
    ],
)
def test_what_is_no_text_is_not_taken_for_it(data: bytes) -> None:
    assert guess(data) == ""


def test_lines_are_counted_as_editors_count_them(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("one\x0c\n\ntwo\u2028still two\x85and still\r\n\r\nthree".encode())
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for("txt").parse(path, out, Limits())
    assert [(block.text, block.locator.lines.first_line) for block in blocks] == [
        ("one", 1),
        ("two still two and still", 3),
        ("three", 5),
    ]
