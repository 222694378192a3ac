"""A page is right: live counts, controls only for permitted users, one sign-in, and automatic reconnection."""

import uuid

import pytest
from support.console import WITHOUT_AXE, Site, ask, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def test_what_a_deletion_takes_with_it_is_counted_now(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = f"counted-{uuid.uuid4().hex[:6]}"
    page.request.post(f"{site.url}v1/collections", headers=admin, data={"name": name})
    page.goto(f"{site.url}#/collections/{name}")
    page.get_by_text("to delete it with its 0 documents").wait_for()
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"The lake is deep."}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    page.get_by_text("to delete it with its 1 document").wait_for()
    page.goto(f"{site.url}#/collections")
    page.locator("li", has_text=name).get_by_text("1 document", exact=True).wait_for()
    assert not page.faults
    page.context.close()


def test_a_reader_sees_no_control_that_is_not_his(site: Site, handbook: str) -> None:
    page = site.page("reader")
    page.goto(f"{site.url}#/collections/{handbook}")
    page.get_by_role("heading", name=handbook).wait_for()
    page.locator(".quotas").wait_for()
    assert page.locator("main form, main button").count() == 0
    page.goto(f"{site.url}#/collections")
    page.get_by_role("link", name=handbook, exact=True).wait_for()
    assert page.locator("main form, main button").count() == 0
    page.goto(f"{site.url}#/documents/{handbook}")
    page.get_by_role("button", name="Download: guide-lyon.md").wait_for()
    for name in ("Choose files", "Delete", "Try again"):
        assert page.get_by_role("button", name=name).count() == 0, name
    page.context.close()
    # A writer may write to what all see, and manages what is his own alone.
    page = site.page("writer")
    page.goto(f"{site.url}#/collections/{handbook}")
    page.locator(".quotas").wait_for()
    assert page.locator("main form").count() == 0
    page.goto(f"{site.url}#/documents/{handbook}")
    page.get_by_role("button", name="Choose files").wait_for()
    page.context.close()


def test_the_overview_comes_back_by_itself(site: Site) -> None:
    page = site.page()
    page.route("**/v1/health", lambda route: route.abort())
    page.goto(f"{site.url}#/overview")
    page.get_by_text("The server cannot be reached").wait_for()
    page.unroute("**/v1/health")
    page.get_by_role("heading", name="Services").wait_for()
    assert page.get_by_text("The server cannot be reached").count() == 0
    assert not page.faults
    page.context.close()


def test_one_sign_in_is_for_all_tabs_and_is_stored_in_none_that_outlives_them(site: Site) -> None:
    first = site.page("writer")
    second = first.context.new_page()
    second.goto(site.url)
    second.locator(".asker").wait_for()
    assert "wim" in second.locator(".who").text_content()
    assert site.keys["writer"] not in second.evaluate("JSON.stringify(localStorage) + document.cookie")
    second.get_by_role("button", name="Sign out").click()
    second.get_by_label("API key or token").wait_for()
    first.get_by_label("API key or token").wait_for()
    # Signed in again in one of them, the other is too; a key that is refused is handed on to none.
    second.get_by_label("API key or token").fill("nonsense")
    second.keyboard.press("Enter")
    second.get_by_role("alert").wait_for()
    assert first.get_by_role("alert").count() == 0
    second.get_by_label("API key or token").fill(site.keys["admin"])
    second.keyboard.press("Enter")
    first.locator(".asker").wait_for()
    assert "ann" in first.locator(".who").text_content()
    # A window of another profile knows nothing of it.
    other = site.page(who="")
    other.get_by_label("API key or token").wait_for()
    assert not first.faults
    other.context.close()
    first.context.close()


@WITHOUT_AXE
def test_a_refusal_offers_what_is_nearest(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "Who won the football world cup in 1998?")
    page.get_by_text("No passage was found that answers.").wait_for()
    page.get_by_text("The nearest passages").click()
    offered = page.locator(".nearest .source")
    offered.first.wait_for()
    assert 1 <= offered.count() <= 3
    barriers(page, "nearest passages")
    offered.first.click()
    page.locator(".viewer").wait_for()
    assert page.locator(".answer .badge").count() == 0, "nothing of it is taken for an answer"
    assert not page.faults
    page.context.close()


def test_an_edit_says_what_it_takes_the_place_of(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "And abroad?")
    page.get_by_role("button", name="Edit the question").first.click()
    page.get_by_text("takes the place of this one, of its answer and of 2 messages after it").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Edit the question").last.click()
    page.get_by_text("takes the place of this one and of its answer.").wait_for()
    page.context.close()


@WITHOUT_AXE
def test_what_an_edit_replaces_is_a_version_to_go_back_to(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "And abroad?")
    page.get_by_role("button", name="Edit the question").first.click()
    page.get_by_text("They are kept: you can go back to them.").wait_for()
    page.get_by_role("textbox", name="Edit the question").fill("How long is the warranty?")
    page.get_by_role("button", name="Ask", exact=True).first.click()
    page.locator(".versions", has_text="Version 2 of 2").wait_for()
    headings = page.locator(".question h2")
    assert [one.endswith("How long is the warranty?") for one in headings.all_text_contents()] == [True]
    barriers(page, "versions of a question")
    page.get_by_role("button", name="The version before").click()
    page.locator(".versions", has_text="Version 1 of 2").wait_for()
    assert [one.split(": ")[1] for one in headings.all_text_contents()] == [
        "How high is the travel allowance?", "And abroad?"
    ]  # fmt: skip
    assert page.locator(".turn .answer").count() == 2
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "The next version"
    # The server keeps it: it is there after a reload.
    page.reload()
    page.locator(".versions", has_text="Version 1 of 2").wait_for()
    page.get_by_role("button", name="The next version").click()
    page.locator(".versions", has_text="Version 2 of 2").wait_for()
    assert headings.count() == 1
    assert not page.faults
    page.context.close()


def test_an_edit_that_fails_leaves_what_was_there(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "And abroad?")
    page.route("**/v1/messages/*:edit", lambda route: route.abort())
    page.get_by_role("button", name="Edit the question").first.click()
    page.get_by_role("textbox", name="Edit the question").fill("How long is the warranty?")
    page.get_by_role("button", name="Ask", exact=True).first.click()
    page.get_by_role("alert").wait_for()
    assert page.locator(".question h2").count() == page.locator(".turn .answer").count() == 2
    assert page.locator(".asker textarea").input_value() == "How long is the warranty?"
    page.context.close()


def test_an_edit_under_way_changes_nothing_in_the_conversation_gone_to(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "And abroad?")
    page.route("**/v1/messages/*:edit", lambda route: None)  # it does not end by itself
    page.get_by_role("button", name="Edit the question").first.click()
    page.get_by_role("textbox", name="Edit the question").fill("How long is the warranty?")
    with page.expect_request("**/v1/messages/*:edit"):
        page.get_by_role("button", name="Ask", exact=True).first.click()
    with page.expect_event("requestfailed"):
        page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="Stop").wait_for(state="detached")
    assert page.locator(".turn").count() == 0
    assert page.locator(".asker textarea").input_value() == ""
    page.context.close()
