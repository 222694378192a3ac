"""Markdown of models' answers, drawn as it streams, with claims and footnotes in their places."""

import json
from typing import Any

import pytest
from support.console import WITHOUT_AXE, Page, Site, ask, barriers
from support.model_answers import ANSWERS

from .test_answers import answered, cited, scripted, stream

pytestmark = [pytest.mark.slow, pytest.mark.full]

# The page's own fetch, for /v1/ask alone: the events that a test pushes, when it pushes them.
PUSHED = """() => {
  const real = window.fetch;
  window.fetch = (path, init) => {
    if (path !== '/v1/ask') return real(path, init);
    const body = new ReadableStream({start(control) {
      window.push = (event, data) => control.enqueue(new TextEncoder().encode(
        `event: ${event}\\ndata: ${JSON.stringify({[event]: data})}\\n\\n`));
      window.end = () => control.close();
    }});
    return Promise.resolve(new Response(body, {headers: {'content-type': 'text/event-stream'}}));
  };
}"""
FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def drawn_at_once(page: Page, text: str) -> Any:
    page.unroute("**/v1/ask")
    scripted(page, stream(("text_delta", text), ("completed", answered(text))))
    ask(page, "how is it?")
    return page.locator(".answer-text").last


def test_every_answer_of_the_corpus_is_drawn(site: Site) -> None:
    page = site.page("writer")
    assert len(ANSWERS) == len({one.name for one in ANSWERS}) == 40
    wrong = []
    for one in ANSWERS:
        answer = drawn_at_once(page, one.text)
        if one.counts.get("math"):
            answer.locator("math").first.wait_for(state="attached")
        for selector, count in one.counts.items():
            if answer.locator(selector).count() != count:
                wrong.append((one.name, selector, answer.locator(selector).count()))
        for selector, words in one.words.items():
            if not any(words in text for text in answer.locator(selector).all_text_contents()):
                wrong.append((one.name, words, answer.inner_html()))
    assert not wrong
    assert not page.faults
    page.context.close()


def test_a_stream_draws_what_the_whole_text_draws_and_leaves_finished_blocks_alone(site: Site) -> None:
    page = site.page("writer")
    page.evaluate(PUSHED)
    for one in ANSWERS:
        page.get_by_label("Your question").fill("go on")
        page.keyboard.press("Enter")
        page.wait_for_function("() => window.push")
        for at in range(0, len(one.text), 9):
            page.evaluate("(words) => window.push('text_delta', words)", one.text[at : at + 9])
            page.evaluate(FRAME)
        streamed = page.locator(".answer-text").last.inner_html()
        page.evaluate("(done) => { push('completed', done); end(); window.push = null; }", answered(one.text))
        page.locator(".turn").last.locator(".actions").wait_for()
        assert page.locator(".answer-text").last.inner_html() == streamed, one.name
    page.get_by_label("Your question").fill("one more")
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.push")
    page.evaluate("push('text_delta', '# Title\\n\\nFirst.\\n\\n- a\\n- b\\n\\n')")
    page.evaluate(FRAME)
    page.evaluate("""() => {
      window.changes = 0;
      const first = [...document.querySelectorAll('.turn')].at(-1).querySelectorAll('.answer-text > :is(h3, p)');
      for (const one of first) {
        new MutationObserver((all) => { window.changes += all.length; })
          .observe(one, {subtree: true, childList: true, characterData: true, attributes: true});
      }
      window.firsts = [...first];
    }""")
    for word in ["Then ", "**much", "** more.\n\n", "```\nx\n", "```\n"]:
        page.evaluate("(words) => push('text_delta', words)", word)
        page.evaluate(FRAME)
    assert page.evaluate("[changes, firsts.length, firsts.every((one) => one.isConnected)]") == [0, 2, True]
    assert not page.faults
    page.context.close()


def span(text: str, part: str) -> dict[str, int]:
    return {"start": text.index(part), "end": text.index(part) + len(part)}


def claim(text: str, part: str, support: str, **more: Any) -> dict[str, Any]:
    return {
        "span": span(text, part), "support": support, "score": 0.5, "sources": [], "stated": "", "found": "",
        "subject": "", "reason": "CLAIM_REASON_UNSPECIFIED", "basis": "BASIS_UNSPECIFIED", **more,
    }  # fmt: skip


TEXT = (
    "😀 It **is &amp; stays** red [7], but it flies.\n\n- Ann has two [7]\n- Bob has *none* [4]\n\n"
    "| Who | Sum |\n|---|---|\n| Ann | 12 [2] |\n| Bob | 30 |\n\n```\ncode [9]\n```\n"
)


def marked(page: Page) -> None:
    claims = [
        claim(TEXT, "😀 It **is &amp; stays** red [7]", "VERDICT_SUPPORTED", basis="BASIS_QUOTED"),
        claim(TEXT, "but it flies.", "VERDICT_UNCITED", reason="CLAIM_REASON_NO_SOURCE_CITED"),
        claim(TEXT, "Ann has two [7]", "VERDICT_NOT_CONFIRMED", reason="CLAIM_REASON_NOT_READ"),
        claim(TEXT, "Bob has *none* [4]", "VERDICT_UNSUPPORTED", reason="CLAIM_REASON_NOT_SAID"),
        claim(TEXT, "Who", "VERDICT_UNSUPPORTED"),
        claim(TEXT, "12 [2]", "VERDICT_SUPPORTED", basis="BASIS_CELLS"),
        claim(TEXT, "30", "VERDICT_UNCITED", reason="CLAIM_REASON_NO_SOURCE_CITED"),
    ]
    second = TEXT.index("[7]", TEXT.index("Ann"))
    citations = [
        {**cited(7, "VERDICT_SUPPORTED", "a.txt", "red", span(TEXT, "[7]")), "basis": "BASIS_QUOTED"},
        cited(7, "VERDICT_NOT_CONFIRMED", "a.txt", "two", {"start": second, "end": second + 3}),
        cited(4, "VERDICT_UNSUPPORTED", "b.txt", "one", span(TEXT, "[4]")),
        {**cited(2, "VERDICT_SUPPORTED", "c.xlsx", "12", span(TEXT, "[2]")), "basis": "BASIS_CELLS"},
    ]
    done = answered(TEXT, claims=claims, citations=citations)
    done["sources"] = [
        {"number": number, "chunk_id": "c", "document_id": "a" * 32, "revision": 1, "collection": "x",
         "filename": f"{number}.txt", "title": "", "mime_type": "text/plain", "text": "words", "score": 0.5,
         "label": f"{number}.txt", "anchors": [],
         "suspicion": 0, "suspicion_reasons": [], "locator": {"heading_path": []}}
        for number in (1, 2, 4, 7)
    ]  # fmt: skip
    scripted(page, stream(("text_delta", TEXT), ("completed", done)))
    ask(page, "what is it?")


def test_verdicts_and_footnotes_sit_on_clauses_items_and_cells(site: Site) -> None:
    page = site.page("writer")
    marked(page)
    answer = page.locator(".answer-text")
    assert answer.locator(".badge-number").all_text_contents() == ["1", "1", "2", "3"], "in order of appearance"
    assert answer.locator("p .badge, li .badge, td .badge").count() == 4
    assert answer.locator(".claim.uncited").all_text_contents() == ["but it flies.", "30"]
    assert answer.locator("li .claim.weak").all_text_contents() == ["Ann has two "]
    assert answer.locator("li .claim.unsupported").all_text_contents() == ["Bob has ", "none", " "]
    assert answer.locator(".mark").all_text_contents() == ["no source", "unsupported", "no source"]
    assert answer.locator("p strong").text_content() == "is & stays"
    assert answer.locator("th .claim, th .mark, pre .claim, pre .badge").count() == 0
    assert answer.locator("pre").text_content() == "code [9]"
    assert page.locator(".sources li").evaluate_all("all => all.map(one => [one.value, one.className])") == [
        [1, "cited"], [2, "cited"], [3, "cited"], [4, ""],
    ]  # fmt: skip
    page.context.close()


def test_green_says_why_and_grey_says_once_what_it_means(site: Site) -> None:
    page = site.page("writer")
    marked(page)
    names = page.locator(".badge").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label').split(', ').at(-1))"
    )
    assert names == ["quoted from the source", "not confirmed", "unsupported", "from the cells of the table"]
    page.locator(".badge").nth(3).hover()
    assert page.locator(".tip-verdict.supported").text_content() == "from the cells of the table"
    page.locator(".badge").nth(1).hover()
    assert "no model has read it against the source" in page.get_by_role("tooltip").text_content()
    colour = "one => getComputedStyle(one).color"
    quiet = page.locator(".made-by").evaluate(colour)
    assert page.locator(".badge.weak").evaluate(colour) == quiet, "grey, as other quiet words"
    assert page.locator(".unconfirmed").all_text_contents() == [
        "Grey footnotes are not confirmed: the sentence may be right or wrong. Open the footnote and read the source."
    ]
    page.context.close()


def test_green_has_a_word_for_every_way_it_was_confirmed(site: Site) -> None:
    page = site.page("writer")
    words = {
        "BASIS_QUOTED": "quoted from the source",
        "BASIS_CELLS": "from the cells of the table",
        "BASIS_COMPUTED": "computed again from the cells",
        "BASIS_READ": "confirmed by a language model that read the source",
    }
    text = " ".join(f"It is so [{number}]." for number, _ in enumerate(words, start=1))
    citations = [
        {**cited(number, "VERDICT_SUPPORTED", f"{number}.txt", "so", span(text, f"[{number}]")), "basis": basis}
        for number, basis in enumerate(words, start=1)
    ]
    scripted(page, stream(("text_delta", text), ("completed", answered(text, citations=citations))))
    ask(page, "how is it?")
    badges = page.locator(".badge")
    names = badges.evaluate_all("all => all.map(one => one.getAttribute('aria-label').split(', ').at(-1))")
    assert names == list(words.values())
    assert page.locator(".badge.weak, .badge.unsupported").count() == 0
    for number, said in enumerate(words.values()):
        badges.nth(number).hover()
        assert page.locator(".tip-verdict.supported").text_content() == said
    assert page.locator(".unconfirmed").count() == 0, "what grey means is said where something is grey"
    page.context.close()


def test_green_names_the_model_that_confirmed_it(site: Site) -> None:
    page = site.page("writer")
    text = "It is so [1]."
    read = {"basis": "BASIS_READ", "reader": "gpt-4o-mini"}
    citations = [{**cited(1, "VERDICT_SUPPORTED", "a.txt", "so", span(text, "[1]")), **read}]
    scripted(page, stream(("text_delta", text), ("completed", answered(text, citations=citations))))
    ask(page, "how is it?")
    page.locator(".badge").hover()
    said = "confirmed by gpt-4o-mini, which read the source"
    assert page.locator(".tip-verdict.supported").text_content() == said
    assert str(page.locator(".badge").get_attribute("aria-label")).endswith(said)
    page.context.close()


def test_a_copied_answer_has_the_numbers_that_the_page_shows(site: Site) -> None:
    page = site.page("writer")
    marked(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy with footnotes").click()
    page.get_by_text("Copied").first.wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "red [1], but" in copied
    assert "Bob has *none* [2]" in copied
    assert "12 [3] |" in copied
    assert "code [9]" in copied
    assert "[3] c.xlsx — “12” (from the cells of the table)" in copied
    page.context.close()


@WITHOUT_AXE
@pytest.mark.parametrize(("look", "width"), [("light", 390), ("dark", 1280)])
def test_drawn_markdown_has_no_barrier_and_fits(site: Site, look: str, width: int) -> None:
    page = site.page("writer", color_scheme=look, viewport={"width": width, "height": 900})
    marked(page)
    for name in ("wide table", "formulas of every delimiter", "code with a language", "nested list"):
        drawn_at_once(page, next(one.text for one in ANSWERS if one.name == name))
    page.locator("math").first.wait_for(state="attached")
    barriers(page, f"Markdown, {look}")
    assert page.evaluate("document.querySelector('.thread').scrollWidth <= innerWidth")
    assert json.dumps(page.faults) == "[]"
    page.context.close()
