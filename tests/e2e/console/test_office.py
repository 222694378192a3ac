"""Word and OpenDocument texts shown as documents: drawn, marked, and unable to do anything."""

import io
import zipfile
from collections.abc import Callable

import pytest
from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from support.console import WITHOUT_AXE, Page, Site, ask, barriers

from .test_administering import made

pytestmark = [pytest.mark.full, pytest.mark.slow]

CLOSING = "The cafeteria closes at 15:20 on Fridays."
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ODT = "application/vnd.oasis.opendocument.text"


def _word() -> bytes:
    document = Document()
    document.add_heading("Cafeteria", 1)
    paragraph = document.add_paragraph("")
    paragraph.add_run("The cafeteria ")
    paragraph.add_run("closes at 15:20").bold = True
    paragraph.add_run(" on Fridays.")
    document.add_paragraph("Trays go to the rack.", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        [one for row in table.rows for one in row.cells], ["Dish", "Price", "Dumplings", "7.35"], strict=True
    ):
        cell.text = text
    target = document.part.relate_to("javascript:window.ran=1", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), target)
    link.append(document.add_paragraph("").add_run("the menu of next week")._r)
    document.paragraphs[-1]._p.append(link)
    saved = io.BytesIO()
    document.save(saved)
    return saved.getvalue()


def _misplaced() -> bytes:
    """Return a document whose style's font is a rule that places its host over the whole page."""
    document = Document()
    document.add_paragraph(CLOSING)
    rule = "position:fixed!important;inset:0!important;z-index:99!important;contain:none!important"
    document.styles["Normal"].font.name = f"x}}:host{{{rule}}}.y{{color:red"
    saved = io.BytesIO()
    document.save(saved)
    return saved.getvalue()


def _open_text(body: str = "", further: bytes = b"") -> bytes:
    """Return a text, of `body` or of a few paragraphs; `further` is a file beside it."""
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "text", "table", "style", "manifest"))
    body = body or (
        '<text:h text:outline-level="2">Cafeteria</text:h>'
        "<text:p>The cafeteria <text:span>closes at 15:20</text:span> on Fridays.</text:p>"
        "<text:list><text:list-item><text:p>Trays go to the rack.</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>Dish</text:p></table:table-cell>"
        "<table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row></table:table>"
    )
    inside = f"<office:body><office:text>{body}</office:text></office:body>"
    content = f"<office:document-content {spaces}>{inside}</office:document-content>"
    saved = io.BytesIO()
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("mimetype", ODT)
        archive.writestr("content.xml", content)
        archive.writestr("Pictures/further.bin", further, zipfile.ZIP_DEFLATED)
        entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{ODT}"/>'
        archive.writestr("META-INF/manifest.xml", f"<manifest:manifest {spaces}>{entry}</manifest:manifest>")
    return saved.getvalue()


def _opened(page: Page, site: Site, name: str, media: str, data: bytes) -> None:
    """Upload a file, ask what it says, and open the first footnote."""
    admin = {"x-api-key": site.keys["admin"]}
    collection = made(page, site)
    file = {"name": name, "mimeType": media, "buffer": data}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": collection, "file": file})
    page.goto(f"{site.url}#/documents/{collection}")
    page.locator(".state.good").wait_for()
    page.goto(f"{site.url}#/ask")
    page.reload()
    page.get_by_role("button", name="What to ask").click()
    page.get_by_role("checkbox", name=collection).check()
    ask(page, "When does the cafeteria close on Fridays?")
    page.locator(".badge").first.click()
    page.locator(".office mark").first.wait_for()


@WITHOUT_AXE
@pytest.mark.parametrize(("name", "media", "make"), [("a.docx", DOCX, _word), ("a.odt", ODT, _open_text)])
def test_it_is_drawn_as_a_document_with_the_quoted_words_marked(
    site: Site, name: str, media: str, make: Callable[[], bytes]
) -> None:
    page = site.page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    _opened(page, site, name, media, make())
    office = page.locator(".office")
    assert "".join(office.locator("mark").all_text_contents()) == CLOSING
    assert office.locator("mark").first.is_visible()
    ended = page.locator(".answer .kept").first
    assert ended.text_content().endswith("."), "the sign that ends a sentence is not on a line of its own"
    assert ended.evaluate("one => getComputedStyle(one).whiteSpace") == "nowrap"
    assert office.locator("td").first.text_content() == "Dish"
    assert office.locator("a, iframe, script, object").count() == 0
    if name == "a.docx":
        weight = office.locator("mark", has_text="closes").evaluate("one => getComputedStyle(one).fontWeight")
        assert weight == "700", "the document's own looks are kept"
        assert office.get_by_text("the menu of next week").count() == 1, "a link is its words"
    else:
        assert office.locator("li").text_content() == "Trays go to the rack."
        assert office.get_by_role("heading", name="Cafeteria").count() == 1
    barriers(page, name)
    # What the document brings is neither run nor loaded, and its looks stay in it.
    assert page.evaluate("window.ran") is None
    assert all(one.startswith(site.url) or one.startswith("blob:") for one in asked), asked
    assert not page.faults
    page.context.close()


def _padded(archive: bytes) -> bytes:
    """Return an archive with another part, of zeros, which takes it beyond the bound."""
    saved = io.BytesIO(archive)
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as added:
        added.writestr("word/further.bin", bytes(50_000_001))
    return saved.getvalue()


def _nested(depth: int) -> str:
    """Return tables in each other's cells, each of 100 columns like the first."""
    cell = "<text:p>1</text:p>"
    for _ in range(depth):
        repeated = f'<table:table-cell table:number-columns-repeated="100">{cell}</table:table-cell>'
        cell = f"<table:table><table:table-row>{repeated}</table:table-row></table:table>"
    return cell


def test_the_styles_of_a_document_place_nothing_outside_its_frame(site: Site) -> None:
    page = site.page()
    body = _misplaced()
    page.route("**/v1/documents/*:download*", lambda route: route.fulfill(body=body))
    _opened(page, site, "a.docx", DOCX, _word())
    office = page.locator(".office")
    assert office.evaluate("one => getComputedStyle(one).position") == "fixed", "the case tests what it should"
    reached = page.evaluate("[[5, 5], [400, 300]].map(at => document.elementFromPoint(...at).className)")
    assert "office" not in reached, reached
    page.context.close()


@pytest.mark.parametrize(
    ("name", "media", "make", "served"),
    [
        ("a.docx", DOCX, _word, lambda: b"no archive"),
        ("a.odt", ODT, _open_text, lambda: _open_text(_nested(4))),
        ("a.odt", ODT, _open_text, lambda: _open_text(further=bytes(50_000_001))),
        ("a.docx", DOCX, _word, lambda: _padded(_word())),
    ],
    ids=["no archive", "too many cells", "too large unzipped", "too large a docx"],
)
def test_one_that_cannot_be_drawn_is_shown_by_its_passages(
    site: Site, name: str, media: str, make: Callable[[], bytes], served: Callable[[], bytes]
) -> None:
    page = site.page()
    body = served()
    page.route("**/v1/documents/*:download*", lambda route: route.fulfill(body=body))
    admin = {"x-api-key": site.keys["admin"]}
    collection = made(page, site)
    file = {"name": name, "mimeType": media, "buffer": make()}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": collection, "file": file})
    page.goto(f"{site.url}#/documents/{collection}")
    page.locator(".state.good").wait_for()
    page.get_by_role("button", name=name, exact=True).click()
    page.locator(".prose", has_text=CLOSING).wait_for()
    page.goto(f"{site.url}#/overview")
    page.get_by_role("heading", name="Services").wait_for()
    assert page.locator(".viewer").count() == 0, "on a narrow page it would lie over the view"
    page.context.close()
