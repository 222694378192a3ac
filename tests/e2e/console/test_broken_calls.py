"""Calls that break: what was deleted meanwhile is gone from the page, and what was typed or accepted is not lost."""

import json
import uuid
from typing import Any

import pytest
from support.console import Page, Site, ask

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
        elif token == "refused" and not watches[-1]:
            # As long after a deletion: the snapshot is what exists, and no deletion follows it.
            events = route.fetch(url=f"{asked}&until_idle=true").text().split("\n\n")
            (end,) = [at for at, one in enumerate(events) if "snapshot_done" in one]
            body = "\n\n".join([*events[: end + 1], ""])
            route.fulfill(status=200, headers={"content-type": "text/event-stream"}, body=body)
        else:
            route.continue_(url=f"{asked}x" if token == "refused" else asked)

    page.route("**/documents:watch*", watch)
    page.reload()
    page.get_by_text("Gone for a moment.").wait_for()
    one = page.request.get(f"{site.url}v1/documents?collection={name}", headers=admin).json()["documents"][0]
    assert page.request.delete(f"{site.url}v1/documents/{one['id']}", headers=admin).ok
    page.locator(".filters").get_by_text("1 document", exact=True).wait_for(timeout=15_000)
    page.locator("li", has_text=one["filename"]).wait_for(state="detached")
    assert watches[0] == ""
    assert watches[1] != "", "the second watch goes on where the first one broke"
    assert watches[2:3] == ([""] if token == "refused" else [])
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


@pytest.mark.parametrize(("status", "said"), [
    (502, "The server cannot be reached. Is it running?"),
    (413, "A proxy before the server refused this as too large."),
    (418, "HTTP 418"),
])  # fmt: skip
def test_a_proxy_that_answers_for_the_server_is_put_in_words(site: Site, status: int, said: str) -> None:
    page = site.page("writer")
    writer = {"x-api-key": site.keys["writer"]}
    assert page.request.post(f"{site.url}v1/conversations", headers=writer, data={"title": "Calls"}).ok
    page.route(
        "**/v1/conversations*",
        lambda route: route.fulfill(status=status, content_type="text/html", body="<html><h1>nginx</h1></html>"),
    )
    page.goto(f"{site.url}#/conversations")
    page.locator(".failure p").wait_for()
    assert (page.locator(".failure p").text_content() or "").removesuffix(".") == said.removesuffix(".")
    page.context.close()


def attach(page: Page, *words: str) -> None:
    files = [note(f"{word}.txt", f"A text of {word}.") for word in words]
    page.locator("input[aria-label='Attach files']").set_input_files(files)


def test_files_attached_while_another_conversation_is_opened_belong_to_their_own(site: Site, handbook: str) -> None:
    page = site.page("writer")
    writer = {"x-api-key": site.keys["writer"]}

    def new(collections: list[str]) -> str:
        answer = page.request.post(f"{site.url}v1/conversations", headers=writer, data={"collections": collections})
        return str(answer.json()["conversation"]["id"])

    def scope(conversation: str) -> list[str]:
        answer = page.request.get(f"{site.url}v1/conversations/{conversation}", headers=writer)
        return list(answer.json()["conversation"]["collections"])

    first, other = new([handbook]), new([handbook])
    held: list[Any] = []
    page.route(
        "**/v1/collections", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.goto(f"{site.url}#/ask/{first}")
    chosen = page.get_by_label("Search in").locator("option:checked")
    page.get_by_label("Search in").locator("option:checked", has_text=handbook).wait_for(state="attached")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/v1/collections")):
        attach(page, "tea")
    with page.expect_response(lambda one: one.url.endswith(f"/v1/conversations/{other}")):
        page.goto(f"{site.url}#/ask/{other}")
    with page.expect_response(lambda one: one.request.method == "PATCH") as changed:
        held[0].continue_()
    assert f"/v1/conversations/{first}?" in changed.value.url
    assert scope(first) == [handbook, f"Files {first[:12]}"]
    assert scope(other) == [handbook]
    assert chosen.text_content().strip("\u2068\u2069") == handbook
    assert not page.faults
    page.context.close()


def test_files_attached_at_once_begin_one_conversation_that_is_asked_of_them_alone(site: Site, handbook: str) -> None:
    page = site.page("writer")
    held: list[Any] = []
    page.route(
        "**/v1/conversations", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    attach(page, "tea")
    attach(page, "rye")
    page.wait_for_timeout(500)
    assert len(held) == 1
    held[0].continue_()
    page.locator(".attached .state.good").nth(1).wait_for()
    assert (
        (page.get_by_label("Search in").locator("option:checked").text_content() or "")
        .strip("\u2068")
        .startswith("Files ")
    )
    # A conversation that has asked everything goes on so, and has the file.
    page.get_by_role("link", name="Ask", exact=True).click()
    page.unroute("**/v1/conversations")
    page.locator(".attached").wait_for(state="detached")
    page.get_by_label("Search in").select_option("")
    ask(page, "What is the internal emergency number?")
    attach(page, "otters")
    page.locator(".attached .state.good").wait_for()
    assert page.get_by_label("Search in").locator("option:checked").text_content() == "All collections"
    ask(page, "What is a text of otters?")
    assert page.locator(".source-label", has_text="otters.txt").count()
    assert not page.faults
    page.context.close()


def test_an_attached_file_that_is_accepted_is_watched_until_it_is_read(site: Site) -> None:
    page = site.page("writer")
    broken: list[str] = []

    def watch(route: Any) -> None:
        broken.append(route.request.url)
        if len(broken) == 1:
            route.fulfill(status=200, headers={"content-type": "text/event-stream"}, body="")
        elif len(broken) == 2:
            away(route)
        else:
            route.continue_()

    page.route("**/documents:watch*", watch)
    attach(page, "tea")
    page.locator(".attached .state.good").wait_for(timeout=20_000)
    assert len(broken) == 3
    assert not page.faults
    page.context.close()


def test_all_files_of_a_conversation_are_watched_by_one_stream(site: Site) -> None:
    page = site.page("writer")
    watches: list[Any] = []
    page.route("**:watch*", lambda route: watches.append(route))
    words = [f"herb{number}" for number in range(7)]
    with page.expect_response(lambda one: one.url.endswith("/v1/documents")):
        attach(page, *words)
    page.locator(".attached li").nth(6).wait_for()
    page.wait_for_timeout(2000)
    assert [one.request.url.rpartition("/")[2] for one in watches] == ["documents:watch"]
    watches[0].continue_()
    page.unroute("**:watch*")
    page.locator(".attached .state.good").nth(6).wait_for()
    assert not page.faults
    page.context.close()


def test_a_file_that_waits_to_be_attached_is_sent_by_nobody_else(site: Site) -> None:
    page = site.page("writer")
    held: list[Any] = []
    page.route("**/v1/documents", lambda route: held.append(route))
    with page.expect_request("**/v1/documents"):
        attach(page, "sage", "mint")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key or token").fill(site.keys["admin"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_selector(".asker")
    with page.expect_response("**/v1/documents"):
        held[0].continue_()
    page.wait_for_timeout(1000)
    assert len(held) == 1
    assert page.locator(".attached").count() == 0
    assert not page.faults
    page.context.close()


def test_documents_are_watched_while_the_page_is_looked_at(site: Site) -> None:
    page = site.page("writer")
    name = made(page, site)
    with page.expect_response("**/documents:watch*"):
        page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text("No documents here yet.").wait_for()

    def turn(state: str) -> None:
        page.evaluate(
            """state => {
              Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
              document.dispatchEvent(new Event("visibilitychange"));
            }""",
            state,
        )

    with page.expect_event("requestfailed", lambda one: "documents:watch" in one.url):
        turn("hidden")
    with page.expect_response("**/v1/documents"):
        choose(page, [note("tea.txt", "A text of tea.")])
    page.locator(".sendings").wait_for(state="detached")
    assert page.get_by_text("No documents here yet.").count() == 1
    with page.expect_request("**/documents:watch*") as again:
        turn("visible")
    assert not again.value.url.endswith("resume_token="), "the watch goes on where it ended"
    page.locator(".filters").get_by_text("1 document").wait_for()
    assert not page.faults
    page.context.close()


def test_a_move_whose_second_half_failed_is_made_again(site: Site) -> None:
    page = site.page("writer")
    writer = {"x-api-key": site.keys["writer"]}
    name = page.request.post(
        f"{site.url}v1/collections",
        headers=writer, data={"name": f"mine-{uuid.uuid4().hex[:6]}", "visibility": "VISIBILITY_PRIVATE"},
    ).json()["collection"]["name"]  # fmt: skip
    sent: list[dict[str, Any]] = []

    def lost(route: Any) -> None:
        sent.append(route.request.post_data_json)
        route.fetch()
        away(route)

    page.route("**/v1/documents:reindex", lost)
    page.goto(f"{site.url}#/collections/{name}")
    page.get_by_label("Numbers a vector").fill("128")
    go = page.get_by_role("button", name="Move and index again")
    go.click()
    page.locator(".failure").get_by_text("Gone for a moment.").wait_for()
    page.wait_for_timeout(1000)
    page.unroute("**/v1/documents:reindex")
    with page.expect_request("**/v1/documents:reindex") as again:
        go.click()
    assert again.value.post_data_json == sent[0], "the same move, which is begun once"
    page.get_by_text("Ended: 0 of 0 documents indexed again").wait_for()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=writer).json()["collection"]
    assert kept["settings"]["embedding"]["dimensions"] == 128
    assert not page.faults
    page.context.close()
