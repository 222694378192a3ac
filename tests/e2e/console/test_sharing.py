"""A conversation or an answer shared by a link, read by another user of the tenant until its user ends that."""

import pytest
from support.console import WITHOUT_AXE, Site, ask, barriers

pytestmark = [pytest.mark.full, pytest.mark.slow]


@WITHOUT_AXE
def test_a_conversation_is_shared_read_and_shared_no_longer(site: Site, handbook: str) -> None:
    page, reader, stranger = site.page("writer"), site.page("reader"), site.page("stranger")
    ask(page, "How much is the daily travel allowance abroad?")
    page.get_by_role("button", name="Share the conversation").click()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link to share").input_value()
    assert link.startswith(f"{site.url}#/shared/")
    barriers(page, "sharing")
    ask(page, "And within the country?")
    reader.goto(link)
    reader.locator(".answer .badge").first.wait_for()
    assert reader.locator(".turn").count() == 1, "what was said later is not in it"
    assert "54 euros abroad" in reader.locator(".answer").text_content()
    for name in ("Edit the question", "Helpful", "Answer again"):
        assert reader.get_by_role("button", name=name).count() == 0, name
    barriers(reader, "a shared conversation")
    reader.locator(".badge").first.click()
    reader.locator(".text-layer mark").first.wait_for()
    assert reader.locator(".judge").count() == 0
    stranger.goto(link)
    stranger.get_by_role("heading", name="Nothing is shared by this link").wait_for()
    page.get_by_role("button", name="Share up to now").click()
    reader.reload()
    reader.locator(".turn").nth(1).wait_for()
    page.get_by_role("button", name="Stop sharing").click()
    page.get_by_role("button", name="Share", exact=True).wait_for()
    reader.reload()
    reader.get_by_role("heading", name="Nothing is shared by this link").wait_for()
    for one in (page, reader, stranger):
        assert not one.faults
        one.context.close()


@WITHOUT_AXE
def test_one_answer_is_shared_and_nothing_else_of_the_conversation(site: Site, handbook: str) -> None:
    page, reader, stranger = site.page("writer"), site.page("reader"), site.page("stranger")
    ask(page, "How much is the daily travel allowance abroad?")
    ask(page, "How many days of leave do I have?")
    page.get_by_role("button", name="Share the answer").first.click()
    group = page.get_by_role("group", name="Share the answer")
    group.get_by_role("button", name="Share", exact=True).click()
    link = group.get_by_label("Link to share").input_value()
    assert link.startswith(f"{site.url}#/shared/")
    barriers(page, "sharing an answer")
    reader.goto(link)
    reader.get_by_role("heading", name="A shared answer").wait_for()
    reader.locator(".answer .badge").first.wait_for()
    assert reader.locator(".turn").count() == 1
    assert "54 euros abroad" in reader.locator(".answer").text_content()
    assert "days of leave" not in reader.locator("main").text_content()
    barriers(reader, "a shared answer")
    reader.locator(".badge").first.click()
    reader.locator(".text-layer mark").first.wait_for()
    stranger.goto(link)
    stranger.get_by_role("heading", name="Nothing is shared by this link").wait_for()
    # The conversation knows of it, and ends it too.
    page.get_by_role("button", name="Share the conversation").click()
    page.get_by_text("Answers shared by themselves: 1.").wait_for()
    page.get_by_role("group", name="Share the conversation").get_by_role("button", name="Stop sharing").click()
    page.get_by_text("Answers shared by themselves").wait_for(state="detached")
    reader.reload()
    reader.get_by_role("heading", name="Nothing is shared by this link").wait_for()
    for one in (page, reader, stranger):
        assert not one.faults
        one.context.close()
