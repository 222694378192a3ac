"""Questions, footnotes and the places that they lead to, in a real browser against a real `footnote serve all`."""

from collections.abc import Iterator

import pytest
from support.console import WITHOUT_AXE, Site, ask, barriers
from support.matrices import sampled

pytestmark = pytest.mark.slow

QUESTION = "How much is the daily travel allowance abroad?"


def test_a_wrong_key_is_refused_in_words(site: Site) -> None:
    page = site.page(who="")
    page.get_by_label("API key or token").fill("nonsense")
    page.keyboard.press("Enter")
    assert page.get_by_role("alert").text_content() == "The server does not know this key."
    page.context.close()


def test_a_cell_is_named_in_a_badge_explained_in_its_tip_and_ringed_in_its_sheet(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How many months of warranty does the Polaris Laser Tracker have?")
    badge = page.locator(".badge")
    assert badge.locator(".badge-words").text_content() == "📊 products.xlsx - Products!C5"
    badge.hover()
    tip = page.get_by_role("tooltip")
    for fact in (
        "products.xlsx",
        "Sheet Products",
        "Cell C5",
        "Value 60",
        "Product: Polaris Laser Tracker",
        "from the cells of the table",
    ):
        assert fact in tip.text_content()
    badge.click()
    ringed = page.locator("td.ringed")
    ringed.wait_for()
    assert (ringed.get_attribute("data-cell"), ringed.text_content(), ringed.count()) == ("C5", "60", 1)
    assert "Warranty (months)" in page.locator(".heads").text_content()
    said = page.locator(".cell-headers dd").all_text_contents()
    assert said == ["Polaris Laser Tracker", "Warranty (months)"], "the headers of the cell's row and column"
    page.keyboard.press("Escape")
    assert page.locator(".viewer").count() == 0
    assert badge.evaluate("element => element === document.activeElement"), "focus goes back to the badge"
    assert not page.faults
    page.context.close()


def test_a_page_is_opened_with_the_quoted_words_marked(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How much is the daily travel allowance abroad?")
    badge = page.locator(".badge").first
    assert badge.locator(".badge-words").text_content() == "📄 handbook.pdf - Page 3"
    badge.focus()
    assert "54 euros abroad" in page.get_by_role("tooltip").text_content()
    page.keyboard.press("Enter")
    page.locator(".text-layer mark").first.wait_for()
    assert page.locator(".pdf-page").get_attribute("data-page") == "3"
    words = "".join(page.locator(".text-layer mark").all_text_contents())
    assert words == "The daily travel allowance is 38 euros within the country and 54 euros abroad."
    drawn = page.locator(".pdf-page canvas").evaluate(
        "c => new Uint8Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer).some(v => v < 128)"
    )
    assert drawn, "the page is drawn, not only its text"
    page.get_by_role("button", name="Next page").click()
    page.locator(".pdf-page[data-page='4']").wait_for()
    assert not page.faults
    page.context.close()


def test_text_is_shown_as_text_and_marked_in_french(site: Site, handbook: str) -> None:
    page = site.page()
    page.get_by_label("Language").select_option("fr")
    page.get_by_label("Votre question").fill("Combien de jours par semaine peut-on télétravailler à Lyon ?")
    page.keyboard.press("Enter")
    page.locator(".turn .actions").wait_for()
    badge = page.locator(".badge").first
    assert badge.locator(".badge-words").text_content() == "📄 guide-lyon.md - Lignes 5-6"
    badge.click()
    page.locator(".prose mark").wait_for()
    assert (
        page.locator(".prose mark").text_content()
        == "Chaque salarié du site de Lyon peut télétravailler deux jours par semaine."
    )
    assert page.locator("html").get_attribute("lang") == "fr"
    page.context.close()


def test_thumbs_are_kept_with_their_words(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "What is the internal emergency number?")
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was good or wrong? (optional)").fill("The number is old")
    page.keyboard.press("Enter")
    page.get_by_text("Thank you, noted.").first.wait_for()
    page.locator(".badge").first.click()
    page.get_by_role("button", name="Yes", exact=True).click()
    page.locator(".judge").get_by_text("Thank you, noted.").wait_for()
    listed = page.request.get(f"{site.url}v1/feedback", headers={"x-api-key": site.keys["admin"]}).json()["feedback"]
    assert {"RATING_UP", "RATING_DOWN"} <= {one["rating"] for one in listed}
    assert "The number is old" in {one["comment"] for one in listed}
    assert [one["citation"] > 0 for one in listed if one["rating"] == "RATING_UP"] == [True]
    page.context.close()


def test_a_conversation_is_there_again_after_a_reload(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    ask(page, "And abroad?")
    before = page.locator(".answer").all_text_contents()
    page.reload()
    page.locator(".turn").nth(1).locator(".actions").wait_for()
    assert page.locator(".answer").all_text_contents() == before
    assert page.locator(".badge").count() >= 2
    page.context.close()


def test_a_new_conversation_begins_empty(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, "How high is the travel allowance?")
    page.get_by_role("button", name="New conversation").click()
    page.locator(".turn").wait_for(state="detached")
    ask(page, "What is the internal emergency number?")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.locator(".turn").wait_for(state="detached")
    page.context.close()


def test_another_tenant_sees_nothing(site: Site, handbook: str) -> None:
    page = site.page("stranger")
    page.get_by_text("There are no documents yet.").wait_for()
    assert page.get_by_label("Search in").locator("option").all_text_contents() == ["All collections"]
    ask(page, "How much is the daily travel allowance abroad?")
    assert page.locator(".badge").count() == 0
    assert "54" not in page.locator(".turn").text_content()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key or token").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    page.context.close()


@WITHOUT_AXE
@pytest.mark.parametrize("look", sampled(["light", "dark"], every=2))
def test_no_view_has_a_serious_barrier(site: Site, handbook: str, look: str) -> None:
    page = site.page(color_scheme=look)
    barriers(page, "ask, empty")
    ask(page, "How many months of warranty does the Polaris Laser Tracker have?")
    page.locator(".sources summary").click()
    page.locator(".badge").hover()
    barriers(page, "ask, answered")
    page.locator(".badge").click()
    page.locator("td.ringed").wait_for()
    barriers(page, "sheet")
    page.context.close()
    page = site.page(who="", color_scheme=look)
    barriers(page, "sign in")
    page.context.close()


@pytest.fixture
def made(site: Site, handbook: str) -> Iterator[object]:
    """A page that shows an answer with its steps unfolded."""
    page = site.page()
    ask(page, QUESTION)
    page.locator(".made summary").press("Enter")
    page.locator(".waterfall li").first.wait_for()
    yield page
    page.context.close()


def test_the_way_the_tokens_and_the_answer_made_again_are_shown(site: Site, made: object) -> None:
    served = set(made.locator(".waterfall .step-service").all_text_contents())
    assert {"retrieval", "augmentation", "generation"} <= served, served
    names = made.locator(".waterfall .step-name").all_text_contents()
    assert {"Retrieve", "BuildPrompt", "Generate"} <= set(names)
    assert len(names) == made.locator(".waterfall rect.span").count()
    # The bar has a part for each source in the prompt, no longer together than the budget.
    parts = made.locator(".plan rect.part").evaluate_all(
        "all => all.map(one => [Number(one.getAttribute('x')), Number(one.getAttribute('width'))])"
    )
    assert len(parts) == made.locator(".entries li", has_text="[").count() > 0
    ends = [start + width for start, width in parts]
    assert all(end <= start for end, (start, _) in zip(ends, parts[1:], strict=False)), "no part lies over the next"
    assert ends[-1] <= 1000
    made.get_by_role("button", name="Make it again and compare").click()
    made.get_by_text("Nothing differs: sources, prompt and text are the same.").first.wait_for()
    assert not made.faults


def test_the_tokens_of_an_earlier_answer_are_those_of_the_one_made_again(made: object) -> None:
    made.reload()
    made.locator(".made summary").press("Enter")
    made.get_by_text("Only kept while the answer is new.").wait_for()
    made.get_by_role("button", name="Make it again and compare").click()
    made.get_by_text("Of the answer made again").wait_for()
    assert made.locator(".plan rect.part").count() > 0


def test_a_difference_is_told_in_words_and_never_as_markup(made: object) -> None:
    attack = "<img src=x onerror=alert(1)>"
    differences = [
        {"kind": "ANSWER_DIFFERENCE_KIND_SOURCE", "before": "a:1", "after": "", "source": 2},
        {"kind": "ANSWER_DIFFERENCE_KIND_TEXT", "before": attack, "after": "54 euros", "source": 0},
    ]
    made.route(
        "**/v1/answers/*:replay", lambda route: route.fulfill(json={"identical": False, "differences": differences})
    )
    made.get_by_role("button", name="Make it again and compare").click()
    told = made.locator(".differences li")
    told.nth(1).wait_for()
    assert [one.text_content() for one in told.locator("strong").all()] == ["Source 2", "Text"]
    assert told.locator("dd").all_text_contents() == ["a:1", "nothing", attack, "54 euros"]
    assert made.locator(".differences img").count() == 0
    assert not made.faults


def test_a_trace_no_longer_kept_and_a_service_that_was_silent_are_said(site: Site, handbook: str) -> None:
    page = site.page()
    ask(page, QUESTION)
    page.route("**/v1/traces/*", lambda route: route.fulfill(status=404, json={"reason": "TRACE_NOT_FOUND"}))
    page.locator(".made summary").press("Enter")
    page.get_by_text("The trace is no longer kept").wait_for()
    page.unroute("**/v1/traces/*")
    page.locator(".made summary").press("Enter")
    # Closed and opened at once is told to the page as nothing that happened.
    page.get_by_text("The trace is no longer kept").wait_for(state="detached")
    page.route("**/v1/traces/*", lambda route: route.fulfill(json={"spans": [], "missing": ["retrieval"]}))
    page.locator(".made summary").press("Enter")
    page.get_by_text("Could not be asked for their part: retrieval").wait_for()
    assert not page.faults
    page.context.close()


@WITHOUT_AXE
@pytest.mark.parametrize(("look", "width"), [("light", 390), pytest.param("dark", 1280, marks=pytest.mark.full)])
def test_it_has_no_barrier_and_is_not_cut_off(site: Site, handbook: str, look: str, width: int) -> None:
    page = site.page(color_scheme=look, viewport={"width": width, "height": 800})
    ask(page, QUESTION)
    page.locator(".made summary").press("Enter")
    page.locator(".waterfall li").first.wait_for()
    page.locator(".made button").press("Enter")
    page.locator(".same").wait_for()
    barriers(page, "made")
    assert page.evaluate("document.querySelector('.thread').scrollWidth <= innerWidth")
    page.context.close()
