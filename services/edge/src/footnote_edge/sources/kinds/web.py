"""Web sites: one page, the pages of a sitemap, or a site by its links, requested politely."""

from collections.abc import AsyncIterator
from typing import Literal

from pydantic import Field

from footnote_edge.sources.kinds.web_crawl import Crawl
from footnote_edge.sources.kinds.web_pages import Pages
from footnote_edge.sources.kinds.web_requests import SiteAddress, SiteRequests
from footnote_edge.sources.kinds.web_sitemaps import Sitemaps
from footnote_edge.sources.net.client import Client
from footnote_edge.sources.patterns import Selecting
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Opening,
    Page,
    Remember,
    SourceKind,
    SourceUnavailable,
)
from footnote_edge.sources.reading.reader import Reader


class WebSettings(Selecting):
    """Settings of a web source. `include` and `exclude` match paths with their queries, as `/docs/*`."""

    url: SiteAddress = Field(min_length=8, max_length=1000, description="Where to begin: https://…")
    mode: Literal["site", "sitemap", "page"] = Field(
        default="site", description="Follow links below the address, take what the sitemap names, or this page alone."
    )
    depth: int = Field(default=5, ge=0, le=20, description="Links from the beginning to a page, at most.")
    max_pages: int = Field(default=2000, ge=1, le=50_000, description="Most pages.")
    delay: float = Field(
        default=0.5, ge=0, le=60, description="Seconds between two requests; robots.txt can ask for more."
    )
    languages: tuple[str, ...] = Field(
        default=(), max_length=20, description="Only pages that say they are in one of these, as 'en'; none means all."
    )


class WebConnection:
    """Lists and reads one web site."""

    def __init__(self, opening: Opening) -> None:
        self._settings: WebSettings = opening.settings
        self._opening = opening
        self._client = Client(opening.policy)
        self._reader = Reader()
        self._requests = SiteRequests(self._client, opening.policy, self._settings.delay)
        self._pages = Pages(self._requests, self._reader, opening.policy, self._settings.languages)

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the pages, with one request each; unchanged pages are not transferred."""
        settings = self._settings
        await self._requests.begin(settings.url)
        if settings.mode == "sitemap":
            listing: AsyncIterator[Page] = Sitemaps(self._requests, self._reader, self._pages, settings).list(known)
        else:
            listing = Crawl(self._requests, self._pages, settings).list(known)
        async for page in listing:
            yield page

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield the main text of a page, or the bytes of a file on the site."""
        await self._requests.begin(self._settings.url)
        try:
            if item.memo.get("file"):
                async for part in self._pages.file(item):
                    yield part
                return
            found = await self._pages.ask(str(item.memo.get("url") or item.id), None)
            if found.item is None or found.item.body is None:
                raise ItemGone("The page is no longer there.")
            yield found.item.body
        except SourceUnavailable as error:
            raise ItemFailed("AWAY", str(error)) from None

    async def close(self) -> None:
        """Close connections, and end the reading process."""
        await self._client.close()
        await self._reader.close()


WEB = SourceKind("web", "Web site", WebSettings, WebConnection)
