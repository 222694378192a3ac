"""HTML: the text that a reader sees, in order, with its headings and tables."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from footnote_ingestion.parsers.base import (
    CODE,
    LIST_ITEM,
    NOTE,
    PARAGRAPH,
    BlockWriter,
    Limits,
    Place,
    Properties,
)
from footnote_ingestion.parsers.cells import Cell, write_table
from footnote_ingestion.parsers.clean import RAISED, inline, joined, preformatted
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, CORRUPT, OTHER, PICTURES_NOT_READ, ParseError
from footnote_ingestion.parsers.inside import Files, picture_at, read_picture
from footnote_ingestion.parsers.mathml import linear
from footnote_ingestion.parsers.texts.encoding import decode, decode_declared
from footnote_ingestion.parsers.texts.html_elements import (
    MAX_DEPTH,
    SAYS_BY_ATTRIBUTE,
    SKIP,
    code_of,
    equation_of,
    in_line,
    input_type,
    is_mark,
    repeats,
    roles,
    spans,
    stands_apart,
    text_of,
    words_of_attributes,
)
from footnote_ingestion.parsers.texts.invisible import read_symbols, take_out_unseen

_NAVIGATION = frozenset({"nav"})
# Elements without content for readers: scripts, styles, and fallbacks for disabled scripts.
_NO_WORDS = frozenset({"head", "script", "style", "template", "noscript"})
_PICTURES = frozenset({"img", "svg", "canvas"})
_MEDIA = frozenset({"audio", "video", "iframe", "object", "embed"})
# Roles that mark notes.
_NOTES = frozenset(("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"))
_NOT_TEXT = ", ".join(sorted((SKIP | {"img", "input"}) - _NO_WORDS))
_META = re.compile(rb"<meta\b[^<>]++", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s*+=\s*+["']?\s*+([\w-]++)""", re.IGNORECASE)


class HtmlParser:
    """Reads HTML files."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text as HTML."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the readable text; navigation is left out unless there is nothing else."""
        tree = _tree(_decode(path.read_bytes(), out), out)
        properties = _properties(tree)
        body = tree.body or tree.root
        if body is None:
            raise ParseError(CORRUPT, "The page has no body.")
        take_out_unseen(tree, out)
        read_symbols(tree)
        for skip in (SKIP | _NAVIGATION, SKIP):
            walker = _Walker(out, skip, None)
            walker.walk(body)
            if out.block_count:
                break
        walker.warn()
        return properties


def _tree(html: str, out: BlockWriter, place: Place | None = None) -> LexborHTMLParser:
    """Return a page's elements, without those nested so deep that parsing would hardly end."""
    html, deeper = flattened(html)
    if deeper:
        words = f"{{count}} elements nested deeper than {DEEPEST} are read as if they stood at that depth"
        out.warn(OTHER, words, deeper, [place])
    return LexborHTMLParser(html)


def write_html(html: str, out: BlockWriter, place: Place | None = None, files: Files | None = None) -> None:
    """Write the readable text of an HTML fragment; every block gets `place`.

    `files` returns the file that a relative address names.
    """
    tree = _tree(html, out, place)
    take_out_unseen(tree, out, place)
    read_symbols(tree)
    if tree.body is not None:
        walker = _Walker(out, SKIP, place, files)
        walker.walk(tree.body)
        walker.warn()


_ASCII = frozenset({"ascii", "us-ascii"})


def _decode(data: bytes, out: BlockWriter) -> str:
    """Decode with the declared encoding if it fits, else with the detected one."""
    declared = next(filter(None, (_CHARSET.search(tag[0]) for tag in _META.finditer(data[:4096]))), None)
    if declared and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        name = declared[1].decode("ascii", errors="replace")
        # As browsers do; mails that declare ASCII are often UTF-8.
        return decode_declared(data, "cp1252" if name.lower() in _ASCII else name, out)
    return decode(data, out)


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
    """Collects inline text until a block element begins or ends."""

    def __init__(self, out: BlockWriter, skip: frozenset[str], place: Place | None, files: Files | None = None) -> None:
        self._out = out
        self._files = files
        self._pictures: list[str] = []
        """Addresses of the pictures in the text that is collected."""
        self._skip = skip
        self._place = place
        self._parts: list[str] = []
        self._kind = PARAGRAPH
        self._left_out: list[tuple[str, list[str]]] = []
        """What is not read, in words, and the headings that it stands under."""

    def walk(self, node: LexborNode) -> None:
        self._children(node, 0)
        self._flush()

    def warn(self) -> None:
        """Warn of pictures, and of skipped elements that hold words; scripts and styles do not."""
        for words, path in sorted(self._left_out, key=lambda one: one[0]):
            self._out.warn(CONTENT_LEFT_OUT, words, 1, [self._place], under=path)

    def _leave_out(self, node: LexborNode, tag: str) -> None:
        """Note an element that is not read, if it has words or is a picture."""
        if tag == "img":
            self._pictures.append(node.attributes.get("src") or "")
            return
        if tag in _PICTURES or (tag == "input" and input_type(node) == "image"):
            words = PICTURES_NOT_READ
        elif tag in self._skip - _NO_WORDS and (tag in _MEDIA or node.text(deep=True).strip()):
            words = f"{{count}} {'navigation menus' if tag in _NAVIGATION else f'<{tag}> elements'} are left out"
        else:
            return
        self._left_out.append((words, self._out.heading_path()))

    def _leave_out_of(self, node: LexborNode) -> None:
        """Note what is not read in an element whose text is taken as a whole."""
        for inner in node.css(_NOT_TEXT):
            self._leave_out(inner, inner.tag or "")
        self._write_pictures()

    def _children(self, node: LexborNode, depth: int) -> None:
        child = node.child
        while child is not None:
            self._node(child, depth)
            child = child.next

    def _node(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._parts.append(node.text_content or "")
        elif tag.startswith(("-", "_", "!")) or "hidden" in node.attributes or repeats(node, tag):
            return
        elif tag in self._skip:
            self._leave_out(node, tag)
        elif depth > MAX_DEPTH:
            self._parts.append(node.text(deep=True, separator=" "))
        elif tag == "br":
            self._parts.append("\n")
        elif tag in SAYS_BY_ATTRIBUTE:
            self._parts.append(f" {words_of_attributes(node)} ")
            self._leave_out(node, tag)
        elif tag == "math":
            self._parts.append(f" {linear(equation_of(node))} ")
        elif tag in ("sup", "a") and is_mark(node, tag):
            self._parts.append(RAISED + node.text(deep=True))
        elif in_line(tag):
            self._children(node, depth + 1)
            if stands_apart(node, tag):
                self._parts.append(" ")
        else:
            self._block(node, tag, depth)

    def _block(self, node: LexborNode, tag: str, depth: int) -> None:
        self._flush()
        before = self._kind
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._out.heading(inline(text_of(node)), int(tag[1]), self._place)
            self._leave_out_of(node)
        elif tag in ("pre", "xmp", "listing", "textarea"):
            self._out.add(CODE, preformatted(code_of(node)), self._place)
        elif tag == "table" and self._table(node):
            pass
        else:
            if not _NOTES.isdisjoint(roles(node)):
                self._kind = NOTE
            elif tag in ("li", "dt", "dd"):
                self._kind = NOTE if before == NOTE else LIST_ITEM
            elif tag in ("figcaption", "caption", "aside"):
                self._kind = NOTE
            self._children(node, depth + 1)
            self._flush()
        self._kind = before

    def _table(self, node: LexborNode) -> bool:
        """Write a data table as rows; False for a layout table."""
        # A selector finds the element itself, and looks at what is around it, too.
        within, named = node.css_first("table table") is not None, node.css_first("th, thead, caption") is not None
        if len(node.css("table")) > 1:
            return False
        if not named and (within or node.css_first("h1, h2, h3, ul, ol, pre, form") is not None):
            return False
        rows = [
            [
                Cell(inline(text_of(cell)), *spans(cell), cell.tag == "th")
                for cell in row.iter()
                if cell.tag in ("td", "th")
            ]
            for row in node.css("tr")
        ]
        if max((sum(cell.columns for cell in row) for row in rows), default=0) < 2 or len(rows) < 2:
            return False
        title, head = node.css_first("caption"), node.css_first("thead")
        caption = inline(text_of(title)) if title is not None else ""
        self._out.add(NOTE, caption, self._place)
        write_table(rows, self._out, self._place, len(head.css("tr")) if head is not None else 0, caption)
        self._leave_out_of(node)
        return True

    def _flush(self) -> None:
        text = inline(joined(self._parts))
        self._parts.clear()
        self._out.add(self._kind, text, self._place)
        self._write_pictures()

    def _write_pictures(self) -> None:
        """Write the words of the pictures in the text before, and note those that are not read."""
        pictures, self._pictures = self._pictures, []
        for address in pictures:
            if words := read_picture(partial(picture_at, address, self._files), self._out, self._place):
                self._left_out.append((words, self._out.heading_path()))


DEEPEST = 512
"""The depth limit of browsers."""
_TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][a-zA-Z0-9]*+))")
# Elements that end where the next of their kind begins, and void elements: they do not nest.
_FLAT = frozenset((
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "optgroup", "rt", "rp", "colgroup",
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "html",
    "head", "body",
))  # fmt: skip
_RAW = frozenset(("script", "style", "textarea", "title"))


def flattened(html: str) -> tuple[str, int]:
    """Return a page without the tags of elements deeper than `DEEPEST`, keeping their text, and their number."""
    if html.count("<") <= DEEPEST:
        return html, 0
    kept: list[str] = []
    done = at = depth = dropped = 0
    while (found := _TAG.search(html, at)) is not None:
        at = found.end()
        name = (found[3] or "").lower()
        if found[1] or (name in _RAW and not found[2]):
            end = html.find("-->" if found[1] else f"</{name}", at)
            if end < 0:
                break
            at = end
            continue
        if name in _FLAT or name in _RAW:
            continue
        if found[2]:
            deep = depth > DEEPEST
            depth -= depth > 0
        else:
            depth += 1
            deep = depth > DEEPEST
            dropped += deep
        if deep:
            end = html.find(">", at)
            if end < 0:
                break
            kept.append(html[done : found.start()])
            done = at = end + 1
    return ("".join((*kept, html[done:])), dropped) if dropped else (html, 0)
