"""Texts of cells with superscript or struck runs, which calamine joins: "150" with the mark 2 of a note is no 1502."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.clean import RAISED, inline, joined, starts_as_figure
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ITEM, _RUN, _TEXT = (f"{_MAIN}{name}" for name in ("si", "r", "t"))
_RAISED, _STRUCK = f"{_MAIN}rPr/{_MAIN}vertAlign", f"{_MAIN}rPr/{_MAIN}strike"
_SHARED = "xl/sharedstrings.xml"
Run = tuple[str, bool, bool]
"""A text, whether it is superscript, and whether it is struck."""


def take(runs: Iterable[Run], place: tuple[int, int], found: SheetExtras, *, broken: bool = False) -> None:
    """Record a cell's text if runs of it are superscript or struck: struck ones are left out and counted.

    So is one with line breaks or tabs where calamine leaves these out (`broken`).
    """
    runs = list(runs)
    if not broken and not any(raised or struck for _, raised, struck in runs):
        return
    pieces = (
        RAISED + text if raised and starts_as_figure(text) else text for text, raised, struck in runs if not struck
    )
    found.rich[place] = inline(joined(pieces))
    found.struck += sum(struck and bool(text.strip()) for text, _, struck in runs)


def runs_of(item: etree._Element) -> list[Run]:
    """Return the runs of a rich string of Office Open XML (ECMA-376 part 1, 18.4.8), empty for a plain one."""
    made = []
    for run in item.iterchildren(_RUN):
        raised, struck = run.find(_RAISED), run.find(_STRUCK)
        is_struck = struck is not None and struck.get("val") not in ("0", "false")
        made.append((run.findtext(_TEXT) or "", raised is not None and raised.get("val") == "superscript", is_struck))
    return made


def shared_strings(package: zipfile.ZipFile) -> dict[str, list[Run]]:
    """Return the shared strings of a workbook with superscript or struck runs, by their numbers."""
    part = next((name for name in package.namelist() if name.lower() == _SHARED), "")
    found: dict[str, list[Run]] = {}
    options = {"resolve_entities": False, "no_network": True, "huge_tree": False, "load_dtd": False}
    if not part or not _has_marks(package, part):
        return found
    with package.open(part) as stream:
        for number, (_, item) in enumerate(etree.iterparse(stream, events=("end",), tag=_ITEM, **options)):
            if len(item) > 1 or (len(item) and item[0].tag == _RUN):
                runs = runs_of(item)
                if any(raised or struck for _, raised, struck in runs):
                    found[str(number)] = runs
            item.clear(keep_tail=False)
            while item.getprevious() is not None:
                del item.getparent()[0]
    return found


def _has_marks(package: zipfile.ZipFile, part: str) -> bool:
    """Return whether a part names what this module looks for: most do not, and reading them takes seconds."""
    last = b""
    with package.open(part) as stream:
        while piece := stream.read(1 << 20):
            if any(mark in last + piece for mark in (b"vertAlign", b"strike")):
                return True
            last = piece[-16:]
    return False
