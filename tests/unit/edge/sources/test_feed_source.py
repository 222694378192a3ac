"""Feeds as sources: what a cached answer may stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Item, Opening
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import Memory, content, listing
from support.source_servers import Reply, Site, site


@pytest.fixture
def blog() -> Iterator[Site]:
    """A site whose feeds have one ETag for all, as those of WordPress."""
    with site() as served:
        served.replies |= {path: Reply(raw=_answering(path)) for path in ("/feed", "/legal/feed")}
        yield served


def _answering(path: str) -> Any:
    def answer(handler: Any) -> None:
        same = handler.headers.get("If-None-Match") == '"of the last post"'
        xml = f"<rss version='2.0'><channel><item><guid>1</guid><title>{path}</title></item></channel></rss>".encode()
        handler.send_response(304 if same else 200)
        handler.send_header("ETag", '"of the last post"')
        handler.send_header("Content-Length", str(0 if same else len(xml)))
        handler.end_headers()
        handler.wfile.write(b"" if same else xml)

    return answer


async def items(blog: Site, path: str, folder: Path) -> list[Item]:
    settings = parsed(FEED.settings, {"url": blog.base + path, "delay": 0})
    policy = Policy.of((), ("127.0.0.1",), (), timeout=10.0)
    connection = FEED.open(Opening(settings, parsed(FEED.secrets, {}), "default", folder, policy))
    try:
        [page] = await listing(connection, Memory())
        assert [await content(connection, item) for item in page.items] == [item.body for item in page.items]
        return list(page.items)
    finally:
        await connection.close()


async def test_a_changed_address_shows_its_own_feed(blog: Site, tmp_path: Path) -> None:
    for path in ("/feed", "/legal/feed", "/legal/feed", "/feed"):
        assert [item.name for item in await items(blog, path, tmp_path)] == [
            f"{path.strip('/').replace('/', ' ')}.html"
        ]
    asked = [headers.get("if-none-match") for path, headers in blog.asked if path != "/robots.txt"]
    assert asked.count(None) == 3, "the same feed is sent once"


async def test_entries_that_an_earlier_version_cached_are_read_again(blog: Site, tmp_path: Path) -> None:
    entry = {"id": "1", "link": "", "title": "as it was read", "updated": "", "author": "", "html": ""}
    old = {"conditions": {"if-none-match": '"of the last post"'}, "entries": [entry]}
    (tmp_path / "feed.json").write_text(json.dumps(old), "utf-8")
    assert [item.name for item in await items(blog, "/feed", tmp_path)] == ["feed.html"]
