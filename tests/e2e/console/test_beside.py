"""Beside the question: recent conversations, what it is asked of and by which model, colours, paper."""

import re
from pathlib import Path
from typing import Any

import pytest
from support.console import WITHOUT_AXE, Page, Site, ask, barriers
from support.doubles.model_chat import Finish, ModelServer, Say

from .test_answers import DOCUMENT, answered, cited, scripted, stream

pytestmark = [pytest.mark.full, pytest.mark.slow]


def untitled(address: str, page: Page) -> None:
    """Take titles out of the answers of an address, as they are before a conversation has one."""

    def handle(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r'"title": ?"[^"]*"', '"title":""', answer.text()))

    page.route(address, handle)


def test_a_conversation_without_a_title_has_its_first_question_as_its_name(site: Site, handbook: str) -> None:
    page = site.page("writer", viewport={"width": 1280, "height": 800})
    untitled("**/v1/conversations?*", page)
    page.reload()
    page.wait_for_selector(".asker")
    ask(page, "How high is the travel allowance?")
    page.locator(".recent a", has_text="How high is the travel allowance?").wait_for()
    page.get_by_role("button", name="Share the conversation").click()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link to share").input_value()
    untitled("**/v1/shares/*", page)
    page.goto(link)
    page.get_by_role("heading", level=1, name="How high is the travel allowance?").wait_for()
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_conversations_are_found_pinned_and_renamed_beside_the_question(site: Site, handbook: str) -> None:
    page = site.page("reader", viewport={"width": 1280, "height": 800})
    recent = page.get_by_role("region", name="Recent conversations")
    ask(page, "How high is the travel allowance?")
    recent.get_by_role("link").first.wait_for()
    page.get_by_role("button", name="New conversation").click()
    page.locator(".turn").wait_for(state="detached")
    ask(page, "What is the internal emergency number?")
    recent.get_by_role("link").nth(1).wait_for()
    older = recent.locator("li").last
    older.hover()
    older.get_by_role("button", name="Rename").click()
    recent.get_by_label("Title", exact=True).fill("Money for travels")
    page.keyboard.press("Enter")
    renamed = recent.get_by_role("link", name="Money for travels")
    renamed.wait_for()
    assert recent.get_by_role("link").last.text_content() == "Money for travels"
    recent.locator("li").last.hover()
    recent.get_by_role("button", name="Pin to the top: Money for travels").click()
    page.wait_for_function("() => document.querySelector('.recent li a').textContent === 'Money for travels'")
    page.reload()
    page.wait_for_function("() => document.querySelector('.recent li a')?.textContent === 'Money for travels'")
    barriers(page, "conversations beside the question")
    recent.get_by_label("Search titles and messages").fill("emergency")
    renamed.wait_for(state="detached")
    recent.get_by_label("Search titles and messages").fill("")
    renamed.click()
    page.get_by_role("heading", name="How high is the travel allowance?").wait_for()
    assert recent.locator("[aria-current=true]").text_content() == "Money for travels"
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_a_question_is_asked_of_several_collections_of_documents_and_by_a_model(
    site: Site, handbook: str, model: ModelServer
) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    page.request.post(f"{site.url}v1/collections", headers=admin, data={"name": "more"})
    page.reload()
    sent: list[dict[str, object]] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("/v1/ask") else None)
    page.get_by_role("button", name="What to ask, and by which model").click()
    page.get_by_role("checkbox", name=handbook).check()
    page.get_by_role("checkbox", name="more").check()
    assert page.get_by_label("Search in").locator("option:checked").text_content() == "2 collections"
    barriers(page, "what to ask")
    ask(page, "How many days a week can one work from home in Lyon?")
    assert sorted(sent[-1]["collections"]) == ["handbook", "more"]
    page.get_by_role("checkbox", name="more").uncheck()
    page.get_by_label("Only these documents: find by name").fill("guide")
    page.locator(".scope").get_by_role("button", name="guide-lyon.md").click()
    model.script([Say(["Two days a week [1]."]), Finish()])
    page.get_by_label("Model", exact=True).select_option("openai")
    page.get_by_label("Model of answers").fill("scripted")
    ask(page, "Combien de jours par semaine peut-on télétravailler à Lyon ?")
    assert sent[-1]["collections"] == ["handbook"]
    assert len(sent[-1]["document_ids"]) == 1
    assert sent[-1]["generation"] == {"provider": "openai", "model": "scripted"}
    assert "Two days a week" in page.locator(".answer").last.text_content()
    assert "openai/scripted" in page.locator(".made-by").last.text_content()
    found = page.locator(".turn").last.locator(".source-label").all_text_contents()
    assert all("guide-lyon.md" in one for one in found), found
    assert not page.faults
    page.context.close()


def test_colours_are_chosen_and_kept(site: Site) -> None:
    page = site.page(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Colours: as the system").click()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Colours: light").click()
    page.get_by_role("button", name="Colours: dark").wait_for()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.locator(".asker").wait_for()
    assert page.evaluate(ground) == dark
    page.context.close()


def test_paper_holds_the_question_its_answer_and_its_footnotes(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "How much is the daily travel allowance abroad?")
    page.evaluate("window.print = () => { window.printing = true; }")
    page.get_by_role("button", name="Print").last.click()
    assert page.evaluate("window.printing")
    page.emulate_media(media="print")
    turns = page.locator(".turn")
    assert [one.is_visible() for one in turns.all()] == [False, True]
    assert "handbook.pdf" in turns.last.locator(".footnotes").inner_text()
    for hidden in (".side", ".asker", ".actions", ".sources", ".badge-words"):
        assert not page.locator(hidden).last.is_visible(), hidden
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert turns.first.is_visible()
    assert not turns.last.locator(".footnotes").is_visible()
    page.context.close()


def test_an_answer_is_saved_as_markdown_with_its_footnotes(site: Site, handbook: str) -> None:
    page = site.page()
    question = "How much is the daily travel allowance abroad?"
    ask(page, question)
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as Markdown").click()
    assert waited.value.suggested_filename == "answer.md"
    saved = Path(waited.value.path()).read_text()
    assert saved.startswith(f"# {question}\n\n")
    body, _, notes = saved.partition("\n\n[1] ")
    assert "54 euros abroad" in body
    assert "[1]" in body
    assert notes.startswith("handbook.pdf")
    assert "54 euros abroad" in notes
    page.context.close()


def test_the_page_speaks_every_language_that_answers_have(site: Site, handbook: str) -> None:
    page = site.page()
    chosen = page.locator(".foot select")
    languages = chosen.locator("option").evaluate_all("all => all.map(one => one.value)")
    assert len(languages) == 12
    said: dict[str, str] = {}
    for language in languages:
        chosen.select_option(language)
        page.locator(f":root[lang={language}]").wait_for(state="attached")
        assert page.locator("html").get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
        said[language] = page.locator(".asker textarea").get_attribute("aria-label")
        words = page.locator("#app").inner_text()
        assert "undefined" not in words, language
        assert "{" not in words, language
    assert len(set(said.values())) == len(languages), said
    page.reload()
    page.locator(f":root[lang={languages[-1]}] .asker").wait_for()
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_questions_are_offered_to_begin_and_to_go_on_with(site: Site, handbook: str) -> None:
    page = site.page()
    page.get_by_label("Search in").select_option(handbook)
    offered = page.get_by_role("list", name="Questions to begin with").get_by_role("button")
    offered.first.wait_for()
    assert 1 <= offered.count() <= 3
    barriers(page, "questions to begin with")
    question = offered.first.text_content()
    offered.first.click()
    page.locator(".turn .actions").wait_for()
    assert page.locator(".turn h2").text_content().endswith(question)
    assert not page.faults
    page.context.close()


def test_what_was_found_beside_an_answer_is_offered_to_go_on_with(site: Site) -> None:
    page = site.page("writer")
    text = "An otter sleeps eleven hours [1]."
    done = answered(text, citations=[cited(1, "VERDICT_SUPPORTED", "otters.md", "Sleep", {"start": 29, "end": 32})])
    done["sources"] = [
        {"number": number, "chunk_id": "c", "document_id": DOCUMENT, "revision": 1, "collection": "x",
         "filename": "otters.md", "title": "", "mime_type": "text/markdown", "text": "words", "score": 0.5,
         "label": "otters.md", "anchors": [], "suspicion": 0, "suspicion_reasons": [],
         "locator": {"heading_path": ["Otters", heading]}}
        for number, heading in enumerate(("Sleep", "Food", "Play", "Food"), start=1)
    ]  # fmt: skip
    scripted(page, stream(("text_delta", text), ("completed", done)))
    ask(page, "How long does an otter sleep?")
    further = page.get_by_role("list", name="Questions to go on with").get_by_role("button")
    further.first.wait_for()
    said = [f"What does otters.md say about “{heading}”?" for heading in ("Food", "Play")]
    assert further.all_text_contents() == said, "what the answer cites is not offered, nor anything twice"
    further.first.click()
    page.locator(".turn").nth(1).locator(".actions").wait_for()
    assert page.locator(".turn h2").last.text_content().endswith(said[0])
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
def test_attached_files_are_asked_in_their_conversation_and_kept_for_a_week(site: Site, handbook: str) -> None:
    page = site.page("writer")
    mine = {"x-api-key": site.keys["writer"]}
    file = {"name": "otters.txt", "mimeType": "text/plain", "buffer": b"An otter sleeps eleven hours a day."}
    page.locator("input[aria-label='Attach files']").set_input_files([file])
    page.locator(".attached .state.good").wait_for()
    barriers(page, "attached files")
    ask(page, "How many hours a day does an otter sleep?")
    assert "otters.txt" in page.locator(".badge-words").first.text_content()
    assert page.locator(".source-label", has_text="handbook").count() == 0, "of what is attached alone"
    page.reload()
    page.locator(".turn .actions").wait_for()
    chosen = page.get_by_label("Search in").locator("option:checked").text_content()
    assert chosen.startswith("Files ")
    kept = page.request.get(f"{site.url}v1/collections/{chosen}", headers=mine).json()["collection"]
    assert (kept["visibility"], kept["settings"]["ttl"], kept["document_count"]) == ("VISIBILITY_PRIVATE", "604800s", 1)
    assert not page.faults
    page.context.close()
    page = site.page("reader")
    assert page.get_by_role("button", name="Attach files").count() == 0
    assert page.get_by_label("Search in").locator("option", has_text="Files ").count() == 0
    page.context.close()
