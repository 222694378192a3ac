"""The text of single HTML elements as a reader sees it: superscripts, alternative texts, equations, spans of cells."""

from __future__ import annotations

from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from footnote_ingestion.parsers.clean import RAISED, joined, starts_as_figure
from footnote_ingestion.parsers.mathml import Node, linear

# Deeper text is taken without structure: each level costs three Python frames.
MAX_DEPTH = 150
_FEW_LEVELS = 5
SAYS_BY_ATTRIBUTE = frozenset({"img", "input"})
_BOXES, _NOT_SHOWN = ("checkbox", "radio"), ("hidden", "password", "file", "color", "range")
INLINE = frozenset(
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
        "picture",
        "source",
    ]
)
# Elements that are not read.
SKIP = frozenset(
    [
        "head",
        "script",
        "style",
        "noscript",
        "template",
        "svg",
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
# Elements that are whole by themselves: two side by side are no word.
_WHOLE = frozenset({"button", "data", "label", "meter", "output", "time"})
# Roles that mark references to notes.
_MARKS = frozenset(("noteref", "doc-noteref"))


def in_line(tag: str) -> bool:
    """Return whether an element is within a line; unknown ones are, with "-" or ":" in their names."""
    return tag in INLINE or _is_own(tag)


def _is_own(tag: str) -> bool:
    return "-" in tag[1:] or ":" in tag


def input_type(node: LexborNode) -> str:
    """Return the type of an input."""
    return (node.attributes.get("type") or "text").lower()


def words_of_attributes(node: LexborNode) -> str:
    """Return the alternative text of a picture or the value of a field that a form shows; empty for others."""
    given = node.attributes
    kind = input_type(node)
    if node.tag == "img" or kind == "image":
        return given.get("alt") or ""
    if kind in _BOXES:
        return "☑" if "checked" in given else "☐"
    return "" if kind in _NOT_SHOWN else given.get("value") or ""


def text_of(node: LexborNode) -> str:
    """Return the text that is read under an element: words of one line stay whole, blocks and superscripts apart."""
    first = node.child
    if first is not None and first.tag == "-text" and first.next is None:
        return first.text_content or ""
    pieces: list[str] = []
    todo: list[LexborNode | str | None] = [first]
    while todo:
        one = todo.pop()
        if one is None:
            continue
        if isinstance(one, str):
            pieces.append(one)
            continue
        todo.append(one.next)
        tag = one.tag or ""
        if tag == "-text":
            pieces.append(one.text_content or "")
        elif not tag or tag.startswith(("-", "_", "!")) or tag in SKIP or repeats(one, tag):
            continue
        elif tag in SAYS_BY_ATTRIBUTE:
            pieces.append(f" {words_of_attributes(one)} ")
        elif tag == "math":
            pieces.append(f" {linear(equation_of(one))} ")
        elif tag in ("sup", "a") and is_mark(one, tag):
            pieces.append(RAISED + one.text(deep=True))
        elif in_line(tag) and tag not in ("br", "rt"):
            todo += (" " if stands_apart(one, tag) else "", one.child)
        else:
            pieces.append(" ")
            todo += (" ", one.child)
    return joined(pieces)


def code_of(node: LexborNode) -> str:
    """Return the lines of an element whose spaces and line feeds count: `<br>` and blocks within it are lines too."""
    pieces: list[str] = []
    todo: list[LexborNode | str | None] = [node.child]
    while todo:
        one = todo.pop()
        if one is None:
            continue
        if isinstance(one, str):
            if pieces and not pieces[-1].endswith("\n"):
                pieces.append(one)
            continue
        todo.append(one.next)
        tag = one.tag or ""
        if tag == "-text":
            if text := one.text_content:
                pieces.append(text)
        elif tag == "br":
            pieces.append("\n")
        elif tag and not tag.startswith(("-", "_", "!")) and tag not in SKIP:
            end = "" if in_line(tag) or tag in ("td", "th") else "\n"
            todo += (end, one.child, end) if end else (one.child,)
    return "".join(pieces)


def repeats(node: LexborNode, tag: str) -> bool:
    """Return whether an element says nothing: a heading's mark as a link to itself, or a drawn equation.

    KaTeX and MathJax draw the equation beside it for the eye alone.
    """
    if tag == "a" and (node.attributes.get("href") or "").startswith("#"):
        return node.text(deep=True).strip() in ("¶", "#")
    if tag not in ("span", "nobr") or node.attributes.get("aria-hidden") != "true":
        return False
    beside = (one for one in (node.prev, node.next) if one is not None and (one.tag or "-")[0] != "-")
    return any(one.css_first("math") is not None for one in beside)


def stands_apart(node: LexborNode, tag: str) -> bool:
    """Return whether an element within a line is no part of a word or number with what follows it."""
    following = node.next
    return _is_whole(tag) and following is not None and _is_whole(following.tag or "")


def _is_whole(tag: str) -> bool:
    return tag in _WHOLE or _is_own(tag)


def equation_of(node: LexborNode, depth: int = 0) -> Node:
    """Return an equation for `linear`; what is nested too deep comes as text."""
    children = list(node.iter()) if depth < MAX_DEPTH else []
    text = node.text(deep=not children) or ""
    return Node(node.tag or "", text, [equation_of(one, depth + 1) for one in children])


def roles(node: LexborNode) -> list[str]:
    """Return an element's roles in the vocabularies of EPUB and ARIA."""
    found = node.attributes
    return f"{found.get('epub:type') or ''} {found.get('role') or ''}".lower().split()


def is_mark(node: LexborNode, tag: str) -> bool:
    """Return whether an element is a superscript number, or a reference to a note by one."""
    return (tag == "sup" or not _MARKS.isdisjoint(roles(node))) and _begins_as_figure(node)


def _begins_as_figure(node: LexborNode) -> bool:
    """Return whether the first text under an element begins with a digit; deep nesting is not searched."""
    first = node.child
    for _ in range(_FEW_LEVELS):
        if first is None or first.tag == "-text":
            break
        first = first.child
    return first is not None and starts_as_figure(first.text_content or "")


def spans(cell: LexborNode) -> tuple[int, int]:
    """Return how many rows and columns a cell covers."""
    given = cell.attributes
    return (_span(given, "rowspan"), _span(given, "colspan")) if given else (1, 1)


def _span(given: Mapping[str, str | None], name: str) -> int:
    """Return how many rows or columns a cell covers; 0 means all remaining rows."""
    value = (given.get(name) or "1").strip()
    if not value.isascii() or not value.isdecimal():
        return 1
    return min(int(value[:6]), 65_534) or (65_534 if name == "rowspan" else 1)
