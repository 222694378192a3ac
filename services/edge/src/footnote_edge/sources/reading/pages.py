"""Parses untrusted HTML: its main text without menus, its links, its directives. Runs in the reading process."""

from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_LINKS = 20_000
"""Maximum links of one page; the listing of a page with more is incomplete."""
_DROPPED = (
    "script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "canvas", "form", "dialog", "link",
    "nav", "aside", "[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]",
    "[role=complementary]", "[aria-hidden=true]", "[hidden]",
)  # fmt: skip
_OUTER = ("header", "footer")
"""Of the whole page; inside the main part they belong to the text."""
_MAIN = ("main", "[role=main]", "article", "#content", "#main")
_LEAST = 40
"""Minimum characters of a main part; a page with less of it is taken whole."""


def read_page(html: bytes, encoding: str, base: str) -> dict[str, Any]:
    """Return `title`, `body` (HTML of the main text), `links`, `canonical`, `language`, `noindex` and `nofollow`.

    `more_links` says that the page has more than `MOST_LINKS`, and that `links` lacks the rest.
    """
    tree = LexborHTMLParser(_decoded(html, encoding))
    root = tree.root
    language = (root.attributes.get("lang") or "") if root is not None else ""
    head = _head(tree, base)
    found = {} if head["nofollow"] else _links(tree, head["base"])
    more = len(found) > MOST_LINKS
    head.pop("base", None)
    named = tree.css_first("title")
    title = " ".join(named.text().split())[:500] if named is not None else ""
    links = list(found)[:MOST_LINKS]
    read = {"title": title, "body": _body(tree, title), "links": links, "more_links": more}
    return {**read, "language": language.lower()[:20], **head}


def _decoded(html: bytes, encoding: str) -> str | bytes:
    # Without an encoding from the server, the parser detects one in the page itself.
    try:
        return html.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return html


def _head(tree: LexborHTMLParser, base: str) -> dict[str, Any]:
    directives = ""
    for meta in tree.css("meta[name]"):
        if (meta.attributes.get("name") or "").lower() in ("robots", "footnotebot"):
            directives += f",{(meta.attributes.get('content') or '').lower()}"
    said = {one.strip() for one in directives.split(",")}
    canonical = ""
    for link in tree.css("link[rel][href]"):
        if (link.attributes.get("rel") or "").lower() == "canonical":
            canonical = _joined(base, link.attributes.get("href") or "")
            break
    element = tree.css_first("base[href]")
    whole = _joined(base, element.attributes.get("href") or "") if element is not None else base
    none = "none" in said
    return {
        "canonical": canonical, "noindex": none or "noindex" in said, "nofollow": none or "nofollow" in said,
        "base": whole or base,
    }  # fmt: skip


def _links(tree: LexborHTMLParser, base: str) -> dict[str, None]:
    found: dict[str, None] = {}
    for link in tree.css("a[href], area[href]"):
        if "nofollow" in (link.attributes.get("rel") or "").lower().split():
            continue
        address = _joined(base, link.attributes.get("href") or "").partition("#")[0]
        if address:
            found[address] = None
        if len(found) > MOST_LINKS:
            break
    return found


def _joined(base: str, reference: str) -> str:
    try:
        found = urljoin(base, reference.strip())
    except ValueError:
        return ""
    return found if found.startswith(("http://", "https://")) and len(found) <= 2048 else ""


def _body(tree: LexborHTMLParser, title: str) -> str:
    body = tree.body
    if body is None:
        return ""
    for selector in _DROPPED:
        for node in body.css(selector):
            if node.parent is not None and node.tag not in ("html", "body", "main"):
                node.decompose()
    main = _main(body)
    if main is None:
        for tag in _OUTER:
            for node in body.css(tag):
                if node.css_first("h1") is None:
                    node.decompose()
        main = body
    inner = main.inner_html or ""
    if not main.text().strip():
        return ""
    return f"<!doctype html><html><head><title>{_escaped(title)}</title></head><body>{inner}</body></html>"


def _main(body: LexborNode) -> LexborNode | None:
    for selector in _MAIN:
        found = body.css(selector)
        if len(found) == 1 and len(found[0].text().strip()) >= _LEAST:
            return found[0]
    return None


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
