"""Answers that no server of ours gives at will: unsupported, hostile, endless. The page must show and bear them."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.console import Page, Site, ask, barriers, make_keys
from support.deployment import Deployment
from support.xss_corpus import CODE_TRICKS, HANDLERS, IMAGES, LINKS, TAGS

pytestmark = [pytest.mark.full, pytest.mark.slow]

DOCUMENT = "a" * 32


def stream(*events: tuple[str, Any]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps({name: data})}\n\n" for name, data in events)


def answered(text: str, **more: Any) -> dict[str, Any]:
    answer = {
        "text": text, "finish_reason": "FINISH_REASON_ANSWERED", "citations": [], "claims": [], "warnings": [],
        "provider": "p", "model": "m", "id": "1", **more,
    }  # fmt: skip
    return {"answer": answer, "sources": [], "degradations": [], "timings": [], "trace_id": "", "question_id": "q"}


def cited(number: int, support: str, filename: str, quote: str, marker: dict[str, int]) -> dict[str, Any]:
    return {
        "number": number, "chunk_id": "c", "document_id": DOCUMENT, "filename": filename, "title": filename,
        "quote": quote, "support": support, "support_score": 0.5, "label": filename,
        "locator": {"heading_path": [quote], "span": {"start": 0, "end": 1}},
        "marker_span": marker,
    }  # fmt: skip


def scripted(page: Page, body: str) -> None:
    page.route("**/v1/ask", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body))


def test_sentences_that_are_not_supported_look_it_and_say_why(site: Site) -> None:
    page = site.page("writer")
    text = "😀 It has 60 months [1]. It is red [2]. It flies."

    def span(part: str) -> dict[str, int]:
        return {"start": text.index(part), "end": text.index(part) + len(part)}

    claims = [
        {"span": span("😀 It has 60 months [1]."), "support": "VERDICT_NOT_CONFIRMED", "score": 0.5, "sources": [1],
         "reason": "CLAIM_REASON_OTHER_VALUE", "stated": "60", "found": "48", "subject": ""},
        {"span": span("It is red [2]."), "support": "VERDICT_UNSUPPORTED", "score": 0.0, "sources": [2],
         "reason": "CLAIM_REASON_NOT_IN_SOURCE", "stated": "red", "found": "", "subject": ""},
        {"span": span("It flies."), "support": "VERDICT_UNCITED", "score": 0.0, "sources": [],
         "reason": "CLAIM_REASON_NO_SOURCE_CITED", "stated": "", "found": "", "subject": ""},
    ]  # fmt: skip
    citations = [
        cited(1, "VERDICT_NOT_CONFIRMED", "a.txt", "48 months", span("[1]")),
        cited(2, "VERDICT_UNSUPPORTED", "b.txt", "blue", span("[2]")),
    ]
    done = answered(text, claims=claims, citations=citations, warnings=["A citation of an unknown source was removed."])
    done["degradations"] = [{"stage": "PIPELINE_STAGE_RETRIEVAL", "reason": "DEGRADATION_REASON_DENSE_UNAVAILABLE",
                             "effect": "Full text search only.", "detail": ""}]  # fmt: skip
    scripted(page, stream(("text_delta", text), ("completed", done)))
    ask(page, "what is it?")
    assert page.locator(".claim.weak").first.text_content() == "😀 It has 60 months "
    assert page.locator(".mark").all_text_contents() == ["unsupported", "no source"]
    page.locator(".badge.weak").hover()
    assert "The source says “48”, the sentence “60”." in page.get_by_role("tooltip").text_content()
    assert "Full text search only." in page.locator(".degraded").text_content()
    assert page.get_by_text("A citation of an unknown source was removed.").count() == 1
    assert page.locator(".badge").first.get_attribute("aria-label") == "Footnote 1: 📄 a.txt - 48 months, not confirmed"
    page.context.close()


def test_attacks_stay_text_wherever_they_stand(site: Site) -> None:
    page = site.page("writer")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    attacks = [*TAGS, *HANDLERS, *IMAGES, *LINKS, *CODE_TRICKS]
    # An attack that opens a code block would take what follows it: those come last.
    text = "It is so [1].\n\n" + "\n\n".join(attacks)
    attack = "<img src=https://e.example/x.png onerror=alert(1)><script>alert(2)</script>"
    done = answered(
        text,
        citations=[cited(1, "VERDICT_NOT_CONFIRMED", attack, attack, {"start": 9, "end": 12})],
        warnings=[attack],
    )
    done["sources"] = [
        {"number": 1, "chunk_id": "c", "document_id": DOCUMENT, "revision": 1, "collection": attack, "filename": attack,
         "title": attack, "mime_type": "text/html", "text": attack, "score": 0.5, "label": attack, "anchors": [],
         "suspicion": 0.9, "suspicion_reasons": [], "locator": {"heading_path": [attack]}}
    ]  # fmt: skip
    done["degradations"] = [{"stage": "PIPELINE_STAGE_EDGE", "reason": "", "effect": attack, "detail": attack}]
    scripted(page, stream(("text_delta", text), ("completed", done)))
    chunk = {
        "id": "c",
        "text": "\n".join(attacks),
        "revision": 1,
        "locator": {"span": {"start": 0, "end": len(text)}},
        "anchors": [],
    }
    page.route("**/chunks?*", lambda route: route.fulfill(json={"chunks": [chunk], "next_page_token": ""}))
    ask(page, attack)
    page.locator(".sources summary").click()
    page.locator(".badge").hover()
    page.locator(".badge").click()
    page.locator(".prose").wait_for()
    outside = page.locator("#app")
    assert attack in outside.text_content()
    for forbidden in (
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "svg:not(.icon)",
        "form[action]",
        "base",
        "style",
        "math",
        "video",
        "[onclick]",
    ):
        assert outside.locator(forbidden).count() == 0, forbidden
    links = page.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links), links
    assert all(url.startswith((site.url, "data:,")) for url in asked), [
        url for url in asked if not url.startswith(site.url)
    ]
    assert not page.faults
    page.context.close()


def test_a_stop_ends_the_stream_and_keeps_what_has_come(site: Site) -> None:
    page = site.page("writer")
    # A stream that never ends, as a slow model's: the page itself sees it, and whether it lets go.
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = (path, init) => {
            if (path !== '/v1/ask') return real(path, init);
            const body = new ReadableStream({
              start(controller) {
                const begun = 'event: text_delta\\ndata: {"text_delta":"It begins"}\\n\\n';
                controller.enqueue(new TextEncoder().encode(begun));
                init.signal.addEventListener('abort', () => {
                  window.stopped = true;
                  controller.error(new DOMException('stopped', 'AbortError'));
                });
              },
            });
            return Promise.resolve(new Response(body, {headers: {'content-type': 'text/event-stream'}}));
          };
        }"""
    )
    assert page.get_by_label("Your question").evaluate("box => box === document.activeElement"), "ready to be typed in"
    page.get_by_label("Your question").fill("a long one")
    page.keyboard.press("Enter")
    page.get_by_text("It begins").wait_for()
    page.get_by_label("Your question").fill("the next one")
    # The second click lands where the control was: it must not send what stands in the box.
    page.get_by_role("button", name="Stop").dblclick()
    page.get_by_text("Stopped.").first.wait_for()
    assert page.evaluate("window.stopped")
    assert page.locator(".turn").count() == 1
    assert page.get_by_label("Your question").input_value() == "the next one"
    assert "It begins" in page.locator(".answer").text_content()
    assert page.get_by_role("button", name=re.compile("^Ask$")).count() == 1
    page.context.close()


ADDRESSES = {
    "https://evil.example/?q=1": "evil.example",
    "https://good.example@evil.example/path": "evil.example",
    "http://еvil.example/a": "xn--vil-qdd.example",
}


def with_addresses(site: Site) -> Page:
    """A page with an answer that names addresses, in which no network is to be had outside."""
    page = site.page("writer")
    page.went = []
    page.context.on("request", lambda request: page.went.append(request.url))
    page.context.route(
        "**/*", lambda route: route.continue_() if route.request.url.startswith(site.url) else route.abort()
    )
    text = "See " + ", ".join(ADDRESSES) + ", or [here](https://evil.example/x)."
    scripted(page, stream(("text_delta", text), ("completed", answered(text))))
    ask(page, "where is it?")
    assert page.locator(".answer-text").inner_text().replace("\n", "").startswith("See https://evil.example/?q=1")
    return page


def test_an_address_is_shown_with_its_host_and_followed_only_after_a_look(site: Site) -> None:
    page = with_addresses(site)
    buttons = page.locator(".answer-text button.outside")
    assert buttons.all_text_contents() == [*ADDRESSES, "here"]
    hosts = buttons.evaluate_all("all => all.map(one => getComputedStyle(one, '::after').content)")
    assert hosts == [f'" ↗ {host}"' for host in (*ADDRESSES.values(), "evil.example")]
    assert page.locator(".answer-text a").count() == 0
    leads = page.locator(".leads")
    buttons.nth(3).click()
    assert "https://evil.example/x" in leads.locator("code").inner_text(), (
        "words of a link say nothing of where it leads"
    )
    leads.get_by_role("button", name="Cancel").click()
    buttons.nth(1).click()
    assert "This leads out of here, to evil.example:" in leads.inner_text()
    assert "https://good.example@evil.example/path" in leads.locator("code").inner_text()
    barriers(page, "a link that asks")
    leads.get_by_role("button", name="Cancel").click()
    assert leads.count() == 0
    assert all(url.startswith((site.url, "data:")) for url in page.went)
    buttons.nth(0).click()
    way = page.get_by_role("link", name="Go to evil.example")
    assert way.get_attribute("rel") == "noopener noreferrer nofollow"
    with page.context.expect_page():
        way.click()
    page.wait_for_function("() => !document.querySelector('.leads')")
    assert any(url.startswith("https://evil.example/?q=1") for url in page.went)
    assert not page.faults
    page.context.close()


def test_an_operator_can_have_no_links(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("no-links")
    keys = aside(lambda: asyncio.run(make_keys(folder)))
    running = Deployment(folder, env={"FOOTNOTE_EDGE_AUTH": "keys", "FOOTNOTE_EDGE_EXTERNAL_LINKS": "false"})
    try:
        aside(running.start)
        page = with_addresses(Site(running, site.browser, keys))
        assert page.locator("button.outside").count() == 0
        assert page.locator(".answer-text a").count() == 0
        assert page.locator(".answer-text").inner_text().endswith("or [here](https://evil.example/x).")
        page.context.close()
    finally:
        running.kill()


def aside(work: Callable[[], Any]) -> Any:
    """Do something in a thread that has no event loop: in this one the browser's driver runs its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
