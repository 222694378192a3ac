"""What a reader typed, asked, received and rated is restored after a stop, a reload, a crash or an ended session."""

import pytest
from support.console import PATIENCE_MS, Page, Site, ask
from support.doubles.model_chat import Cut, Finish, Hold, ModelServer, Say

from .test_answers import aside

pytestmark = [pytest.mark.full, pytest.mark.slow]

BEGUN = "Tea is brewed at 80 degrees [1]. And "
FIRST = "Tea is brewed at 80 degrees"
STARTERS = ["How hot is tea brewed?", "Who drinks it?"]
WHOLE = [Say(["Tea is brewed at 80 degrees [1]. It is drunk hot."]), Finish()]


@pytest.fixture(scope="module")
def tea(site: Site, model: ModelServer) -> str:
    """A collection whose answers the scripted model writes, and has written the questions to begin with."""
    context = site.browser.new_context(extra_http_headers={"x-api-key": site.keys["admin"]})
    settings = {"generation": {"provider": "openai", "model": "scripted"}}
    context.request.post(f"{site.url}v1/collections", data={"name": "tea", "settings": settings})
    file = {"name": "tea.txt", "mimeType": "text/plain", "buffer": b"Tea is brewed at 80 degrees."}
    answer = context.request.post(f"{site.url}v1/documents", multipart={"collection": "tea", "file": file})
    assert answer.ok, answer.text()
    context.request.get(f"{site.url}v1/collections/tea/documents:watch?until_idle=true", timeout=PATIENCE_MS)
    model.script([Say(["How hot is tea brewed?\nWho drinks it?"]), Finish()])
    answer = context.request.get(f"{site.url}v1/collections/tea?with_starter_questions=true")
    assert answer.json()["starter_questions"] == STARTERS
    context.close()
    return "tea"


def test_questions_to_begin_with_are_those_that_the_model_wrote(site: Site, tea: str) -> None:
    page = site.page()
    page.get_by_label("Search in").select_option(tea)
    page.get_by_role("button", name=STARTERS[0]).wait_for()
    assert page.locator(".offers button").all_text_contents() == STARTERS
    assert not page.faults
    page.context.close()


def begun(page: Page, model: ModelServer, question: str) -> None:
    """Ask, and wait for the first words of an answer that does not end."""
    page.get_by_label("Search in").select_option("tea")
    model.script([Say([BEGUN]), Hold()])
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".turn").last.get_by_text(FIRST).wait_for()


def test_a_stopped_answer_is_there_after_a_reload_and_answered_again(site: Site, tea: str, model: ModelServer) -> None:
    page = site.page()
    begun(page, model, "How is tea brewed?")
    page.get_by_role("button", name="Stop").click()
    page.locator(".turn .notice").get_by_text("Stopped. What had come so far is above.").wait_for()
    page.get_by_label("Your question").fill("and coffee?")
    for _ in range(20):  # what a caller left behind is stored after it has gone
        page.reload()
        page.locator(".turn .notice").wait_for()
        if page.locator(".answer").count():
            break
    assert FIRST in page.locator(".answer").text_content()
    assert "Stopped. What had come so far is above." in page.locator(".turn .notice").text_content()
    assert page.get_by_label("Your question").input_value() == "and coffee?", "what is typed outlives a reload"
    model.script(WHOLE)
    page.get_by_role("button", name="Answer again").click()
    page.locator(".turn .actions").wait_for()
    assert "drunk hot" in page.locator(".answer").text_content()
    page.reload()
    page.locator(".turn .actions").wait_for()
    assert page.locator(".turn").count() == 1, "the same question, not asked twice"
    assert not page.faults
    page.context.close()


def test_answering_again_without_a_reload_asks_the_same_question(site: Site, tea: str, model: ModelServer) -> None:
    page = site.page()
    begun(page, model, "How is tea brewed?")
    page.get_by_role("button", name="Stop").click()
    model.script(WHOLE)
    page.get_by_role("button", name="Answer again").click()
    page.locator(".turn .actions").wait_for()
    page.reload()
    page.locator(".turn .actions").wait_for()
    assert page.locator(".turn").count() == 1
    page.context.close()


def test_an_answer_that_broke_off_is_there_after_a_reload_and_answered_again(
    site: Site, tea: str, model: ModelServer
) -> None:
    page = site.page()
    page.get_by_label("Search in").select_option("tea")
    model.script([Say([BEGUN]), Cut()])
    page.get_by_label("Your question").fill("How is tea brewed?")
    page.keyboard.press("Enter")
    page.locator(".turn .notice, .turn .failure").first.wait_for()
    page.reload()
    again = page.locator(".turn").get_by_role("button", name="Answer again")
    again.wait_for()
    assert FIRST in page.locator(".answer").text_content()
    model.script(WHOLE)
    again.click()
    page.locator(".turn .actions").wait_for()
    assert "drunk hot" in page.locator(".answer").text_content()
    assert page.locator(".turn").count() == 1
    page.context.close()


def test_an_answer_whose_server_was_killed_can_be_had_again(site: Site, tea: str, model: ModelServer) -> None:
    page = site.page()
    begun(page, model, "How is tea brewed?")
    site.running.kill()
    page.get_by_role("alert").wait_for()
    aside(site.running.start)
    page.reload()
    page.get_by_text("This question has no answer").wait_for()
    model.script(WHOLE)
    page.get_by_role("button", name="Answer again").click()
    page.locator(".turn .actions").wait_for()
    assert "drunk hot" in page.locator(".answer").text_content()
    page.context.close()


def test_ratings_are_there_after_a_reload_and_can_be_withdrawn(site: Site, handbook: str) -> None:
    page = site.page("writer")
    mine = {"x-api-key": site.keys["writer"]}
    ask(page, "What is the internal emergency number?")
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was good or wrong? (optional)").wait_for()
    page.locator(".badge").first.click()
    page.get_by_role("button", name="Yes", exact=True).click()
    page.locator(".judge").get_by_text("Thank you, noted.").wait_for()
    page.reload()
    down = page.get_by_role("button", name="Not helpful")
    down.wait_for()
    assert down.get_attribute("aria-pressed") == "true"
    assert page.locator(".comment").count() == 0, "words are asked for after a click alone"
    page.locator(".badge").first.click()
    yes = page.get_by_role("button", name="Yes", exact=True)
    assert yes.get_attribute("aria-pressed") == "true"
    yes.click()
    page.locator(".judge [aria-pressed=true]").wait_for(state="detached")
    page.keyboard.press("Escape")
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):  # the text is there from before
        down.click()
    page.get_by_text("Your rating was withdrawn.").wait_for(state="attached")
    assert page.request.get(f"{site.url}v1/feedback", headers=mine).json()["total_size"] == 0
    page.reload()
    down.wait_for()
    assert down.get_attribute("aria-pressed") == "false"
    assert not page.faults
    page.context.close()


def test_a_session_that_ends_keeps_the_question(site: Site, handbook: str) -> None:
    admin = {"x-api-key": site.keys["admin"]}
    page = site.page(who="")
    made = page.request.post(
        f"{site.url}v1/keys", headers=admin, data={"label": "brief", "user_id": "bea", "role": "ROLE_READER"}
    ).json()
    page.get_by_label("API key or token").fill(made["secret"])
    page.keyboard.press("Enter")
    ask(page, "How high is the travel allowance?")
    page.request.post(f"{site.url}v1/keys/{made['key']['id']}:revoke", headers=admin, data={})
    page.get_by_label("Your question").fill("And how much is it abroad, in euros?")
    page.keyboard.press("Enter")
    page.get_by_label("API key or token").wait_for()
    again = page.request.post(
        f"{site.url}v1/keys", headers=admin, data={"label": "again", "user_id": "bea", "role": "ROLE_READER"}
    ).json()
    page.get_by_label("API key or token").fill(again["secret"])
    page.keyboard.press("Enter")
    page.locator(".turn .actions").wait_for()
    assert page.get_by_label("Your question").input_value() == "And how much is it abroad, in euros?"
    page.keyboard.press("Enter")
    page.locator(".turn").nth(1).locator(".actions").wait_for()
    assert page.get_by_label("Your question").input_value() == ""
    # Another person who signs in here finds nothing of it.
    page.get_by_label("Your question").fill("a secret of bea's")
    page.evaluate("sessionStorage.removeItem('footnote.key')")
    page.reload()
    page.get_by_label("API key or token").fill(site.keys["writer"])
    page.keyboard.press("Enter")
    page.wait_for_selector(".asker")
    assert page.get_by_label("Your question").input_value() == ""
    assert "secret" not in page.evaluate("JSON.stringify(sessionStorage)")
    page.context.close()
