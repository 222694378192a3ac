"""The console in a real browser: a signed-in page, questions asked by hand, barriers looked for by axe-core."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_READER, ROLE_WRITER
from footnote_edge.offline import keys as offline

from support.deployment import ROOT, Deployment

SAMPLES = ROOT / "deploy" / "samples" / "handbook"
AXE = ROOT / "services" / "edge" / "console" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 60_000
Page = Any


class Site:
    """A deployment, and a browser before it."""

    def __init__(self, running: Deployment, browser: Any, keys: dict[str, str]) -> None:
        self.running = running
        self.url = f"http://{running.address('http')}/"
        self.browser = browser
        self.keys = keys

    def page(self, who: str = "admin", **options: Any) -> Page:
        """Open the console in a fresh window, signed in by its form."""
        context = self.browser.new_context(locale="en-GB", **options)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(self.url)
        if who:
            page.get_by_label("API key or token").fill(self.keys[who])
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.wait_for_selector(".asker")
        return page


async def make_keys(folder: Path) -> dict[str, str]:
    """Make a key for each who calls, before the deployment starts."""
    database, keys = await offline(folder)
    made = {
        "admin": (await keys.create("admin", "acme", "ann", ROLE_ADMIN))[1],
        "writer": (await keys.create("writer", "acme", "wim", ROLE_WRITER))[1],
        "reader": (await keys.create("reader", "acme", "rae", ROLE_READER))[1],
        "stranger": (await keys.create("other", "rival", "rob", ROLE_ADMIN))[1],
    }
    await database.close()
    return made


def ask(page: Page, question: str) -> None:
    """Ask a question and wait for the whole answer."""
    turns = page.locator(".turn").count()
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".turn").nth(turns).locator(".actions").wait_for()


WITHOUT_AXE = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not installed (run `npm ci` in services/edge/console)"
)


def barriers(page: Page, where: str) -> None:
    """Check accessibility with axe-core; it runs next to the page's own scripts, under the page's policy."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = {
        one["id"]: [node["html"] for node in one["nodes"]][:3]
        for one in found
        if one["impact"] in ("serious", "critical")
    }
    assert not serious, (where, serious)
