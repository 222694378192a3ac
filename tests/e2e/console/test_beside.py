"""Beside the question: recent conversations, what it is asked of and by which model, colours, paper."""

import pytest
from support.console import WITHOUT_AXE, Site, ask, barriers
from support.model_chat import Finish, ModelServer, Say

pytestmark = [pytest.mark.full, pytest.mark.slow]


@WITHOUT_AXE
def test_conversations_are_found_pinned_and_renamed_beside_the_question(site: Site, handbook: str) -> None:
    page = site.page("reader", viewport={"width": 1280, "height": 800})
    recent = page.get_by_role("region", name="Recent conversations")
    ask(page, "How high is the travel allowance?")
    recent.get_by_role("link").first.wait_for()
    page.get_by_role("button", name="New conversation").click()
    ask(page, "What is the internal emergency number?")
    recent.get_by_role("link").nth(1).wait_for()
    older = recent.locator("li").last
    older.hover()
    older.get_by_role("button", name="Rename").click()
    recent.get_by_label("Title").fill("Money for travels")
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
    page.get_by_role("button", name="guide-lyon.md").click()
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
