"""Parses untrusted feeds and sitemaps. Runs in the reading process.

Document types are refused, so that entities are never expanded.
"""

import codecs
from collections.abc import Mapping
from html import escape
from typing import Any

import feedparser
from lxml import etree  # type: ignore[import-untyped]

_MOST_ENTRIES = 1000
_LONGEST = 2048
_PLAIN = "text/plain"


def read_feed(xml: bytes, base: str) -> dict[str, Any]:
    """Return `title` and `entries`: each with `id`, `link`, `title`, `updated`, `html` and `author`."""
    _refuse_types(xml)
    found = feedparser.parse(xml, response_headers={"content-location": base}, sanitize_html=False)
    if not found.get("version"):
        raise ValueError("It is no RSS or Atom feed.")
    entries = [_entry(entry) for entry in found.entries[:_MOST_ENTRIES]]
    return {"title": str(found.feed.get("title", ""))[:500], "entries": [one for one in entries if one["id"]]}


def _entry(entry: Any) -> dict[str, str]:
    contents, summary = entry.get("content", []), entry.get("summary_detail", {})
    choices = (
        [part for part in contents if "html" in part.get("type", "html")],
        [summary] if "html" in summary.get("type", "") else [],
        [part for part in contents if part.get("type") == _PLAIN],
        [summary],
    )
    html = next((text for parts in choices if (text := max(map(_as_html, parts), key=len, default=""))), "")
    link = str(entry.get("link", ""))
    return {
        "id": str(entry.get("id") or link)[:_LONGEST],
        "link": link if link.startswith(("http://", "https://")) and len(link) <= _LONGEST else "",
        "title": " ".join(str(entry.get("title", "")).split())[:500],
        "updated": str(entry.get("updated") or entry.get("published") or "")[:100],
        "author": str(entry.get("author", ""))[:300],
        "html": html,
    }


def _as_html(part: Mapping[str, Any]) -> str:
    """Return a part of an entry as HTML: Atom's are plain text unless they say otherwise (RFC 4287, section 3.1.1)."""
    text = str(part.get("value", ""))
    return "<br>".join(escape(text).splitlines()) if part.get("type") == _PLAIN else text


def read_sitemap(xml: bytes) -> dict[str, Any]:
    """Return `pages`, pairs of address and last change, and `sitemaps`, addresses of further ones.

    A sitemap may be a text with one address in a line, too.
    """
    if (text := xml.removeprefix(codecs.BOM_UTF8)).lstrip().startswith((b"http://", b"https://")):
        lines = (line.strip() for line in text.decode("utf-8", "replace").splitlines())
        return {"pages": [[line, ""] for line in lines if line and len(line) <= _LONGEST], "sitemaps": []}
    _refuse_types(xml)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=False)
    try:
        root = etree.fromstring(xml, parser)
    except etree.XMLSyntaxError:
        raise ValueError("It is no well-formed sitemap.") from None
    pages, sitemaps = [], []
    for element in root:
        if not isinstance(element.tag, str):
            continue
        values = {etree.QName(one).localname: (one.text or "").strip() for one in element if isinstance(one.tag, str)}
        location = values.get("loc", "")
        if not location or len(location) > _LONGEST:
            continue
        if etree.QName(element).localname == "sitemap":
            sitemaps.append(location)
        else:
            pages.append([location, values.get("lastmod", "")[:100]])
    return {"pages": pages, "sitemaps": sitemaps}


def _refuse_types(xml: bytes) -> None:
    if b"<!DOCTYPE" in xml.replace(b"\0", b"").upper() or b"<!ENTITY" in xml.replace(b"\0", b"").upper():
        raise ValueError("It declares a document type or entities, which are not read.")
