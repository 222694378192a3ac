"""Calls that break: what was deleted meanwhile is gone from the page, and what was typed or accepted is not lost."""

import json
from typing import Any

import pytest
from support.console import Site, ask

from .test_administering import made
from .test_uploading import choose, note

pytestmark = [pytest.mark.full, pytest.mark.slow]

AWAY = {"status": 503, "reason": "UNAVAILABLE", "detail": "Gone for a moment."}


def away(route: Any) -> None:
    route.fulfill(status=503, json=AWAY)


def broken_watch(route: Any) -> None:
    """Let the stream end once nothing is in work, and break it there."""
    whole = route.fetch(url=f"{route.request.url}&until_idle=true")
    broken = f"{whole.text()}event: error\ndata: {json.dumps(AWAY)}\n\n"
    route.fulfill(status=200, headers={"content-type": "text/event-stream"}, body=broken)


def test_an_address_that_is_no_address_shows_a_view(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.url}#/documents/100%")
    page.get_by_role("heading", name="Documents").wait_for()
    page.reload()
    page.get_by_role("heading", name="Documents").wait_for()
    assert not page.faults
    page.context.close()


@pytest.mark.parametrize("token", ["kept", "refused"])
def test_what_was_deleted_while_a_watch_was_broken_is_gone_from_the_list(site: Site, token: str) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text("No documents here yet.").wait_for()
    choose(page, [note(f"{word}.txt", f"A text of {word}.") for word in ("tea", "rye")])
    page.locator(".filters").get_by_text("2 documents").wait_for()
    page.locator(".state.good").nth(1).wait_for()
    watches: list[str] = []

    def watch(route: Any) -> None:
        asked = route.request.url
        watches.append(asked.partition("resume_token=")[2])
        if len(watches) == 1:
            broken_watch(route)
        else:
            route.continue_(url=f"{asked}x" if token == "refused" and watches[-1] else asked)

    page.route("**/documents:watch*", watch)
    page.reload()
    page.get_by_text("Gone for a moment.").wait_for()
    one = page.request.get(f"{site.url}v1/documents?collection={name}", headers=admin).json()["documents"][0]
    assert page.request.delete(f"{site.url}v1/documents/{one['id']}", headers=admin).ok
    page.locator(".filters").get_by_text("1 document", exact=True).wait_for(timeout=15_000)
    page.locator("li", has_text=one["filename"]).wait_for(state="detached")
    assert watches[0] == ""
    assert watches[1] != "", "the second watch goes on where the first one broke"
    assert watches[2:] == ([""] if token == "refused" else [])
    assert not page.faults
    page.context.close()


def test_a_key_whose_call_failed_is_made_once_from_what_was_typed(site: Site) -> None:
    page = site.page()
    sent: list[dict[str, Any]] = []

    def lost(route: Any) -> None:
        sent.append(route.request.post_data_json)
        route.fetch()
        away(route)

    page.route("**/v1/keys", lambda route: lost(route) if route.request.method == "POST" else route.continue_())
    page.goto(f"{site.url}#/keys")
    label = page.locator("form input").first
    label.fill("laptop of rye")
    make = page.locator("form button.primary")
    make.click()
    page.locator(".failure").wait_for()
    assert label.input_value() == "laptop of rye"
    page.unroute("**/v1/keys")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/v1/keys")) as again:
        make.click()
    assert again.value.post_data_json == sent[0], "the same request, which is done once"
    page.locator("ul.list > li", has_text="laptop of rye").wait_for()
    assert page.locator("ul.list > li", has_text="laptop of rye").count() == 1
    # The next one is another request, though it says the same.
    label.fill("laptop of rye")
    make.click()
    page.locator("ul.list > li", has_text="laptop of rye").nth(1).wait_for()
    page.locator(".secret code").wait_for()
    assert not page.faults
    page.context.close()


def test_a_title_whose_call_failed_can_be_saved_again(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "What is the internal emergency number?")
    page.get_by_role("link", name="Conversations").click()
    page.route(
        "**/v1/conversations/*", lambda route: away(route) if route.request.method == "PATCH" else route.continue_()
    )
    page.get_by_role("button", name="Rename").first.click()
    title = page.get_by_label("Title", exact=True)
    title.fill("Whom to call")
    page.get_by_role("button", name="Save").click()
    page.locator(".failure").wait_for()
    assert title.input_value() == "Whom to call"
    page.unroute("**/v1/conversations/*")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Whom to call").first.wait_for()
    assert not page.faults
    page.context.close()
