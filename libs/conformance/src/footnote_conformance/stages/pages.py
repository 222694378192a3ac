"""The dialect of lists in pages, walked to the end."""

from collections.abc import Awaitable, Callable
from typing import Any

from footnote_conformance.stages.asking import INVALID, refused
from footnote_conformance.suite import expect

_MOST_PAGES = 50


async def walked(page: Callable[[int, str], Awaitable[Any]], field: str, size: int) -> list[Any]:
    """Return the elements of all pages of at most `size`; `page` returns one for a size and a token."""
    elements: list[Any] = []
    token = ""
    for _ in range(_MOST_PAGES):
        response = await page(size, token)
        found = list(getattr(response, field))
        expect(len(found) <= size, f"a page of at most {size} has {len(found)} elements")
        elements += found
        token = response.next_page_token
        if not token:
            return elements
    expect(False, f"after {_MOST_PAGES} pages there is still another")
    return elements


async def foreign_token(
    page: Callable[[int, str], Awaitable[Any]], theirs: Callable[[int, str], Awaitable[Any]]
) -> None:
    """A token is good for its caller alone; both lists need more than one element."""
    token = (await page(1, "")).next_page_token
    expect(token, "the first page of several has no next_page_token")
    await refused(theirs(1, token), INVALID, "another caller's page token", "page_token")
