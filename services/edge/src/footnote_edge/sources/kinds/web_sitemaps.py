"""Lists the pages in a site's sitemap. A page whose last change was already read is not requested."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urljoin, urlsplit

from footnote_edge.sources.kinds.web_crawl import Gathered, Limits
from footnote_edge.sources.kinds.web_pages import Pages
from footnote_edge.sources.kinds.web_requests import SiteRequests
from footnote_edge.sources.net.client import joined, normal
from footnote_edge.sources.patterns import wanted
from footnote_edge.sources.ports import ItemFailed, Page, Remember, SourceRefused, SourceUnavailable
from footnote_edge.sources.reading.reader import Reader

SITEMAP_BYTES = 50 * 1024 * 1024
"""Maximum bytes of a sitemap, from the sitemap protocol."""

_MOST_SITEMAPS = 200
_DEEPEST = 3
_BATCH = 200
Named = tuple[list[list[str]], list[str]]
"""Pages with their last changes, and further sitemaps."""


class Sitemaps:
    """Lists pages of sitemaps."""

    def __init__(self, requests: SiteRequests, reader: Reader, pages: Pages, limits: Limits) -> None:
        self._requests = requests
        self._reader = reader
        self._pages = pages
        self._limits = limits

    async def list(self, known: Remember) -> AsyncIterator[Page]:
        """Yield the pages; an unreadable sitemap among several makes the listing partial."""
        gathered = Gathered()
        named = await self._named(gathered)
        addresses, today = list(named)[: self._limits.max_pages], _today()
        if len(named) > len(addresses):
            gathered.partial = f"The sitemap names more than {self._limits.max_pages} pages, which is the limit."
        for start in range(0, len(addresses), _BATCH):
            part = addresses[start : start + _BATCH]
            before = await known(part)
            for url in part:
                change, memo = _final_change(named[url], today), before.get(url)
                read = memo is not None and change and memo.memo.get("lastmod") == change
                if memo is not None and read and self._pages.knows_language(memo.memo):
                    gathered.add(self._pages.unchanged(url, memo))
                else:
                    try:
                        found = await self._pages.ask(url, memo)
                        if found.item is not None:
                            noted = {**found.item.memo, "lastmod": change}
                            found = replace(found, item=replace(found.item, memo=noted))
                        gathered.add(found)
                    except SourceUnavailable as error:
                        gathered.keep(url, memo, ItemFailed("AWAY", str(error)))
                    except ItemFailed as error:
                        forbidden = error.reason == "ROBOTS"
                        gathered.leave_out("is forbidden by robots.txt" if forbidden else "could not be read")
                        if not forbidden:
                            gathered.keep(url, memo, error)
                if gathered.full():
                    yield gathered.page()
        yield gathered.last()

    async def _named(self, gathered: Gathered) -> dict[str, str]:
        """Return the addresses in the sitemaps, of this site only, with their last changes."""
        begin = self._limits.url
        first = [begin] if urlsplit(begin).path.endswith((".xml", ".xml.gz", ".txt")) else await self._announced(begin)
        waiting, seen, named = [(url, 1) for url in first], set(first), dict[str, str]()
        while waiting:
            url, depth = waiting.pop(0)
            try:
                pages, more = await self._read(url)
            except (SourceUnavailable, ItemFailed) as error:
                if url in first and len(first) == 1:
                    raise SourceRefused(str(error)) if isinstance(error, ItemFailed) else error from None
                gathered.partial = gathered.partial or f"The sitemap {url[:200]} cannot be read."
                continue
            named |= await asyncio.to_thread(self._chosen, url, pages)
            if len(named) > self._limits.max_pages:
                break
            for address in await asyncio.to_thread(self._inner, url, more):
                if address in seen:
                    continue
                if depth >= _DEEPEST or len(seen) >= _MOST_SITEMAPS:
                    gathered.partial = "The site has more sitemaps, or deeper ones, than are read."
                    break
                seen.add(address)
                waiting.append((address, depth + 1))
        return named

    def _chosen(self, sitemap: str, pages: Iterable[Sequence[str]]) -> dict[str, str]:
        """Return the selected pages of this site, with their last changes."""
        origin, chosen = urlsplit(self._limits.url)[:2], {}
        for page, changed in pages:
            address = joined(sitemap, page)
            parts = urlsplit(address)
            if parts[:2] == origin and wanted(parts.path, self._limits.include, self._limits.exclude):
                chosen[address] = changed
                if len(chosen) > self._limits.max_pages:
                    break
        return chosen

    def _inner(self, sitemap: str, references: Iterable[str]) -> dict[str, None]:
        """Return the sitemaps of this site that another one names."""
        origin = urlsplit(self._limits.url)[:2]
        addresses = (joined(sitemap, one) for one in references)
        return dict.fromkeys(one for one in addresses if urlsplit(one)[:2] == origin)

    async def _announced(self, url: str) -> Sequence[str]:
        rules = await self._requests.rules(url)
        origin = urlsplit(url)[:2]
        named = [normal(one) for one in rules.sitemaps]
        own = [one for one in dict.fromkeys(named) if urlsplit(one)[:2] == origin]
        return own or [urljoin(url, "/sitemap.xml")]

    async def _read(self, url: str) -> Named:
        async with self._requests.ask(url) as answer:
            if answer.head.status != 200:
                raise SourceUnavailable(f"The sitemap is not there: status {answer.head.status}.")
            xml = await answer.read(SITEMAP_BYTES)
        if xml.startswith(b"\x1f\x8b"):
            xml = await asyncio.to_thread(_unpacked, xml)
        read = await self._reader.read("sitemap", xml)
        return read["pages"], read["sitemaps"]


def _final_change(lastmod: str, today: date) -> str:
    """Return what marks a page, read from `today` on, as read after its last change; "" if more changes may follow.

    A date covers all changes of its day, which is over everywhere on Earth two days later. Whole quarters of an hour
    are dates as well: a midnight, in whichever time zone.
    """
    try:
        moment = datetime.fromisoformat(lastmod)
    except ValueError:  # a month, a year, or no time
        return ""
    if moment.minute % 15 or moment.second or moment.microsecond:
        return lastmod
    return f"{lastmod}, the whole day" if today - moment.date() >= timedelta(days=2) else ""


def _today() -> date:
    return datetime.now(UTC).date()


def _unpacked(data: bytes) -> bytes:
    try:
        found = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, SITEMAP_BYTES + 1)
    except zlib.error:
        raise ItemFailed("INVALID", "The sitemap is not what its compression says.", permanent=True) from None
    if len(found) > SITEMAP_BYTES:
        raise ItemFailed("TOO_LARGE", f"The sitemap has more than {SITEMAP_BYTES} bytes.", permanent=True)
    return found
