"""The audit log, sources and their state, settings of collections, and small words that have to be right."""

import json
import uuid
from pathlib import Path

import pytest
from support.console import WITHOUT_AXE, Page, Site, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


def made(page: Page, site: Site) -> str:
    """Make a collection that all see, and return its name."""
    name = f"box-{uuid.uuid4().hex[:6]}"
    answer = page.request.post(
        f"{site.url}v1/collections", headers={"x-api-key": site.keys["admin"]}, data={"name": name}
    )
    assert answer.ok, answer.text()
    return name


@WITHOUT_AXE
def test_the_audit_log_is_filtered_and_saved_by_administrators(site: Site) -> None:
    page = site.page()
    name = made(page, site)
    page.goto(f"{site.url}#/audit")
    event = page.locator("ul.list > li", has_text="CreateCollection").first
    event.wait_for()
    assert "succeeded" in event.text_content()
    assert "ann" in event.text_content()
    page.get_by_label("Action, as in DeleteDocument").fill("DeleteCollection")
    page.keyboard.press("Enter")
    page.locator("ul.list > li", has_text="CreateCollection").first.wait_for(state="detached")
    page.get_by_label("Action, as in DeleteDocument").fill("")
    page.keyboard.press("Enter")
    page.get_by_label("Outcome").select_option("AUDIT_OUTCOME_SUCCEEDED")
    event.wait_for()
    barriers(page, "audit log")
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as JSON lines").click()
    kept = [json.loads(line) for line in Path(waited.value.path()).read_text().splitlines()]
    assert {one["outcome"] for one in kept} == {"AUDIT_OUTCOME_SUCCEEDED"}
    assert "CreateCollection" in {one["action"] for one in kept}
    assert name not in json.dumps(kept), "names are no part of the log"
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_sources_show_their_state_to_those_who_may_write(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    collection = made(page, site)
    source = {
        "name": "handbook repository", "collection": collection, "kind": "git", "paused": True,
        "settings": {"url": "https://git.invalid/a.git"},
    }  # fmt: skip
    answer = page.request.post(f"{site.url}v1/sources", headers=admin, data=source)
    assert answer.ok, answer.text()
    page.goto(f"{site.url}#/sources")
    one = page.locator("ul.list > li", has_text=collection)
    one.get_by_text("not synchronised yet").wait_for()
    assert "paused" in one.text_content()
    barriers(page, "sources")
    one.get_by_role("button", name="Delete: handbook repository").click()
    one.get_by_role("button", name="Really delete").click()
    one.wait_for(state="detached")
    assert not page.faults
    page.context.close()
    page = site.page("reader")
    assert page.get_by_role("link", name="Sources").count() == 0
    for view in ("sources", "audit", "nothing-of-ours"):
        page.goto(f"{site.url}#/{view}")
        page.get_by_role("heading", name="There is no such page").wait_for()
    page.context.close()


def test_instructions_temperature_and_threshold_of_a_collection_are_set(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    page.goto(f"{site.url}#/collections/{name}")
    page.get_by_label("Instructions for the model").fill("Answer like a librarian.")
    page.get_by_label("Temperature of the model").fill("0.4")
    page.get_by_label("Least score of a passage").fill("0.25")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for(state="attached")
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=admin).json()["collection"]["settings"]
    assert kept["prompt"]["system_prompt"] == "Answer like a librarian."
    assert kept["generation"]["temperature"] == 0.4
    assert kept["retrieval"]["min_score"] == 0.25
    page.get_by_label("Temperature of the model").fill("")
    page.get_by_label("Instructions for the model").fill("")
    # While the answer is under way, the form takes no input: it is drawn again with what is kept.
    held = []
    page.route(lambda url: "update_mask" in url, lambda route: held.append(route), times=1)
    with page.expect_request(lambda one: one.method == "PATCH"):
        page.get_by_role("button", name="Save").click()
    page.locator("fieldset:disabled", has=page.get_by_label("Instructions for the model")).wait_for()
    with page.expect_response(lambda one: one.request.method == "PATCH"):
        held.pop().continue_()
    kept = page.request.get(f"{site.url}v1/collections/{name}", headers=admin).json()["collection"]["settings"]
    assert "temperature" not in kept.get("generation", {})
    assert not kept.get("prompt", {}).get("system_prompt")
    # A value out of its range is refused by the words of its input.
    page.get_by_label("Least score of a passage").fill("7")
    page.get_by_label("Least score of a passage").evaluate("input => { input.max = ''; }")
    page.get_by_role("button", name="Save").click()
    failure = page.locator(".failure")
    failure.wait_for()
    assert "Least score of a passage" in failure.text_content()
    assert "min_score" not in failure.text_content()
    page.context.close()


def test_what_is_typed_outlives_a_grant_and_another_change(site: Site) -> None:
    page = site.page("writer")
    mine = {"x-api-key": site.keys["writer"]}
    name = f"box-{uuid.uuid4().hex[:6]}"
    private = {"name": name, "visibility": "VISIBILITY_PRIVATE"}
    assert page.request.post(f"{site.url}v1/collections", headers=mine, data=private).ok
    page.goto(f"{site.url}#/collections/{name}")
    typed = {"Description": "Plans of the board", "Instructions for the model": "Answer like a librarian."}
    for label, words in typed.items():
        page.get_by_label(label).fill(words)
    page.get_by_label("Provider of re-scoring").select_option("mmr")
    who = page.get_by_label("Name of the user or group")
    who.fill("ann")
    page.get_by_role("button", name="Share").click()
    page.get_by_text("User ann may read").wait_for()
    assert who.input_value() == ""
    assert {label: page.get_by_label(label).input_value() for label in typed} == typed
    # Another change that comes first is refused once, shown, and kept beside what is typed.
    change = {"settings": {"retrieval": {"limit": 9}}}
    path = f"{site.url}v1/collections/{name}"
    assert page.request.patch(f"{path}?update_mask=settings.retrieval.limit", headers=mine, data=change).ok
    page.get_by_role("button", name="Save").click()
    page.locator(".failure").wait_for()
    page.wait_for_function(
        "() => [...document.querySelectorAll('input[type=number]')].some((one) => one.value === '9')"
    )
    assert {label: page.get_by_label(label).input_value() for label in typed} == typed
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for(state="attached")
    kept = page.request.get(path, headers=mine).json()["collection"]
    assert kept["description"] == typed["Description"]
    assert kept["settings"]["prompt"]["system_prompt"] == typed["Instructions for the model"]
    assert kept["settings"]["rerank"]["provider"] == "mmr"
    assert kept["settings"]["retrieval"]["limit"] == 9
    assert kept["grants"] == [{"user_id": "ann", "access": "ACCESS_READ"}]
    assert page.locator(".failure").count() == 0
    assert not page.faults
    page.context.close()


def test_pictures_of_a_collection_are_read_where_one_says_so(site: Site) -> None:
    page = site.page()
    name = made(page, site)
    path = f"{site.url}v1/collections/{name}"
    page.goto(f"{site.url}#/collections/{name}")
    box = page.get_by_label("Read words in pictures of documents")
    for wanted in (True, False):
        box.set_checked(wanted)
        with page.expect_response(lambda one: one.request.method == "PATCH"):
            page.get_by_role("button", name="Save").click()
        kept = page.request.get(path, headers={"x-api-key": site.keys["admin"]}).json()["collection"]
        assert kept["settings"]["ocr_pictures"] is wanted
        page.reload()
        box.wait_for()
        assert box.is_checked() is wanted
    assert not page.faults
    page.context.close()


@pytest.mark.parametrize(("language", "towards"), [("en", "right"), ("ar", "left")])
def test_the_row_of_views_fades_where_more_of_it_lies(site: Site, language: str, towards: str) -> None:
    page = site.page(viewport={"width": 600, "height": 900})
    page.locator(".foot select").select_option(language)
    page.locator(f":root[lang={language}]").wait_for(state="attached")
    row = page.locator(".side ul")
    page.locator(".side ul.more-after:not(.more-before)").wait_for()
    row.locator("a").last.click()
    page.locator(".side ul.more-before:not(.more-after)").wait_for()
    assert f"linear-gradient(to {towards}" in row.evaluate("(one) => getComputedStyle(one).maskImage")
    # Where there is room for all views, nothing fades.
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator(".side ul:not(.more-before):not(.more-after)").wait_for()
    assert row.evaluate("(one) => getComputedStyle(one).maskImage") == "none"
    assert not page.faults
    page.context.close()


def test_one_begins_to_type_at_once_and_the_button_has_room_for_its_word(site: Site) -> None:
    page = site.page("reader", viewport={"width": 390, "height": 800})
    box = page.locator(".asker textarea")
    page.keyboard.type("How many")
    assert box.input_value() == "How many", "the box has the focus"
    # The button to ask has room for its word in the longest of the languages too.
    for language in ("en", "fr", "de", "ru"):
        page.locator(".foot select").select_option(language)
        page.locator(f":root[lang={language}]").wait_for(state="attached")
        place = page.locator(".asker .primary").bounding_box()
        assert place["x"] >= 0, language
        assert place["x"] + place["width"] <= 390, language
        assert page.locator(".asker .primary").evaluate("(one) => one.scrollWidth <= one.clientWidth + 1"), language
    page.locator(".foot select").select_option("en")
    page.goto(f"{site.url}#/nowhere")
    page.get_by_role("heading", name="There is no such page").wait_for()
    assert not page.faults
    page.context.close()


def test_files_that_cannot_be_read_are_not_offered_again_and_sizes_are_words(site: Site) -> None:
    page = site.page()
    name = made(page, site)
    page.goto(f"{site.url}#/documents/{name}")
    page.get_by_text("No documents here yet.").wait_for()
    program = {"name": "setup.exe", "mimeType": "", "buffer": b"MZ\x90\x00" + bytes(900)}
    page.locator("input[type=file]").set_input_files([program])
    refused = page.locator("li", has_text="setup.exe")
    refused.locator(".problem").wait_for()
    assert refused.get_by_role("button", name="Try again").count() == 0
    text = {"name": "a.txt", "mimeType": "", "buffer": b"The lake is deep. " * 20}
    page.locator("input[type=file]").set_input_files([text])
    page.locator("li", has_text="a.txt").get_by_text("360 bytes").wait_for()
    page.goto(f"{site.url}#/collections")
    assert page.get_by_label("Name", exact=True).get_attribute("maxlength") == "128"
    page.get_by_label("Name", exact=True).fill("a/b")
    page.get_by_role("button", name="Create").click()
    failure = page.locator(".failure")
    failure.wait_for()
    assert "collection.name" not in failure.text_content()
    assert "Name" in failure.text_content()
    page.context.close()
