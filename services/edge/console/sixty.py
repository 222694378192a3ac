"""Makes sixty pictures of a console: three widths, light and dark, five languages, and two views in turn of each.

    python sixty.py http://127.0.0.1:7180/ FOLDER [KEY]

The deployment should hold the sample collection `handbook`, and in it a sales.csv with columns City, Year and Units.
"""

import json
import shutil
import sys
from itertools import count, product
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

WIDTHS = {"wide": (1360, 850), "middle": (834, 1112), "narrow": (390, 844)}
LANGUAGES = ("en", "fr", "de", "zh", "ar")
RUN = {
    "questions": "golden.jsonl",
    "runs": [
        {
            "name": name,
            "answers": {
                "leave": {"question": "How many days of leave do I have?", "outcome": leave, "text": "27 days [1]."},
                "parking": {"question": "What does parking cost?", "outcome": "refused rightly", "text": "Not found."},
                "travel": {"question": "How is travel paid?", "outcome": travel, "text": "…", "missing": ["54 euros"]},
            },
        }
        for name, leave, travel in (("before", "wrong", "right"), ("now", "right", "part"))
    ],
}


def main(url: str, folder: Path, key: str) -> None:
    """Make the pictures; raises at the end where a view was wider than its page."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, wider = count(), list[str]()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width, look, language in product(WIDTHS, ("light", "dark"), LANGUAGES):
            size = {"width": WIDTHS[width][0], "height": WIDTHS[width][1]}
            context = browser.new_context(viewport=size, color_scheme=look, locale=language)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(url)
            if key:
                page.fill("#key", key)
                page.keyboard.press("Enter")
            page.wait_for_selector(".asker")
            for _ in range(2):
                number = next(numbers)
                name = list(VIEWS)[number % len(VIEWS)]
                VIEWS[name](page, url)
                page.mouse.move(1, 1)
                page.wait_for_timeout(400)
                page.screenshot(path=folder / f"{number:02}-{name}-{width}-{look}-{language}.png")
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wider.append(f"{name}, {width}, {language}")
            context.close()
        browser.close()
    if wider:
        raise SystemExit("wider than the page: " + "; ".join(wider))


def _asked(page: Page, url: str, question: str) -> None:
    page.goto(f"{url}#/ask")
    page.locator(".turn").first.wait_for(state="detached")
    page.fill(".asker textarea", question)
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn .actions")


def _opened(question: str, place: str) -> Any:
    """Return what asks a question and opens its first footnote."""

    def view(page: Page, url: str) -> None:
        _asked(page, url, question)
        page.locator(".badge").first.click()
        page.wait_for_selector(place)

    return view


def _computed(page: Page, url: str) -> None:
    _asked(page, url, "What is the sum of Units per City in sales.csv?")
    page.locator(".computed summary").click()
    page.wait_for_selector(".computed .chart")


def _versions(page: Page, url: str) -> None:
    _asked(page, url, "How much is the daily travel allowance abroad?")
    page.locator(".question button").click()
    page.fill(".edit textarea", "How much is the daily travel allowance within the country?")
    page.locator(".edit .primary").click()
    page.wait_for_selector(".versions")


def _shared(page: Page, url: str) -> None:
    _asked(page, url, "How much is the daily travel allowance abroad?")
    page.locator(".asker button[aria-expanded]").last.click()
    page.locator(".share .primary").click()
    address = page.locator(".share input").input_value()
    page.goto(address)
    page.wait_for_selector(".shared-head")


def _sharing(page: Page, url: str) -> None:
    _asked(page, url, "Combien de jours par semaine peut-on télétravailler à Lyon ?")
    page.locator(".asker button[aria-expanded]").last.click()
    page.locator(".share .primary").click()
    page.wait_for_selector(".share input")


def _evaluation(page: Page, url: str) -> None:
    page.goto(f"{url}#/evaluation")
    data = json.dumps(RUN).encode()
    page.locator(".evaluation input[type=file]").set_input_files(
        [{"name": "run.json", "mimeType": "application/json", "buffer": data}]
    )
    page.wait_for_selector(".evaluation .list")


def _at(path: str, wait: str = "h1") -> Any:
    """Return what goes to a view."""

    def view(page: Page, url: str) -> None:
        page.goto(f"{url}#/{path}")
        page.wait_for_selector(wait)

    return view


VIEWS = {
    "ask-empty": _at("ask", ".welcome .offers"),
    "sheet": _opened("How many months of warranty does the Polaris Laser Tracker have?", "td.ringed"),
    "documents": _at("documents/handbook", "ul.list > li"),
    "word": _opened("How much does a calibration certificate cost?", ".viewer-body mark"),
    "overview": _at("overview", ".charts"),
    "computed": _computed,
    "collection": _at("collections/handbook", ".quotas"),
    "versions": _versions,
    "evaluation": _evaluation,
    "page": _opened("How much is the daily travel allowance abroad?", ".text-layer mark"),
    "shared": _shared,
    "sharing": _sharing,
    "refusal": lambda page, url: _asked(page, url, "Who won the football world cup in 1998?"),
}
"""Thirteen, so that each comes in every language, width and look in turn."""


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
