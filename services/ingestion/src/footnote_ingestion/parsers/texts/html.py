"""HTML: what a reader sees, in order, with its headings and tables."""

from __future__ import annotations

import re
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from footnote_ingestion.parsers.base import (
    CODE,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    TABLE_ROW,
    BlockWriter,
    Limits,
    Place,
    Properties,
)
from footnote_ingestion.parsers.clean import inline, preformatted
from footnote_ingestion.parsers.failures import CORRUPT, ParseError
from footnote_ingestion.parsers.tables import header_depth, row_text
from footnote_ingestion.parsers.texts.encoding import decode

_SKIP = frozenset(
    [
        "head",
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "embed",
        "canvas",
        "select",
        "datalist",
        "audio",
        "video",
        "map",
        "dialog",
    ]
)
_NAVIGATION = frozenset({"nav"})
_INLINE = frozenset(
    [
        "-text",
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "meter",
        "output",
        "q",
        "ruby",
        "rp",
        "rt",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "input",
        "button",
        "nobr",
    ]
)
_META = re.compile(rb"<meta\b[^<>]++", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s*+=\s*+["']?\s*+([\w-]++)""", re.IGNORECASE)
# Beyond it the text is taken as it comes: each level costs three Python frames.
_MAX_DEPTH = 150


class HtmlParser:
    """Reads HTML files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Any text can be read as HTML."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the readable text; navigation is left out unless nothing else is there."""
        tree = LexborHTMLParser(_decode(path.read_bytes()))
        properties = _properties(tree)
        body = tree.body or tree.root
        if body is None:
            raise ParseError(CORRUPT, "The page has no body.")
        for skip in (_SKIP | _NAVIGATION, _SKIP):
            _Walker(out, skip, None).walk(body)
            if out.block_count:
                break
        return properties


def write_html(html: str, out: BlockWriter, place: Place | None = None) -> None:
    """Write the readable text of an HTML fragment; every block gets `place`."""
    tree = LexborHTMLParser(html)
    if tree.body is not None:
        _Walker(out, _SKIP, place).walk(tree.body)


def _decode(data: bytes) -> str:
    """Return the declared encoding when it fits, else the one that the bytes suggest."""
    declared = next(filter(None, (_CHARSET.search(tag[0]) for tag in _META.finditer(data[:4096]))), None)
    if declared and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            return data.decode(declared[1].decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            pass
    return decode(data)


def _properties(tree: LexborHTMLParser) -> Properties:
    properties = Properties()
    if (title := tree.css_first("head > title")) is not None:
        properties.title = inline(title.text())
    if tree.html is not None:
        root = tree.css_first("html")
        properties.language = ((root.attributes.get("lang") if root is not None else "") or "")[:2].lower()
    for meta in tree.css("meta[name][content]"):
        name, content = (meta.attributes.get("name") or "").lower(), inline(meta.attributes.get("content") or "")
        if name == "author" and content:
            properties.authors.append(content)
        elif name == "keywords":
            properties.keywords += [word.strip() for word in content.split(",") if word.strip()]
    return properties


class _Walker:
    """Gathers inline text until a block element begins or ends."""

    def __init__(self, out: BlockWriter, skip: frozenset[str], place: Place | None) -> None:
        self._out = out
        self._skip = skip
        self._place = place
        self._parts: list[str] = []
        self._kind = PARAGRAPH

    def walk(self, node: LexborNode) -> None:
        self._children(node, 0)
        self._flush()

    def _children(self, node: LexborNode, depth: int) -> None:
        child = node.child
        while child is not None:
            self._node(child, depth)
            child = child.next

    def _node(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._parts.append(node.text_content or "")
        elif tag.startswith(("-", "_", "!")) or tag in self._skip or "hidden" in node.attributes:
            return
        elif depth > _MAX_DEPTH:
            self._parts.append(node.text(deep=True, separator=" "))
        elif tag == "br":
            self._parts.append("\n")
        elif tag == "img":
            self._parts.append(f" {node.attributes.get('alt') or ''} ")
        elif tag in _INLINE:
            self._children(node, depth + 1)
        else:
            self._block(node, tag, depth)

    def _block(self, node: LexborNode, tag: str, depth: int) -> None:
        self._flush()
        before = self._kind
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._out.heading(inline(node.text(deep=True, separator="")), int(tag[1]), self._place)
        elif tag in ("pre", "xmp", "listing", "textarea"):
            self._out.add(CODE, preformatted(node.text(deep=True, separator="")), self._place)
        elif tag == "table" and self._table(node):
            pass
        else:
            if tag in ("li", "dt", "dd"):
                self._kind = LIST_ITEM
            elif tag in ("figcaption", "caption", "aside"):
                self._kind = NOTE
            self._children(node, depth + 1)
            self._flush()
        self._kind = before

    def _table(self, node: LexborNode) -> bool:
        """Write a data table as rows; False for one that only lays out the page."""
        if node.css_first("table table") is not None or node.css_first("h1, h2, h3, ul, ol, pre, form") is not None:
            return False
        rows: list[list[str]] = []
        heads: list[bool] = []
        for row in node.css("tr"):
            cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            values: list[str] = []
            for cell in cells:
                values.append(inline(cell.text(deep=True, separator=" ")))
                values += [""] * (_span(cell) - 1)
            rows.append(values)
            heads.append(bool(cells) and all(cell.tag == "th" for cell in cells))
        width = max((len(row) for row in rows), default=0)
        if width < 2 or len(rows) < 2:
            return False
        if (caption := node.css_first("caption")) is not None:
            self._out.add(NOTE, inline(caption.text(deep=True, separator=" ")), self._place)
        table = self._out.new_table()
        depth = 1 if heads[0] else header_depth(rows)
        headers = rows[0] if depth else []
        for values in rows[depth:]:
            self._out.add(TABLE_ROW, row_text(headers, values)[0], self._place, table=table)
        return True

    def _flush(self) -> None:
        text = inline("".join(self._parts))
        self._parts.clear()
        self._out.add(self._kind, text, self._place)


def _span(cell: LexborNode) -> int:
    value = cell.attributes.get("colspan") or "1"
    return min(int(value), 100) if value.isdecimal() and int(value) > 0 else 1
