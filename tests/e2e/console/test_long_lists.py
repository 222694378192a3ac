"""A list of many documents: each of them is found and reached, and only those near what is seen are drawn in full."""

import json
from typing import Any

import pytest
from support.console import WITHOUT_AXE, Page, Site, barriers

from .test_administering import made

pytestmark = [pytest.mark.full, pytest.mark.slow]

MANY = 400


@pytest.fixture
def listed(site: Site) -> Any:
    """A page with the list of a collection, in which the server's one document stands under 400 names."""
    page = site.page("writer")
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"The lake is deep."}
    sent = page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    one = sent.json()["document"]
    made_at = "2026-01-01T{:02}:{:02}:00Z"
    events = [
        {
            "changed": {
                "document": {
                    **one, "id": f"d{n:05}", "filename": f"report-{n:05}.md",
                    "create_time": made_at.format(n // 60, n % 60),
                }
            },
            "resume_token": "x",
        }
        for n in range(MANY)
    ]  # fmt: skip
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, {"snapshot_done": {}, "resume_token": "x"}])
    streams: list[Any] = []

    def answer(route: Any) -> None:
        streams.append(route)
        if len(streams) == 1:
            route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route("**/documents:watch*", answer)
    page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text(f"{MANY} documents").wait_for()
    yield page
    assert not page.faults
    page.context.close()


def row(page: Page, number: int) -> Any:
    return page.locator("ul.list > li", has_text=f"report-{number:05}.md")


@WITHOUT_AXE
def test_every_document_is_found_without_scrolling(listed: Page) -> None:
    page = listed
    # Newest first: the oldest is the last.
    assert page.get_by_role("list").get_by_role("listitem").filter(has_text="report-").count() == MANY
    last = page.get_by_role("button", name="report-00000.md", exact=True)
    assert last.count() == 1, "a screen reader finds it"
    assert row(page, 0).locator(".facts").count() == 0, "it is far from what is seen"
    barriers(page, "a long list")
    assert page.evaluate("window.find('report-00000.md')"), "the browser finds it"
    assert page.evaluate("String(getSelection())") == "report-00000.md"
    last.scroll_into_view_if_needed()
    row(page, 0).locator(".facts").wait_for()


def test_the_keyboard_reaches_every_row_and_what_is_typed_stays(listed: Page) -> None:
    page = listed
    row(page, 399).get_by_role("button", name="Tags: report-00399.md").click()
    page.locator("input[aria-label='Tags: report-00399.md']").fill("kept")
    page.get_by_role("button", name="report-00000.md", exact=True).focus()
    box = page.get_by_label("Choose report-00000.md")
    box.wait_for()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert box.is_checked()
    page.get_by_role("button", name="Delete: 1 document").wait_for()
    # Tab goes on from the last row that is drawn to the next one, however far.
    page.get_by_role("button", name="report-00200.md", exact=True).focus()
    row(page, 200).locator(".facts").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "report-00198.md":
            break
    else:
        raise AssertionError("the keyboard did not come to the row after the next")
    page.locator("#content").evaluate("one => one.scrollTo(0, 0)")
    assert page.locator("input[aria-label='Tags: report-00399.md']").input_value() == "kept"


def test_far_rows_are_ordered_filtered_chosen_and_deleted_with_the_others(listed: Page) -> None:
    page = listed
    names = page.locator("ul.list .item-name")
    page.get_by_label("Order").select_option("oldest")
    page.wait_for_function("() => document.querySelector('ul.list .item-name').textContent === 'report-00000.md'")
    assert names.all_text_contents() == [f"report-{n:05}.md" for n in range(MANY)]
    page.get_by_label("All shown").check()
    page.get_by_label("Filter by name").fill("report-003")
    page.get_by_text("100 documents", exact=True).wait_for()
    row(page, 399).scroll_into_view_if_needed()
    page.get_by_label("Choose report-00399.md").uncheck()
    gone: list[str] = []

    def delete(route: Any) -> None:
        gone.append(route.request.url.rsplit("/", 1)[-1].partition("?")[0])
        route.fulfill(json={})

    page.route("**/v1/documents/d*", delete)
    page.get_by_role("button", name="Delete: 99 documents").click()
    page.get_by_role("button", name="Really delete 99 documents").click()
    page.get_by_role("button", name="Really delete").wait_for(state="detached")
    assert sorted(gone) == [f"d{n:05}" for n in range(300, 399)]
