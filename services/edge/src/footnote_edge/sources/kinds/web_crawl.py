"""Crawls a site by its links: breadth first, below the start address."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from footnote_edge.sources.kinds.web_pages import Found, Pages, known_item
from footnote_edge.sources.kinds.web_requests import SiteRequests
from footnote_edge.sources.patterns import wanted
from footnote_edge.sources.ports import (
    LONGEST_ID,
    Item,
    ItemFailed,
    Known,
    Page,
    Remember,
    SourceRefused,
    SourceUnavailable,
)

_PAGE = 100
_PAGE_BYTES = 8 * 1024 * 1024
_MOST_WAITING = 100_000
_KNOWN = 200
"""Queued addresses per lookup."""
_MOST_AWAY = 10
"""Consecutive pages without an answer before the listing is given up."""


class Limits(Protocol):
    """The settings of a crawl."""

    @property
    def url(self) -> str:
        """The start address."""

    @property
    def mode(self) -> str:
        """Whether links are followed."""

    @property
    def depth(self) -> int:
        """Maximum links from the start to a page."""

    @property
    def max_pages(self) -> int:
        """Maximum number of pages."""

    @property
    def include(self) -> tuple[str, ...]:
        """Patterns of paths that become items."""

    @property
    def exclude(self) -> tuple[str, ...]:
        """Patterns of paths that do not."""


class Gathered:
    """Items collected for pages of a listing, and warnings about those left out."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._ids: set[str] = set()
        self._left_out: Counter[str] = Counter()
        self.partial = ""

    def add(self, found: Found) -> None:
        """Add an item, unless another address led to the same one before."""
        if found.left_out:
            self._left_out[found.left_out] += 1
        if found.item is not None and found.item.id not in self._ids:
            self._ids.add(found.item.id)
            self.items.append(found.item)

    def keep(self, url: str, known: Known | None, error: ItemFailed) -> None:
        """List an item as failed: a known one keeps its document, whose name is the same when it can be read again."""
        item = known_item(url, known or Known("", {})).item
        if item is not None and url not in self._ids:
            self._ids.add(url)
            self.items.append(replace(item, skip=error))

    def leave_out(self, why: str) -> None:
        """Count an item left out, by reason."""
        self._left_out[why] += 1

    def full(self) -> bool:
        """Return whether a page is full."""
        return len(self.items) >= _PAGE or sum(len(item.body or b"") for item in self.items) >= _PAGE_BYTES

    def page(self) -> Page:
        """Return the items since the last page."""
        items, self.items = self.items, []
        return Page(items)

    def last(self) -> Page:
        """Return the end of the listing, with its warnings."""
        warnings = [f"{count} addresses were left out: each {why}." for why, count in self._left_out.most_common()]
        return Page(self.items, partial=self.partial, warnings=warnings)


class Crawl:
    """Follows links from one address."""

    def __init__(self, requests: SiteRequests, pages: Pages, limits: Limits) -> None:
        self._requests = requests
        self._pages = pages
        self._limits = limits
        parts = urlsplit(limits.url)
        self._origin = parts[:2]
        self._folder = parts.path.rpartition("/")[0] + "/"
        self._depth = limits.depth if limits.mode == "site" else 0

    async def list(self, known: Remember) -> AsyncIterator[Page]:
        """Yield the pages reached by links."""
        start = self._limits.url
        gathered, seen, waiting = Gathered(), {start}, [(start, 0)]
        asked = away = 0
        memory: dict[str, Known | None] = {}
        while waiting:
            if waiting[0][0] not in memory:
                first = _first(waiting)
                memory = dict.fromkeys(first) | dict(await known(first))
            url, depth = waiting.pop(0)
            if asked >= self._limits.max_pages:
                gathered.partial = f"The site has more than {self._limits.max_pages} pages, which is its limit."
                break
            before = memory[url]
            asked += 1
            links: tuple[str, ...] = ()
            try:
                found = await self._pages.ask(url, before)
                links, away = found.links, 0
                if found.more_links and depth < self._depth:
                    gathered.partial = gathered.partial or f"{url[:200]} has more links than are read."
                self._take(gathered, found, url)
                if url == start and found.item is None and not found.left_out and not links:
                    raise SourceUnavailable("The start page does not exist.")
            except SourceUnavailable as error:
                away += 1
                if url == start or away >= _MOST_AWAY:
                    raise
                self._keep(gathered, url, before, ItemFailed("AWAY", str(error)))
                links = self._known_links(gathered, before)
            except ItemFailed as error:
                if url == start and error.reason in ("ADDRESS", "ROBOTS", "REFUSED"):
                    raise SourceRefused(str(error)) from None
                if error.reason == "ROBOTS":
                    gathered.leave_out("is forbidden by robots.txt")
                    continue
                gathered.leave_out("could not be read")
                self._keep(gathered, url, before, error)
                links = self._known_links(gathered, before)
            if depth < self._depth:
                fresh = [link for link in links if link not in seen]
                inside = await asyncio.to_thread(list, filter(self._within, fresh))
                inside = inside[: max(_MOST_WAITING - len(waiting), 0)]
                seen.update(inside)
                waiting += [(link, depth + 1) for link in inside]
            if gathered.full():
                yield gathered.page()
        yield gathered.last()

    def _take(self, gathered: Gathered, found: Found, asked: str) -> None:
        if found.url != asked and not self._within(found.url) and asked != self._limits.url:
            gathered.leave_out("leads out of the site")
            return
        if found.item is not None and not self._chosen(found.item.id):
            return
        gathered.add(found)

    def _keep(self, gathered: Gathered, url: str, before: Known | None, error: ItemFailed) -> None:
        if before is not None or self._chosen(url):
            gathered.keep(url, before, error)

    def _known_links(self, gathered: Gathered, before: Known | None) -> tuple[str, ...]:
        """Return a page's links from its last read; without them the pages behind it would be missed."""
        links: Any = before.memo.get("links") if before is not None else None
        if links is None:
            gathered.partial = gathered.partial or "A page could not be read, so its links are unknown."
            return ()
        return tuple(links)

    def _within(self, url: str) -> bool:
        parts = urlsplit(url)
        inside = parts[:2] == self._origin and parts.path.startswith(self._folder)
        return inside and len(url) <= LONGEST_ID and wanted(_path(url), (), self._limits.exclude)

    def _chosen(self, url: str) -> bool:
        return wanted(_path(url), self._limits.include, self._limits.exclude)


def _first(waiting: Sequence[tuple[str, int]]) -> list[str]:
    return [url for url, _ in waiting[:_KNOWN]]


def _path(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")
