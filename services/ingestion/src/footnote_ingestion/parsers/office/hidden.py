"""Hidden and struck runs of Word documents (ECMA-376 part 1, 17.3.2): Word does not show them, or as void.

Properties of styles are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, STRUCK_LEFT_OUT

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
OFF = ("0", "false", "off")


_HIDDEN, _STRUCK = (f"{_W}vanish",), (f"{_W}strike", f"{_W}dstrike")


def is_hidden(run: etree._Element) -> bool:
    """Return whether a run's own properties hide or strike it."""
    return _has(run, _HIDDEN) or _has(run, _STRUCK)


def _has(run: etree._Element, marks: Sequence[str]) -> bool:
    found = (run.find(f"{_W}rPr/{mark}") for mark in marks)
    return any(mark is not None and mark.get(f"{_W}val") not in OFF for mark in found)


def warn_of_hidden(body: etree._Element, out: BlockWriter) -> None:
    """Warn of hidden runs with text, and of struck ones."""
    for marks, words in ((_HIDDEN, "{count} pieces of hidden text are left out"), (_STRUCK, STRUCK_LEFT_OUT)):
        runs = {mark.getparent().getparent() for mark in body.iter(*marks)}
        count = sum(run.tag == f"{_W}r" and run.find(f"{_W}t") is not None and _has(run, marks) for run in runs)
        if count:
            out.warn(CONTENT_LEFT_OUT, words, count)
