"""Makes a picture of every view of a console: light and dark, wide and 390 px, English and French.

And a moving one, `question.gif`: a question, its answer, the footnote pointed at, the page that it opens.

    python screenshots.py http://127.0.0.1:7180/ FOLDER [KEY]

The deployment should hold the sample collection `handbook`; the questions are about it.
"""

import io
import shutil
import sys
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

SIZES = {"wide": (1360, 850), "narrow": (390, 844)}
QUESTIONS = {
    "sheet": "How many months of warranty does the Polaris Laser Tracker have?",
    "pdf": "How much is the daily travel allowance abroad?",
    "text": "Combien de jours par semaine peut-on télétravailler à Lyon ?",
    "unknown": "Who won the football world cup in 1998?",
}
PLACES = {"sheet": "td.ringed", "pdf": ".text-layer mark", "text": ".prose mark"}
MOVING = (1000, 560)
MOVING_MS = (900, 1400, 2000, 2800, 4500)
"""How long each step of the moving picture is shown."""
VIEWS = ("documents/handbook", "collections", "collections/handbook", "conversations", "overview", "keys")


def main(url: str, folder: Path, key: str) -> None:
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, size, language in product(("light", "dark"), SIZES, ("en", "fr", "ar")):
            _views(browser, url, key, folder, look, size, language)
        _moving(browser, url, key, folder)
        browser.close()


def _moving(browser: Browser, url: str, key: str, folder: Path) -> None:
    width, height = MOVING
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light", locale="en")
    steps: list[Image.Image] = []

    def take() -> None:
        page.wait_for_timeout(300)
        steps.append(Image.open(io.BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE))

    page.goto(url)
    if key:
        page.fill("#key", key)
        page.keyboard.press("Enter")
    page.wait_for_selector(".asker")
    take()
    page.fill(".asker textarea", QUESTIONS["pdf"])
    take()
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn .actions")
    take()
    page.locator(".badge").first.hover()
    take()
    page.locator(".badge").first.click()
    page.wait_for_selector(PLACES["pdf"])
    page.mouse.move(1, 1)
    take()
    steps[0].save(folder / "question.gif", save_all=True, append_images=steps[1:], duration=MOVING_MS, loop=0)
    page.close()


def _views(browser: Browser, url: str, key: str, folder: Path, look: Any, size: str, language: str) -> None:
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=look, locale=language)
    page = context.new_page()

    def take(name: str) -> None:
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{name.replace('/', '-')}-{look}-{size}-{language}.png")

    page.goto(url)
    if key:
        page.wait_for_selector("#key")
        take("signin")
        page.fill("#key", key)
        page.keyboard.press("Enter")
    page.wait_for_selector(".asker")
    take("ask-empty")
    for name, question in QUESTIONS.items():
        page.goto(f"{url}#/ask")
        page.locator(".turn").first.wait_for(state="detached")
        page.fill(".asker textarea", question)
        page.keyboard.press("Enter")
        page.wait_for_selector(".turn .actions")
        if name not in PLACES:
            take(f"ask-{name}")
            continue
        page.locator(".badge").first.hover()
        take(f"ask-{name}-tip")
        page.locator(".badge").first.click()
        page.wait_for_selector(PLACES[name])
        take(f"ask-{name}-place")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")  # the badge is in focus again, and its tip may lie over the sources
        page.mouse.move(1, 1)
        page.locator(".sources summary").click()
        take(f"ask-{name}-sources")
    for view in VIEWS:
        page.goto(f"{url}#/{view}")
        page.wait_for_selector("h1")
        if view == "overview":
            page.wait_for_selector(".charts")
        take(view)
        if view == "overview":
            for hours in ("24", "744"):
                page.locator("select", has=page.locator("option[value='744']")).select_option(hours)
                page.wait_for_timeout(500)
                page.locator(".charts").evaluate("(charts) => charts.parentElement.scrollIntoView()")
                take(f"overview-{hours}-hours")
    context.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
