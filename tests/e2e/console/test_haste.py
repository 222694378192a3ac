"""Two collections of one name, two clicks, two who sign in, and what is asked or typed while something is under way."""

import json
import uuid
from typing import Any

import pytest
from support.console import WITHOUT_AXE, Page, Site, ask, barriers

from .test_administering import made
from .test_answers import answered, scripted, stream
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


def new(page: Page, site: Site, who: str, collections: list[str]) -> str:
    """Begin a conversation, and return its id."""
    headers = {"x-api-key": site.keys[who]}
    answer = page.request.post(f"{site.url}v1/conversations", headers=headers, data={"collections": collections})
    return str(answer.json()["conversation"]["id"])


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


def test_what_is_asked_while_a_conversation_is_read_is_answered_in_it(site: Site, handbook: str) -> None:
    page = site.page("writer")
    ask(page, "How high is the travel allowance?")
    of = new(page, site, "writer", [handbook])
    held: list[Any] = []
    sent: list[dict[str, Any]] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("/v1/ask") else None)
    page.route(f"**/v1/conversations/{of}/messages?*", lambda route: held.append(route))
    # Opened a second time before it was read for the first, it is shown once.
    for one in (of, new(page, site, "writer", []), of):
        with page.expect_request(f"**/v1/conversations/{one}/messages?*"):
            page.goto(f"{site.url}#/ask/{one}")
    page.locator(".turn").wait_for(state="detached")
    page.get_by_label("Your question").fill("What is the internal emergency number?")
    page.keyboard.press("Enter")
    page.locator(".turn").wait_for()
    page.wait_for_timeout(500)
    for route in held:
        route.continue_()
    page.locator(".turn .actions").wait_for()
    assert len(held) == 2
    (asked,) = sent
    assert (asked["conversation_id"], asked["collections"]) == (of, [handbook])
    # Where it could not be read, it is read for the next attempt.
    page.unroute(f"**/v1/conversations/{of}/messages?*")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.locator(".turn").wait_for(state="detached")
    page.route(f"**/v1/conversations/{of}/messages?*", lambda route: route.abort())
    page.goto(f"{site.url}#/ask/{of}")
    page.locator(".failure").wait_for()
    page.get_by_label("Your question").fill("How high is the travel allowance?")
    page.keyboard.press("Enter")
    page.locator(".turn .failure").wait_for()
    page.unroute(f"**/v1/conversations/{of}/messages?*")
    page.locator(".turn .failure").get_by_role("button").click()
    page.locator(".turn .actions").nth(1).wait_for()
    said = page.locator(".turn h2").all_text_contents()
    assert [one.rpartition(": ")[2] for one in said] == [
        "What is the internal emergency number?", "How high is the travel allowance?",
    ]  # fmt: skip
    assert page.locator(".failure").count() == 0
    assert (sent[-1]["conversation_id"], sent[-1]["collections"]) == (of, [handbook])
    assert not page.faults
    page.context.close()


def test_a_question_asked_again_stays_in_its_conversation(site: Site, handbook: str) -> None:
    page = site.page("writer")
    other = new(page, site, "writer", [handbook])
    page.route("**/v1/ask", lambda route: route.abort())
    page.get_by_label("Your question").fill("How high is the travel allowance?")
    page.keyboard.press("Enter")
    again = page.locator(".turn .failure").get_by_role("button")
    again.wait_for()
    page.unroute("**/v1/ask")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.url.endswith(("/v1/ask", ":regenerate")) else None)
    held: list[Any] = []
    page.route(
        "**/v1/conversations/*/messages?*",
        lambda route: route.continue_() if other in route.request.url else held.append(route),
    )
    with page.expect_request("**/v1/conversations/*/messages?*"):
        again.click()
    with page.expect_response(f"**/v1/conversations/{other}"):
        page.goto(f"{site.url}#/ask/{other}")
    held[0].continue_()
    page.wait_for_timeout(1000)
    assert not asked
    # Here one asks at once.
    ask(page, "What is the internal emergency number?")
    assert not page.faults
    page.context.close()


def test_what_is_typed_outlives_an_offered_question_and_the_end_of_a_composed_word(site: Site, handbook: str) -> None:
    page = site.page("writer")
    page.get_by_label("Search in").select_option(handbook)
    offered = page.get_by_role("list", name="Questions to begin with").get_by_role("button")
    offered.first.wait_for()
    scripted(page, stream(("text_delta", "Yes."), ("completed", answered("Yes."))))
    box = page.get_by_label("Your question")
    box.fill("and otters?")
    # Safari says of the Enter that ends a composed word only by its code that it is no Enter.
    box.evaluate("box => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true}))")
    offered.first.click()
    page.locator(".turn .actions").wait_for()
    assert page.locator(".turn").count() == 1
    assert box.input_value() == "and otters?"
    page.reload()
    page.locator(".asker").wait_for()
    assert box.input_value() == "and otters?"
    assert not page.faults
    page.context.close()


def test_a_file_attached_while_everything_is_asked_does_not_narrow_the_conversation(site: Site, handbook: str) -> None:
    page = site.page("writer")
    held: list[Any] = []
    changed: list[str] = []
    page.route(
        "**/v1/collections", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.on("request", lambda one: changed.append(one.url) if one.method == "PATCH" else None)
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/v1/collections")):
        page.locator("input[aria-label='Attach files']").set_input_files([note("tea.txt", "A text of tea.")])
    ask(page, "What is the internal emergency number?")
    held[0].continue_()
    page.locator(".attached .state.good").wait_for()
    assert page.get_by_label("Search in").locator("option:checked").text_content() == "All collections"
    assert not changed
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


def test_a_move_is_followed_to_its_end_though_its_watch_ends_before(site: Site) -> None:
    page = site.page("writer")
    name = f"mine-{uuid.uuid4().hex[:6]}"
    private(page, site, "writer", name)
    watches: list[str] = []

    def watch(route: Any) -> None:
        watches.append(route.request.url)
        if len(watches) == 1:
            running = {"operation": {**begun[0], "state": "OPERATION_STATE_RUNNING"}}
            body = f"data: {json.dumps(running)}\n\n"
            route.fulfill(status=200, headers={"content-type": "text/event-stream"}, body=body)
        elif len(watches) == 2:
            route.abort()
        else:
            route.continue_()

    begun: list[dict[str, Any]] = []

    def begin(route: Any) -> None:
        answer = route.fetch()
        operation = {**answer.json()["operation"], "state": "OPERATION_STATE_QUEUED"}
        begun.append(operation)
        route.fulfill(response=answer, json={**answer.json(), "operation": operation})

    page.route("**/v1/documents:reindex", begin)
    page.route("**/v1/operations/*:watch", watch)
    page.goto(f"{site.url}#/collections/{name}")
    page.get_by_label("Numbers a vector").fill("128")
    go = page.get_by_role("button", name="Move and index again")
    go.click()
    page.get_by_text("Ended: 0 of 0 documents indexed again").wait_for(timeout=20_000)
    assert len(watches) == 3
    assert go.is_enabled()
    assert page.locator(".failure").count() == 0
    assert not page.faults
    page.context.close()


def test_rows_that_counted_late_in_a_long_table_are_shown(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    rows = "".join(f"Bern,{number}\n" for number in range(1500))
    file = {"name": "long.csv", "mimeType": "text/csv", "buffer": f"City,Units\n{rows}Lyon,12\nLyon,30\n".encode()}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").wait_for()
    page.goto(f"{site.url}#/ask")
    page.get_by_label("Search in").select_option(name)
    ask(page, "What is the sum of Units where City is Lyon?")
    page.get_by_text("How this was computed").click()
    page.locator(".computed tbody tr").nth(1).wait_for()
    assert page.locator(".computed tbody tr").count() == 2
    assert not page.faults
    page.context.close()
