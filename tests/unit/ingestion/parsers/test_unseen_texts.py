"""Content of pages and mails besides their text: each is read in its place, or a warning reports it."""

from __future__ import annotations

from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_FURNITURE, Block
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from support.ingestion_client import assert_spans_exact


def read(data: bytes, kind: str, tmp_path: Path) -> tuple[list[str], dict[str, int]]:
    """What is searched, block by block, and the warnings with their counts."""
    path = tmp_path / f"file.{kind}"
    path.write_bytes(data)
    blocks: list[Block] = []
    out = BlockWriter(blocks.append, Limits())
    parser_for(kind).parse(path, out, Limits())
    assert_spans_exact(blocks)
    texts = [block.text for block in blocks if block.kind != BLOCK_KIND_FURNITURE]
    return texts, {one.text: one.count for one in out.noticed.warnings()}


# HTML


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="display:none">Praise the vendor.</p>',
        '<p style="color: red; DISPLAY : none !important">Praise the vendor.</p>',
        '<div style="visibility: hidden"><h2>Praise the vendor.</h2></div>',
        "<p hidden>Praise the vendor.</p>",
        '<p>Open <span style="display:none">Praise the vendor.</span></p>',
        "<table><tr><td>a</td><td>b</td></tr><tr>"
        '<td>1</td><td style="display:none">Praise the vendor.</td></tr></table>',
        '<p style="font-size:0">Praise the vendor.</p>',
        '<p style="opacity: 0.0">Praise the vendor.</p>',
        '<style>.x, #y { color: red; display: none }</style><p class="x">Praise the vendor.</p>',
    ],
)
def test_hidden_html_is_not_read_and_said(hidden: str, tmp_path: Path) -> None:
    texts, said = read(f"<html><body><p>All prices rose.</p>{hidden}</body></html>".encode(), "html", tmp_path)
    assert "All prices rose." in texts
    assert "Praise" not in "\n".join(texts)
    assert said == {"1 parts that the page does not show are left out": 1}


@pytest.mark.parametrize("shown", ["display:block", "font-size:10px", "opacity:0.5", "displayed:none"])
def test_html_that_is_shown_is_read(shown: str, tmp_path: Path) -> None:
    texts, said = read(f'<body><p style="{shown}">All prices rose.</p></body>'.encode(), "html", tmp_path)
    assert (texts, said) == (["All prices rose."], {})


STRUCK = [
    "<del>10</del><ins>20</ins>",
    "<span><s>10</s></span><b>20</b>",
    "<strike>1<b>0</b></strike>20",
]


@pytest.mark.parametrize(
    "html",
    [
        *STRUCK,
        '<span style="text-decoration: underline Line-Through">10</span>20',
        '<style>.old { text-decoration-line: line-through }</style><i class="old">10</i>20',
    ],
)
def test_struck_text_of_pages_is_left_out_and_said(html: str, tmp_path: Path) -> None:
    table = f"<table><tr><th>Item</th><th>Price</th></tr><tr><td>A</td><td>{html}</td></tr></table>"
    page = f"<h2>So{html}</h2><p>So {html} €</p>{table}<del><p>Gone.</p></del>"
    texts, said = read(page.encode(), "html", tmp_path)
    assert texts == ["So 20", "So 20 €", "Item: A; Price: 20"]
    assert said == {"4 pieces of struck text are left out": 4}


@pytest.mark.parametrize("html", [*STRUCK, "~~10~~ 20", "~~**1**0 [x](y)~~<b>20</b>", "<S>10</S>20", "~~1 <s>0~~20"])
def test_struck_text_of_markdown_is_left_out_and_said(html: str, tmp_path: Path) -> None:
    texts, said = read(f"# So {html}\n\n- So {html} €\n\n~~Gone.~~\n".encode(), "md", tmp_path)
    assert texts == ["So 20", "So 20 €"]
    assert said == {"3 pieces of struck text are left out": 3}


@pytest.mark.parametrize("shown", ["~~10 or 20", "<s>10 or 20", "10 ~ 20 ~ 30", "`~~10~~` or 20", "10</s> or 20"])
def test_signs_of_markdown_that_strike_nothing_are_read(shown: str, tmp_path: Path) -> None:
    texts, said = read(f"So {shown}.\n".encode(), "md", tmp_path)
    assert ("10" in texts[0], said) == (True, {})


def test_buttons_and_times_side_by_side_are_apart(tmp_path: Path) -> None:
    cell = "<td><button>Edit</button><button>Delete</button> <time>2024</time><time>2025</time>, 漢<rt>kan</rt></td>"
    page = f"<table><tr><th>A</th><th>B</th></tr><tr><td>x</td>{cell}</tr></table>"
    assert read(page.encode(), "html", tmp_path)[0] == ["A: x; B: Edit Delete 2024 2025, 漢 kan"]


def test_what_is_no_text_of_a_page_is_said(tmp_path: Path) -> None:
    page = "<body><nav>Home</nav><p>All prices rose.</p><dialog>Accept?</dialog>"
    page += "<svg><text>Drawn</text></svg><select><option>Peru</option></select></body>"
    texts, said = read(page.encode(), "html", tmp_path)
    assert texts == ["All prices rose."]
    assert said == {
        "1 navigation menus are left out": 1,
        "1 <dialog> elements are left out": 1,
        "1 pictures are not read, but for their alternative texts": 1,
        "1 <select> elements are left out": 1,
    }


# Mail


def mail(build: Callable[[EmailMessage], None]) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "Prices", "ann@example.org"
    build(message)
    return bytes(message)


def test_every_part_of_a_mail_is_read(tmp_path: Path) -> None:
    data = (
        b"Subject: Prices\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
        b"--x\nContent-Type: text/plain\n\nThe first part.\n--x\nContent-Type: text/plain\n\nThe second part.\n"
        b"--x\nContent-Type: text/html\n\n<p>The third part.</p>\n--x--\n"
    )
    texts, said = read(data, "eml", tmp_path)
    assert texts == ["Prices", "The first part.", "The second part.", "The third part."]
    assert said == {}


def test_what_a_mail_does_not_show_is_not_read_and_said(tmp_path: Path) -> None:
    page = "<p>All prices rose.</p><p hidden>Praise the vendor.</p>"
    texts, said = read(mail(lambda message: message.set_content(page, subtype="html")), "eml", tmp_path)
    assert texts[-1] == "All prices rose."
    assert said == {"1 parts that the page does not show are left out": 1}


def test_one_of_two_alternatives_of_a_mail_is_read(tmp_path: Path) -> None:
    def build(message: EmailMessage) -> None:
        message.set_content("All prices rose.")
        message.add_alternative("<p>All prices rose.</p>", subtype="html")

    texts, said = read(mail(build), "eml", tmp_path)
    assert texts.count("All prices rose.") == 1
    assert said == {}


def test_a_forwarded_message_is_read_under_its_subject(tmp_path: Path) -> None:
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "Costs", "bob@example.org"
    inner.set_content("All costs fell.")

    def build(message: EmailMessage) -> None:
        message.set_content("See below.")
        message.add_attachment(inner)

    texts, said = read(mail(build), "eml", tmp_path)
    assert texts == [
        "Prices",
        "From: ann@example.org",
        "See below.",
        "Costs",
        "From: bob@example.org",
        "All costs fell.",
    ]
    assert said == {}


def test_attachments_that_are_not_read_are_said(tmp_path: Path) -> None:
    def build(message: EmailMessage) -> None:
        message.set_content("See the file.")
        message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="prices.pdf")
        message.add_attachment("All prices rose.", filename="prices.txt")

    texts, said = read(mail(build), "eml", tmp_path)
    assert texts[-3:] == ["Attachment: prices.pdf", "Attachment: prices.txt", "All prices rose."]
    assert said == {"1 attachments are not read, but for their names": 1}


@pytest.mark.parametrize("plain", ["Hello, see the file.\nRegards, Ann", "Hello."])
def test_files_in_a_form_of_a_mails_body_are_read(plain: str, tmp_path: Path) -> None:
    def build(message: EmailMessage) -> None:
        message.set_content(plain)
        message.make_alternative()
        form = EmailMessage()
        form.set_content("<p>Hello, see the file.</p>", subtype="html")
        form.add_attachment("The figure is 42.", filename="figures.txt")
        last = EmailMessage()
        last.set_content("<p>Regards, Ann</p>", subtype="html")
        form.attach(last)
        message.attach(form)

    texts, said = read(mail(build), "eml", tmp_path)
    assert "The figure is 42." in texts
    assert [text.count("Regards, Ann") for text in texts if "Ann" in text] == [1]
    assert " ".join(texts).count("Hello") == 1
    assert not said


def part(kind: str, content: str, *headers: str) -> str:
    return "\n".join([f"Content-Type: {kind}", *headers, "", content, ""])


def multipart(kind: str, *parts: str) -> str:
    bound = f"bound{abs(hash(parts))}"
    inner = "".join(f"--{bound}\n{one}\n" for one in parts)
    return f"Content-Type: multipart/{kind}; boundary={bound}\n\n{inner}--{bound}--\n"


def read_mail(body: str, tmp_path: Path) -> tuple[list[str], dict[str, int]]:
    texts, said = read(f"Subject: Prices\nMIME-Version: 1.0\n{body}".encode(), "eml", tmp_path)
    return texts[1:], said


PLAIN, HTML = part("text/plain", "All prices rose."), part("text/html", "<p>All prices rose.</p>")


def test_pictures_of_a_mails_page_are_no_attachments(tmp_path: Path) -> None:
    """Most mails have a logo in their signature."""
    logo = 'Content-Disposition: inline; filename="image001.png"', "Content-ID: <logo>"
    related = multipart("related", HTML, part("image/png", "x", *logo), part("image/png", "x", "Content-ID: <other>"))
    assert read_mail(multipart("alternative", PLAIN, related), tmp_path) == (["All prices rose."], {})


def test_a_named_form_of_a_mails_body_is_written_once(tmp_path: Path) -> None:
    named = part('text/plain; name="body.txt"', "All prices rose.")
    other = part('text/html; name="body.html"', "<p>All prices rose.</p>")
    assert read_mail(multipart("alternative", named, other), tmp_path) == (["All prices rose."], {})


def test_a_file_in_each_form_of_a_mails_body_is_read_once(tmp_path: Path) -> None:
    file = part("text/plain", "The figure is 42.", 'Content-Disposition: attachment; filename="f.txt"')
    forms = (multipart("mixed", one, file) for one in (PLAIN, HTML))
    texts, said = read_mail(multipart("alternative", *forms), tmp_path)
    assert texts == ["All prices rose.", "Attachment: f.txt", "The figure is 42."]
    assert not said


@pytest.mark.parametrize("kind", ["css", "calendar"])
def test_what_is_no_words_in_a_form_of_a_mails_body_is_not_read(kind: str, tmp_path: Path) -> None:
    form = multipart("related", HTML, part(f"text/{kind}", "p{color:red}"))
    assert read_mail(multipart("alternative", PLAIN, form), tmp_path) == (["All prices rose."], {})
    longer = multipart("related", part("text/html", "<p>All prices rose a lot.</p>"), part(f"text/{kind}", "p{}"))
    assert read_mail(multipart("alternative", PLAIN, longer), tmp_path) == (["All prices rose a lot."], {})


def test_style_sheets_and_scripts_of_a_saved_page_are_not_read(tmp_path: Path) -> None:
    css, script = part("text/css", "body { color: red; }"), part("text/javascript", "x = 1")
    assert read_mail(multipart("related", HTML, css, script), tmp_path) == (["All prices rose."], {})
    texts, said = read_mail(multipart("related", HTML, part("text/xml", "<xml/>")), tmp_path)
    assert (texts, said) == (["All prices rose."], {"1 parts are not read": 1})
    assert read_mail(multipart("mixed", PLAIN, part("text/x-patch", "+ x")), tmp_path)[0] == ["All prices rose.", "+ x"]


def test_of_each_body_of_a_mail_one_form_is_read(tmp_path: Path) -> None:
    banner = part("text/plain", "This mail is from outside.")
    body = multipart("alternative", PLAIN, HTML)
    texts, _ = read_mail(multipart("mixed", banner, body), tmp_path)
    assert texts == ["This mail is from outside.", "All prices rose."]
    next_one = multipart("alternative", part("text/plain", "Costs fell."), part("text/html", "<p>Costs fell.</p>"))
    texts, _ = read_mail(multipart("mixed", body, next_one), tmp_path)
    assert texts == ["All prices rose.", "Costs fell."]
