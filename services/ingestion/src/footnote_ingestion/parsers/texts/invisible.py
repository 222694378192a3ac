"""Removes and counts the parts of an HTML page that a browser does not show or strikes out, before the page is parsed.

Elements are hidden by attribute, by inline style, or by a style rule for a class, an id or a tag name; so they are
struck, or by their names. Elements that other rules show, or hide in print only, count as shown. Characters of symbol
fonts become those that are seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser

from footnote_ingestion.parsers.base import BlockWriter, Place
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, STRUCK_LEFT_OUT
from footnote_ingestion.parsers.symbols import in_font

_SIMPLE = re.compile(r"[a-zA-Z][\w-]*|[a-zA-Z]{0,20}[.#][\w-]{1,100}(?:[.#][\w-]{1,100})?")
_NOTHING = re.compile(r"(?:0++(?:\.0*+)?|\.0++)(?:px|pt|em|rem|%)?")
_MOST_RULES, _MOST_STYLES = 100, 500_000


def take_out_unseen(tree: LexborHTMLParser, out: BlockWriter, place: Place | None = None) -> None:
    """Remove a page's hidden and struck elements, and warn of those with words."""
    found = [node for node in tree.css("[hidden], [style]") if "hidden" in node.attributes or _hides(_style(node))]
    hiding, showing, striking = _rules(tree)
    if hiding:
        shown = {node.mem_id for node in tree.css(", ".join(showing))} if showing else set()
        shown |= {node.mem_id for node in tree.css("[style]") if _shows(_style(node))}
        found += [node for node in tree.css(", ".join(hiding)) if node.mem_id not in shown]
    struck = {node.mem_id: node for node in tree.css(", ".join(("del", "s", "strike", *striking)))}
    struck |= {node.mem_id: node for node in tree.css("[style]") if _strikes(_style(node))}
    for node in found:
        struck.pop(node.mem_id, None)
    found += struck.values()
    counts = [0, 0]
    # Remove inner elements first: removing an outer one ends them.
    order = {node.mem_id: at for at, node in enumerate(tree.css("*"))} if found else {}
    for node in sorted({node.mem_id: node for node in found}.values(), key=lambda one: -order.get(one.mem_id, 0)):
        if node.tag in ("html", "body"):
            continue
        is_struck = node.mem_id in struck
        counts[is_struck] += bool(node.text(deep=True).strip())
        if is_struck:
            node.insert_before(" ")  # what replaces it does not go on with the word before it
        node.decompose()
    unseen = "{count} parts that the page does not show are left out"
    for count, words in zip(counts, (unseen, STRUCK_LEFT_OUT), strict=True):
        if count:
            out.warn(CONTENT_LEFT_OUT, words, count, [place])


def read_symbols(tree: LexborHTMLParser) -> None:
    """Replace the characters in symbol fonts, by attribute or inline style, by those that a browser shows."""
    for node in tree.css("font[face], [style]"):
        font = node.attributes.get("face") or _declared(_style(node)).get("font-family", "")
        if font:
            for child in [one for one in node.iter(include_text=True) if one.tag == "-text"]:
                text = child.text_content or ""
                if (shown := in_font(text, font.partition(",")[0])) != text:
                    child.replace_with(shown)


def _style(node: object) -> str:
    return node.attributes.get("style") or ""  # type: ignore[attr-defined]


def _declared(style: str) -> dict[str, str]:
    """Return the declarations of a style, in lower case."""
    found = {}
    for one in style.lower().split(";"):
        name, colon, value = one.partition(":")
        if colon:
            found[name.strip()] = value.partition("!")[0].strip()
    return found


def _hides(style: str) -> bool:
    found = _declared(style)
    return (
        found.get("display") == "none"
        or found.get("visibility") in ("hidden", "collapse")
        or any(name in found and _is_nothing(found[name]) for name in ("font-size", "opacity"))
    )


def _strikes(style: str) -> bool:
    found = _declared(style)
    return any("line-through" in found.get(name, "") for name in ("text-decoration", "text-decoration-line"))


def _is_nothing(value: str) -> bool:
    return "0" in value and _NOTHING.fullmatch(value) is not None


def _shows(style: str) -> bool:
    found = _declared(style)
    return found.get("display", "none") != "none" or found.get("visibility") == "visible"


def _rules(tree: LexborHTMLParser) -> tuple[list[str], list[str], list[str]]:
    """Return the simple selectors of rules that hide, of those that show, and of those that strike."""
    hiding: list[str] = []
    showing: list[str] = []
    striking: list[str] = []
    for style in tree.css("style"):
        for selectors, declared in _read(style.text(deep=True)[:_MOST_STYLES]):
            into = hiding if _hides(declared) else showing if _shows(declared) else None
            into = striking if into is not hiding and _strikes(declared) else into
            for one in selectors.split(",") if into is not None else ():
                if _SIMPLE.fullmatch(one.strip()) and into is not None and len(into) < _MOST_RULES:
                    into.append(one.strip())
    return hiding, showing, striking


def _without_comments(sheet: str) -> str:
    """Return a style sheet without comments; an unclosed comment takes the rest."""
    kept, at = [], 0
    while (start := sheet.find("/*", at)) >= 0:
        kept.append(sheet[at:start])
        end = sheet.find("*/", start + 2)
        at = end + 2 if end >= 0 else len(sheet)
    return "".join([*kept, sheet[at:]])


def _read(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and declarations of the unconditional rules of a style sheet."""
    within = False
    for part in _without_comments(sheet).split("}"):
        if not part.strip():
            within = False
            continue
        selectors, _, declared = part.partition("{")
        if selectors.strip().startswith("@"):
            within = "{" in declared
        elif not within:
            yield selectors.strip(), declared
