"""Turns places of a page so that most of its text is upright, whether the page is shown turned (`/Rotate`) or not.

Places turn about the page's origin, so they may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footnote_ingestion.parsers.ocr import Area, turned_back
from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings, rulings


def turned(box: Area, degrees: int) -> Area:
    """Return a box after a clockwise turn by a multiple of 90 degrees."""
    return turned_back(box, -degrees % 360, (0.0, 0.0))


def rulings_turned(page: object, degrees: int, most: int) -> Rulings:
    """Return a page's drawn lines as `rulings` does, after a clockwise turn."""
    found = rulings(page, most)
    if not degrees:
        return found
    across = [turned((rule.start, rule.at, rule.end, rule.at), degrees) for rule in found.across]
    down = [turned((rule.at, rule.start, rule.at, rule.end), degrees) for rule in found.down]
    if degrees % 180:
        across, down = down, across
    return Rulings(
        [Rule(box[1], box[0], box[2]) for box in across],
        [Rule(box[0], box[1], box[3]) for box in down],
        [turned(fill, degrees) for fill in found.fills],
    )


def loose_box_turned(text_page: pdfium_calls.Handle, index: int, box: Any, degrees: int) -> int:
    """Do as `pdfium_calls.loose_box` does, with the box turned clockwise."""
    found = int(pdfium_calls.loose_box(text_page, index, box))
    one = box._obj  # the structure to which `byref` refers
    one.left, one.bottom, one.right, one.top = turned((one.left, one.bottom, one.right, one.top), degrees)
    return found


def degrees_to_turn(directions: Sequence[int]) -> int:
    """Return by how many degrees clockwise most of a page's text becomes upright.

    `directions` are the characters that run to the right, up, to the left and down.
    """
    right, up, left, down = directions
    if up + down > right + left:
        return 90 if up >= down else 270
    return 180 if left > right else 0
