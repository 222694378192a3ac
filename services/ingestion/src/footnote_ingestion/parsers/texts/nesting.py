"""Flattens HTML elements that are nested deeper than in any real page.

For each element that begins, a parser walks through all open ones.
"""

from __future__ import annotations

import re

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
