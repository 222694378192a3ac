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


def _open_text() -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "text", "table", "style", "manifest"))
    body = (
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


def test_one_that_cannot_be_drawn_is_shown_by_its_passages(site: Site) -> None:
    page = site.page()
    page.route("**/v1/documents/*:download*", lambda route: route.fulfill(body=b"no archive"))
    admin = {"x-api-key": site.keys["admin"]}
    collection = made(page, site)
    file = {"name": "a.docx", "mimeType": DOCX, "buffer": _word()}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": collection, "file": file})
    page.goto(f"{site.url}#/documents/{collection}")
    page.locator(".state.good").wait_for()
    page.get_by_role("button", name="a.docx", exact=True).click()
    page.locator(".prose", has_text=CLOSING).wait_for()
    page.goto(f"{site.url}#/overview")
    page.get_by_role("heading", name="Services").wait_for()
    assert page.locator(".viewer").count() == 0, "on a narrow page it would lie over the view"
    page.context.close()
