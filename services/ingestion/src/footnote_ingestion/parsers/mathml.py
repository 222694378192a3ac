"""Equations in MathML, of pages, books and OpenDocument, as text in one line: "(a+b)/2", "x^2", "√(x+1)"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from footnote_ingestion.parsers.clean import inline

_MOST_DEPTH = 30
_ANNOTATIONS = ("annotation", "annotation-xml", "mphantom")
_BELOW = ("munder", "msub")
_ABOVE = ("mover", "msup")
_BOTH = ("munderover", "msubsup")


class Node(NamedTuple):
    """An element: its name without prefix, its own text, and the elements in it."""

    name: str
    text: str
    children: Sequence[Node]


def linear(node: Node, depth: int = 0) -> str:
    """Return an equation as linear text; parts nested too deep are given letter by letter."""
    if depth > _MOST_DEPTH:
        return _letters(node)
    name, parts = node.name, node.children
    if not parts:
        return "" if name in _ANNOTATIONS else inline(node.text)
    if name in _ANNOTATIONS:
        return ""
    deeper = depth + 1
    if name == "mfrac" and len(parts) == 2:
        return f"{_whole(parts[0], deeper)}/{_whole(parts[1], deeper)}"
    if name in _ABOVE and len(parts) == 2:
        return f"{linear(parts[0], deeper)}^{_whole(parts[1], deeper)}"
    if name in _BELOW and len(parts) == 2:
        return f"{linear(parts[0], deeper)}_{_whole(parts[1], deeper)}"
    if name in _BOTH and len(parts) == 3:
        return f"{linear(parts[0], deeper)}_{_whole(parts[1], deeper)}^{_whole(parts[2], deeper)}"
    if name == "mroot" and len(parts) == 2:
        return f"root({linear(parts[1], deeper)}, {linear(parts[0], deeper)})"
    if name == "mtable":
        rows = (", ".join(linear(cell, deeper) for cell in row.children) for row in parts)
        return f"[{'; '.join(rows)}]"
    inner = _row(parts, deeper)
    return f"√{_bracketed(inner)}" if name == "msqrt" else f"({inner})" if name == "mfenced" else inner


def _row(parts: Iterable[Node], depth: int) -> str:
    return "".join(linear(one, depth) for one in parts)


def _whole(node: Node, depth: int) -> str:
    return _bracketed(linear(node, depth))


def _bracketed(text: str) -> str:
    """Return a part, in brackets unless it is a single sign, word or number."""
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _letters(node: Node) -> str:
    """Return all text under an element, of any depth."""
    found, todo = [], [node]
    while todo:
        one = todo.pop()
        found.append(one.text)
        todo += reversed(one.children)
    return inline("".join(found))
