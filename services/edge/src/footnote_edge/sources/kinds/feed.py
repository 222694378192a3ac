"""RSS and Atom feeds: an entry is a document. Entries that left the feed stay, since feeds show only their newest."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from html import escape

from pydantic import Field

from footnote_edge.sources.kinds.web_pages import Pages
from footnote_edge.sources.kinds.web_requests import SiteAddress, SiteRequests
from footnote_edge.sources.net.client import Client
from footnote_edge.sources.patterns import Selecting, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Opening,
    Page,
    Permissions,
    Remember,
    SourceKind,
    SourceRefused,
    SourceUnavailable,
)
from footnote_edge.sources.reading.reader import Reader
from footnote_edge.sources.transfer import digest

FEED_BYTES = 20 * 1024 * 1024
_CACHE = "feed.json"
Entries = list[dict[str, str]]


class FeedSettings(Selecting):
    """Settings of a feed source. `include` and `exclude` match titles."""

    url: SiteAddress = Field(min_length=8, max_length=1000, description="Address of the feed: https://…")
    text: str = Field(
        default="entry", pattern="^(entry|page)$", description="Take an entry's own text, or the page that it links to."
    )
    keep: bool = Field(default=True, description="Keep entries that have left the feed.")
    delay: float = Field(default=0.5, ge=0, le=60, description="Seconds between two requests.")


@dataclass(slots=True)
class _Answer:
    """A feed as a server sent it, and its entries once they are read."""

    url: str = ""
    """The address after redirects."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Headers of a request for a later version only."""
    xml: bytes = b""
    entries: Entries | None = None


class FeedConnection:
    """Lists and reads one feed."""

    def __init__(self, opening: Opening) -> None:
        self._settings: FeedSettings = opening.settings
        self._opening = opening
        self._client = Client(opening.policy)
        self._reader = Reader()
        self._requests = SiteRequests(self._client, opening.policy, self._settings.delay)
        self._pages = Pages(self._requests, self._reader, opening.policy, ())
        self._last: _Answer | None = None
        self._turn = asyncio.Lock()

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the entries of the feed."""
        await self._requests.begin(self._settings.url)
        entries = await self._entries()
        items = await asyncio.to_thread(lambda: [self._item(entry) for entry in entries if self._wanted(entry)])
        yield Page(items, keeps_others=self._settings.keep)

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield the page that an entry links to, or the entry's own text in the feed."""
        if self._settings.text == "page" and item.memo.get("link"):
            found = await self._pages.ask(str(item.memo["link"]), None)
            if found.item is None or found.item.body is None:
                raise ItemGone("The page that it links to is not there, or is no page.")
            yield found.item.body
            return
        async with self._turn:
            entries = await self._entries()
        for entry in entries:
            if entry["id"] == item.id:
                yield entry_page(entry["title"], entry["html"])
                return
        raise ItemGone("It has left the feed.")

    async def close(self) -> None:
        """Close connections, and end the reading process."""
        await self._client.close()
        await self._reader.close()

    def _wanted(self, entry: Mapping[str, str]) -> bool:
        return wanted(entry["title"], self._settings.include, self._settings.exclude)

    def _item(self, entry: Mapping[str, str]) -> Item:
        body = entry_page(entry["title"], entry["html"])
        whole = self._settings.text == "entry" or not entry["link"]
        version = digest(body) if whole else digest(body + entry["updated"].encode())
        return Item(
            entry["id"], version, f"{_file(entry['title'])}.html", address=entry["link"],
            memo={"link": entry["link"]}, permissions=Permissions(owner=entry["author"]), body=body if whole else None,
        )  # fmt: skip

    async def _entries(self) -> Entries:
        """Return the entries; those of the last answer if the server reports the feed as unchanged."""
        last = self._last
        if last is None:
            last = await asyncio.to_thread(self._cached)
        same = {name: value for name, value in last.conditions.items() if value}
        try:
            async with self._requests.ask(self._settings.url, same) as answer:
                head = answer.head
                if head.status in (401, 403):
                    raise SourceRefused(f"The feed is refused with status {head.status}.")
                if head.status == 200:
                    names = {"if-none-match": "etag", "if-modified-since": "last-modified"}
                    conditions = {name: head.headers.get(header, "") for name, header in names.items()}
                    xml = await answer.read(min(FEED_BYTES, self._opening.policy.item_bytes))
                    last = _Answer(head.url, conditions, xml)
                elif head.status != 304 or not same:
                    raise SourceUnavailable(f"The feed is not there: status {head.status}.")
        except ItemFailed as error:
            raise SourceRefused(str(error)) from None
        if last.entries is None:
            try:
                last.entries = (await self._reader.read("feed", last.xml, base=last.url))["entries"]
            except ItemFailed as error:
                raise SourceUnavailable(f"The feed cannot be read. {error}") from None
            await asyncio.to_thread(self._cache, last)
        self._last = last
        return last.entries

    def _cached(self) -> _Answer:
        """Return the last answer from this address, of an earlier run; empty without one."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            stored = json.loads((self._opening.folder / _CACHE).read_text("utf-8"))
            if stored["asked"] == self._settings.url:
                return _Answer(stored["url"], stored["conditions"], stored["xml"].encode("latin-1"))
        return _Answer()

    def _cache(self, answer: _Answer) -> None:
        # As it was sent: another version of the reader may make other entries of it.
        stored = {"asked": self._settings.url, "url": answer.url, "conditions": answer.conditions}
        self._opening.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**stored, "xml": answer.xml.decode("latin-1")}, ensure_ascii=False)
        (self._opening.folder / _CACHE).write_text(text, "utf-8")


def _file(title: str) -> str:
    kept = "".join(one if one.isalnum() or one in " -_.,()" else " " for one in title)
    return " ".join(kept.split())[:80].strip(" .") or "entry"


FEED = SourceKind("feed", "Feed, RSS or Atom", FeedSettings, FeedConnection)


def entry_page(title: str, html: str) -> bytes:
    """Return an entry as a standalone page."""
    head = f"<!doctype html><html><head><meta charset=utf-8><title>{escape(title)}</title></head>"
    return f"{head}<body><h1>{escape(title)}</h1>{html}</body></html>".encode()
