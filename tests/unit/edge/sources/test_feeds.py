"""What feeds and sitemaps say, read as their formats mean it."""

from __future__ import annotations

import pytest
from footnote_edge.sources.reading.feeds import read_feed, read_sitemap

ATOM = (
    """<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>1</id><title>a</title>{}</entry></feed>"""
)


@pytest.mark.parametrize(
    ("parts", "html"),
    [
        ("<summary>List&lt;String&gt; if n &lt; 2</summary>", "List&lt;String&gt; if n &lt; 2"),
        ("<content type='text'>A &lt;b&gt;\nB</content>", "A &lt;b&gt;<br>B"),
        ("<content type='html'>&lt;p&gt;Hi&lt;/p&gt;</content><summary>Longer than it</summary>", "<p>Hi</p>"),
        ("<content type='image/png'>aGVsbG8=</content><summary>A picture</summary>", "A picture"),
        ("", ""),
    ],
)
def test_plain_text_of_a_feed_is_no_html(parts: str, html: str) -> None:
    assert [one["html"] for one in read_feed(ATOM.format(parts).encode(), "")["entries"]] == [html]


def test_a_plain_summary_does_not_replace_the_description_of_an_rss_item() -> None:
    texts = "<description>&lt;p&gt;Whole&lt;/p&gt;</description><itunes:summary>Plain and longer</itunes:summary>"
    space = "http://www.itunes.com/dtds/podcast-1.0.dtd"
    rss = (
        f'<rss version="2.0" xmlns:itunes="{space}"><channel><title>t</title><item><guid>1</guid>{texts}</item>'
        "</channel></rss>"
    )
    assert [one["html"] for one in read_feed(rss.encode(), "")["entries"]] == ["<p>Whole</p>"]


def test_a_sitemap_may_be_lines_of_text() -> None:
    text = "\ufeffhttps://example.org/a\r\n\r\nhttps://example.org/b?x=1\n"
    pages = [["https://example.org/a", ""], ["https://example.org/b?x=1", ""]]
    assert read_sitemap(text.encode()) == {"pages": pages, "sitemaps": []}
    with pytest.raises(ValueError, match="no well-formed sitemap"):
        read_sitemap(b"Not found")
