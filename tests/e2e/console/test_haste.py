"""Two collections of one name, two clicks, two who sign in, and what is asked or typed while something is under way."""

import uuid
from typing import Any

import pytest
from support.console import WITHOUT_AXE, Page, Site, ask, barriers

from .test_uploading import choose, note, opened

pytestmark = [pytest.mark.full, pytest.mark.slow]


def private(page: Page, site: Site, who: str, name: str) -> str:
    """Make a private collection, and return its id."""
    answer = page.request.post(
        f"{site.url}v1/collections", headers={"x-api-key": site.keys[who]},
        data={"name": name, "visibility": "VISIBILITY_PRIVATE"},
    )  # fmt: skip
    assert answer.ok, answer.text()
    return str(answer.json()["collection"]["id"])


@WITHOUT_AXE
def test_each_collection_of_one_name_is_opened_filled_asked_and_deleted_by_itself(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = f"notes {uuid.uuid4().hex[:6]}"
    own, other = (private(page, site, who, name) for who in ("admin", "writer"))
    page.goto(f"{site.url}#/collections")
    row = page.locator("ul.list > li", has_text=name).filter(has_text="wim")
    row.get_by_role("link", name=name, exact=True).click()
    page.locator(".facts").get_by_text("owner wim").wait_for()
    page.go_back()
    row.get_by_role("link", name="Documents").click()
    with page.expect_request("**/v1/documents") as sent:
        choose(page, [note("otters.txt", "An otter sleeps eleven hours a day.")])
    assert sent.value.method == "POST"
    page.locator(".state.good").wait_for()
    barriers(page, "two collections of one name")
    counts = {
        one: page.request.get(f"{site.url}v1/collections/{one}", headers=admin).json()["collection"]["document_count"]
        for one in (own, other)
    }
    assert counts == {own: 0, other: 1}
    page.locator(".head select").select_option(own)
    page.get_by_text("No documents here yet.").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Search in").select_option(other)
    assert "wim" in page.get_by_label("Search in").locator("option:checked").text_content()
    ask(page, "How many hours a day does an otter sleep?")
    assert page.locator(".source-label", has_text="otters.txt").count()
    page.reload()
    page.locator(".turn .actions").wait_for()
    assert page.get_by_label("Search in").input_value() == other
    page.goto(f"{site.url}#/collections")
    row.get_by_role("link", name=name, exact=True).click()
    page.get_by_label("to delete it with its").fill(name)
    page.get_by_role("button", name="Delete the collection").click()
    page.get_by_role("heading", name="Collections").wait_for()
    assert page.request.get(f"{site.url}v1/collections/{own}", headers=admin).ok
    assert page.request.get(f"{site.url}v1/collections/{other}", headers=admin).status == 404
    assert not page.faults
    page.context.close()


def test_a_second_click_or_a_key_held_down_deletes_nothing(site: Site) -> None:
    page = site.page("writer")
    opened(page, site)
    deleted: list[Any] = []
    page.route(
        "**/v1/documents/*",
        lambda route: deleted.append(route) if route.request.method == "DELETE" else route.continue_(),
    )
    choose(page, [note(f"{word}.txt", f"A text of {word}.") for word in ("tea", "rye")])
    page.locator(".state.good").nth(1).wait_for()
    page.get_by_label("All shown").check()
    delete = page.get_by_role("button", name="Delete: 2 documents")
    delete.dblclick()
    page.wait_for_timeout(300)
    assert not deleted
    page.get_by_role("button", name="Cancel").click()
    one = page.get_by_role("button", name="Delete: tea.txt")
    one.focus()
    for _ in range(20):
        page.keyboard.down("Enter")
        page.wait_for_timeout(50)
    page.keyboard.up("Enter")
    assert not deleted
    # Who presses it once more, when one has read what it does, deletes: once.
    page.keyboard.press("Tab")
    sure = page.get_by_role("button", name="Really delete", exact=True)
    assert sure.evaluate("one => one === document.activeElement")
    sure.click()
    sure.click(force=True)
    page.wait_for_timeout(300)
    assert len(deleted) == 1
    deleted[0].continue_()
    page.locator("li", has_text="tea.txt").wait_for(state="detached")
    assert not page.faults
    page.context.close()


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key or token").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_selector(".asker, .drop")


def test_uploads_of_one_who_signed_out_are_not_the_next_ones(site: Site) -> None:
    page = site.page("writer")
    name, _ = opened(page, site)
    page.route("**/v1/documents", lambda route: route.fulfill(status=401, json={"status": 401, "detail": "Who?"}))
    choose(page, [note("tea.txt", "A text of tea.")])
    # A session that ended: the same person goes on, another one finds nothing of it.
    sign_in(page, site.keys["writer"])
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".sendings").get_by_text("tea.txt").wait_for()
    page.unroute("**/v1/documents")
    page.locator(".sendings").get_by_role("button", name="Try again").click()
    page.locator(".state.good").wait_for()
    page.route("**/v1/documents", lambda route: route.fulfill(status=401, json={"status": 401, "detail": "Who?"}))
    choose(page, [note("rye.txt", "A text of rye.")])
    sign_in(page, site.keys["admin"])
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").wait_for()
    assert page.locator(".sendings").count() == 0
    page.unroute("**/v1/documents")
    # What is under way or waits at a sign-out ends with it.
    held: list[Any] = []
    sent: list[str] = []
    page.on(
        "request", lambda one: sent.append(one.url) if one.method == "POST" and "/v1/documents" in one.url else None
    )
    page.route("**/v1/documents", lambda route: held.append(route))
    choose(page, [note(f"{number}.txt", f"Leaf {number}. " * 40_000) for number in range(5)])
    page.locator(".sendings progress").nth(2).wait_for()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, site.keys["writer"])
    for route in held[:]:
        route.continue_()
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").wait_for()
    page.wait_for_timeout(500)
    assert page.locator(".sendings").count() == 0
    assert len(sent) == 3
    assert page.locator(".filters").get_by_text("1 document", exact=True).count()
    assert not page.faults
    page.context.close()
