"""Two collections of one name, two clicks, two who sign in, and what is asked or typed while something is under way."""

from typing import Any

import pytest
from support.console import Site

from .test_uploading import choose, note, opened

pytestmark = [pytest.mark.full, pytest.mark.slow]


def test_a_second_click_or_a_key_held_down_deletes_nothing(site: Site) -> None:
    page = site.page("writer")
    opened(page, site)
    deleted: list[Any] = []
    page.route(
        "**/v1/documents/*",
        lambda route: deleted.append(route) if route.request.method == "DELETE" else route.continue_(),
    )
    choose(page, [note(f"{word}.txt", f"A text of {word}.") for word in ("tea", "rye")])
    page.locator(".state.good").nth(1).wait_for()
    page.get_by_label("All shown").check()
    delete = page.get_by_role("button", name="Delete: 2 documents")
    delete.dblclick()
    page.wait_for_timeout(300)
    assert not deleted
    page.get_by_role("button", name="Cancel").click()
    one = page.get_by_role("button", name="Delete: tea.txt")
    one.focus()
    for _ in range(20):
        page.keyboard.down("Enter")
        page.wait_for_timeout(50)
    page.keyboard.up("Enter")
    assert not deleted
    # Who presses it once more, when one has read what it does, deletes: once.
    page.keyboard.press("Tab")
    sure = page.get_by_role("button", name="Really delete", exact=True)
    assert sure.evaluate("one => one === document.activeElement")
    sure.click()
    sure.click(force=True)
    page.wait_for_timeout(300)
    assert len(deleted) == 1
    deleted[0].continue_()
    page.locator("li", has_text="tea.txt").wait_for(state="detached")
    assert not page.faults
    page.context.close()
