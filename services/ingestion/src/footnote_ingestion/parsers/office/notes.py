"""Footnotes, endnotes and comments of Word documents, written after the paragraph that refers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import NOTE, BlockWriter

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PARTS = ("/footnotes", "/endnotes", "/comments")
_KINDS = dict(zip((f"{_W}footnoteReference", f"{_W}endnoteReference", f"{_W}commentReference"), PARTS, strict=True))
_Key: TypeAlias = tuple[str, str]


class Notes:
    """Knows the notes by their numbers; each is written once."""

    def __init__(self) -> None:
        self._texts: dict[_Key, str] = {}

    def add(self, part: str, root: etree._Element, read: Callable[[etree._Element], str]) -> None:
        """Add a part of the package, one of `PARTS`; `read` returns the text of an element."""
        for number, note in enumerate(root):
            text = read(note)
            author = read_author(note) if part == "/comments" else ""
            if text:
                key = (part, note.get(f"{_W}id") or f"unnumbered {number}")
                self._texts.setdefault(key, f"{author}{text}")

    def write(self, element: etree._Element, out: BlockWriter) -> None:
        """Write the notes that a paragraph or table refers to, once each, in the order of reference."""
        for key in _referred_to(element) if self._texts else ():
            out.add(NOTE, self._texts.pop(key, ""))

    def write_rest(self, out: BlockWriter) -> None:
        """Write the notes without a reference."""
        for text in self._texts.values():
            out.add(NOTE, text)
        self._texts.clear()


def read_author(comment: etree._Element) -> str:
    """Return a comment's author as its prefix."""
    author = " ".join((comment.get(f"{_W}author") or "").split())
    return f"Comment by {author}: " if author else "Comment: "


def _referred_to(element: etree._Element) -> Iterator[_Key]:
    for reference in element.iter(*_KINDS):
        yield _KINDS[reference.tag], reference.get(f"{_W}id") or ""
