"""One address of a web site: requested, compared with its known state, and reduced to its main text."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import unquote, urlsplit

from footnote_edge.sources.kinds.web_requests import SiteRequests
from footnote_edge.sources.net.client import Answer, Head, normal
from footnote_edge.sources.patterns import file_name
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, ItemFailed, ItemGone, Known, SourceUnavailable
from footnote_edge.sources.reading.reader import Reader
from footnote_edge.sources.robots import forbids_indexing
from footnote_edge.sources.transfer import digest

PAGE_BYTES = 10 * 1024 * 1024
"""Maximum bytes of an HTML page."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_FILES = {
    "application/pdf": ".pdf", "text/plain": ".txt", "text/markdown": ".md", "text/csv": ".csv",
    "application/rtf": ".rtf", "application/epub+zip": ".epub", "application/msword": ".doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt", "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}  # fmt: skip
"""Accepted media types beside pages, with the suffix of their files."""
_MOST_LINKS_KEPT = 40_000  # characters; a page with more is read again each time
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}")
_LONGEST_TYPE = 200
"""In characters: the standard library takes quadratic time in a media type's length."""
GONE = (404, 410)


_NOINDEX = "asks not to be indexed"


@dataclass(frozen=True, slots=True)
class Found:
    """The result of requesting an address."""

    url: str
    """The address after redirects."""
    item: Item | None = None
    links: tuple[str, ...] = ()
    more_links: bool = False
    """The page has more links than are read."""
    left_out: str = ""
    """Reason why it is no item, as a warning; "" if it is one, or does not exist."""


class Pages:
    """Reads the addresses of one site."""

    def __init__(self, requests: SiteRequests, reader: Reader, policy: Policy, languages: tuple[str, ...]) -> None:
        self._requests = requests
        self._reader = reader
        self._policy = policy
        self._languages = tuple(one.lower() for one in languages)

    async def ask(self, url: str, known: Known | None) -> Found:
        """Return the result of an address; raises SourceUnavailable, and ItemFailed for one that exists but fails."""
        memo = dict(known.memo) if known is not None else {}
        conditions = {
            name: str(memo[key])
            for key, name in (("etag", "if-none-match"), ("modified", "if-modified-since"))
            if memo.get(key) and memo.get("links") is not None and self.knows_language(memo)
        }
        accepted = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        async with self._requests.ask(url, {**accepted, **conditions}) as answer:
            head = answer.head
            unwanted = forbids_indexing(head.headers.get("x-robots-tag", ""), self._policy.user_agent)
            if head.status == 304 and known is not None and conditions:
                found = self.unchanged(url, known)
                return Found(url, None, found.links, left_out=_NOINDEX) if unwanted else found
            if head.status in GONE:
                return Found(head.url)
            if head.status in (401, 402, 403, 451):
                raise ItemFailed("REFUSED", f"The site refuses it with status {head.status}.")
            if head.status >= 500:
                raise SourceUnavailable(f"The site answers with status {head.status}.")
            if head.status != 200:
                raise ItemFailed("INVALID", f"The site answers with status {head.status}.")
            if head.media_type in _HTML:
                return await self._page(url, answer, unwanted)
            return Found(normal(head.url), left_out=_NOINDEX) if unwanted else _file(url, head)

    def knows_language(self, memo: Mapping[str, Any]) -> bool:
        """Return whether a page's memo decides its language, if only some are chosen; earlier versions kept none."""
        return not self._languages or "language" in memo or bool(memo.get("file"))

    def unchanged(self, url: str, known: Known) -> Found:
        """Return a page that is unchanged since it was listed, unless another language is chosen by now."""
        found = known_item(url, known)
        left_out = self._foreign(str(known.memo.get("language", "")))
        return Found(url, None, found.links, left_out=left_out) if left_out else found

    def _foreign(self, language: str) -> str:
        """Return the reason why a page in a language is left out; "" if it is chosen, or names none."""
        foreign = self._languages and language and not language.startswith(self._languages)
        return "is in another language" if foreign else ""

    async def file(self, item: Item) -> AsyncIterator[bytes]:
        """Yield the bytes of a file; raises ItemGone."""
        async with self._requests.ask(str(item.memo.get("url") or item.id)) as answer:
            if answer.head.status in GONE:
                raise ItemGone
            if answer.head.status != 200:
                raise ItemFailed("AWAY", f"The site answers with status {answer.head.status}.")
            async for part in answer.parts(self._policy.item_bytes):
                yield part

    async def _page(self, asked: str, answer: Answer, unwanted: bool) -> Found:
        head = answer.head
        html = await answer.read(min(PAGE_BYTES, self._policy.item_bytes))
        read = await self._reader.read("page", html, base=head.url, encoding=_charset(head))
        url = normal(head.url)
        found: dict[str, None] = await asyncio.to_thread(lambda: dict.fromkeys(map(normal, read["links"])))
        links, more = tuple(found), bool(read["more_links"])
        canonical = normal(read["canonical"]) if read["canonical"] else ""
        identity = canonical if canonical and urlsplit(canonical)[:2] == urlsplit(url)[:2] else url
        if read["noindex"] or unwanted:
            return Found(url, None, links, more, _NOINDEX)
        if left_out := self._foreign(read["language"]):
            return Found(url, None, links, more, left_out)
        body = str(read["body"]).encode("utf-8", "replace")
        if not body:
            return Found(url, None, links, more, "has no text")
        kept = list(links) if sum(map(len, links)) <= _MOST_LINKS_KEPT and not more else None
        address = asked if asked != identity else ""
        memo = {**_conditions(head), "links": kept, "url": address, "language": read["language"]}
        item = Item(identity, digest(body), _named(identity, ".html"), address=identity, memo=memo, body=body)
        return Found(url, item, links, more)


def known_item(url: str, known: Known) -> Found:
    """Return a page that is unchanged since it was listed."""
    links = tuple(known.memo.get("links") or ())
    if known.memo.get("file"):
        return Found(url, file_item(url, known.version, known.memo))
    return Found(url, Item(url, known.version, _named(url, ".html"), address=url, memo=known.memo), links)


def _file(asked: str, head: Head) -> Found:
    """Return a file, whose body is fetched later."""
    url = normal(head.url)
    suffix = _FILES.get(head.media_type)
    if suffix is None:
        return Found(url, left_out=f"is of the type {head.media_type or 'unknown'!r}, which is not read")
    known = _conditions(head)
    version = known["etag"] or known["modified"]
    length = head.headers.get("content-length", "")
    size = int(length) if length.isdecimal() and "content-encoding" not in head.headers else None
    memo: dict[str, Any] = {**known, "links": [], "file": suffix, "size": size, "url": asked if asked != url else ""}
    return Found(url, file_item(url, version, memo))


def file_item(url: str, version: str, memo: Mapping[str, Any]) -> Item:
    """Return the item of a file."""
    return Item(url, version, _named(url, str(memo["file"])), size=memo.get("size"), address=url, memo=memo)


def _conditions(head: Head) -> dict[str, str]:
    etag, modified = head.headers.get("etag", ""), head.headers.get("last-modified", "")
    return {"etag": etag[:500], "modified": modified[:100]}


def _charset(head: Head) -> str:
    message = Message()
    message["content-type"] = head.headers.get("content-type", "")[:_LONGEST_TYPE]
    found = message.get_param("charset", "")
    return found if isinstance(found, str) else ""


def _named(url: str, suffix: str) -> str:
    """Return a file name for an address: its last component, with a suffix for the format."""
    parts = urlsplit(url)
    name = file_name(unquote(parts.path)) if parts.path.strip("/") else parts.hostname or "page"
    stem, dot, end = name.rpartition(".")
    if dot and stem and _SUFFIX.fullmatch(f".{end}") and suffix == ".html":
        name = stem if f".{end.lower()}" in (".html", ".htm", ".php", ".asp", ".aspx", ".jsp", ".xhtml") else name
    return name if name.lower().endswith(suffix) else f"{name}{suffix}"
