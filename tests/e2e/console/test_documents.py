"""Documents put in order, chosen together, tagged, replaced, and looked at as the search has them."""

import pytest
from support.console import WITHOUT_AXE, Site, barriers

from .test_administering import made

pytestmark = [pytest.mark.full, pytest.mark.slow]

FILES = {
    "b-lake.txt": b"The lake is deep. " * 30,
    "a-hill.txt": b"The hill is high.",
    "c-wood.txt": b"It is dark. " * 9,
}


@WITHOUT_AXE
def test_documents_are_ordered_tagged_replaced_and_deleted_together(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    for filename, data in FILES.items():
        file = {"name": filename, "mimeType": "text/plain", "buffer": data}
        page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").nth(2).wait_for()
    names = page.locator("ul.list .item-name")
    page.get_by_label("Order").select_option("name")
    assert names.all_text_contents() == ["a-hill.txt", "b-lake.txt", "c-wood.txt"]
    page.get_by_label("Order").select_option("size")
    assert names.all_text_contents() == ["b-lake.txt", "c-wood.txt", "a-hill.txt"]
    page.get_by_role("button", name="Tags: a-hill.txt").click()
    page.get_by_label("Tags: a-hill.txt").and_(page.locator("input")).fill("land, high, land")
    page.keyboard.press("Enter")
    hill = page.locator("ul.list > li", has_text="a-hill.txt")
    hill.locator(".tag").nth(1).wait_for()
    assert hill.locator(".tag").all_text_contents() == ["land", "high"]
    page.get_by_role("button", name="Passages: b-lake.txt").click()
    page.locator(".pieces li").first.wait_for()
    assert "The lake is deep." in page.locator(".pieces").text_content()
    barriers(page, "passages")
    page.keyboard.press("Escape")
    other = {"name": "a-hill.txt", "mimeType": "text/plain", "buffer": b"The hill is lower than one thought."}
    with page.expect_response(lambda one: one.url.endswith(":replace")) as replaced:
        page.locator("input[type=file][aria-label='Replace: a-hill.txt']").set_input_files([other])
    assert replaced.value.ok
    hill.get_by_text("35 bytes").wait_for()
    # Those chosen, and of them only those that are shown, go together.
    page.get_by_label("All shown").check()
    page.get_by_label("Filter by name").fill("-")
    page.get_by_label("Choose b-lake.txt").uncheck()
    page.get_by_role("button", name="Delete: 2 documents").click()
    page.get_by_role("button", name="Really delete 2 documents").click()
    page.get_by_text("1 document", exact=True).wait_for()
    assert names.all_text_contents() == ["b-lake.txt"]
    assert not page.faults
    page.context.close()


def test_a_reader_chooses_nothing(site: Site, handbook: str) -> None:
    page = site.page("reader")
    page.goto(f"{site.url}#/documents/{handbook}")
    page.get_by_role("button", name="Passages: guide-lyon.md").wait_for()
    assert page.locator("main input[type=checkbox]").count() == 0
    for name in ("Replace", "Tags"):
        assert page.get_by_role("button", name=name).count() == 0, name
    page.context.close()


@WITHOUT_AXE
def test_markdown_is_drawn_as_a_document(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    text = b"# Rivers\n\nThe **Rhine** is long.\n\n| River | km |\n|---|---|\n| Rhine | 1230 |\n\n- one\n- two\n"
    file = {"name": "rivers.md", "mimeType": "text/markdown", "buffer": text}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").wait_for()
    page.get_by_role("button", name="rivers.md", exact=True).click()
    prose = page.locator(".prose")
    prose.get_by_role("heading", name="Rivers").wait_for()
    assert prose.locator("strong").text_content() == "Rhine"
    assert prose.locator("li").all_text_contents() == ["one", "two"]
    assert "**" not in prose.text_content()
    barriers(page, "Markdown as a document")
    assert not page.faults
    page.context.close()
