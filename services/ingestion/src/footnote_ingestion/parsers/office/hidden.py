"""Hidden runs of Word documents (ECMA-376 part 1, 17.3.2.41): Word neither shows nor prints them."""

from __future__ import annotations

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = ("0", "false", "off")


def is_hidden(run: etree._Element) -> bool:
    """Return whether a run's own properties hide it; styles are not looked at."""
    mark = run.find(f"{_W}rPr/{_W}vanish")
    return mark is not None and mark.get(f"{_W}val") not in _OFF


def warn_of_hidden(body: etree._Element, out: BlockWriter) -> None:
    """Warn of hidden runs with text."""
    runs = (mark.getparent().getparent() for mark in body.iter(f"{_W}vanish"))
    hidden = sum(run.tag == f"{_W}r" and run.find(f"{_W}t") is not None and is_hidden(run) for run in runs)
    if hidden:
        out.warn(CONTENT_LEFT_OUT, "{count} pieces of hidden text are left out", hidden)
