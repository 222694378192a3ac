"""Lines that a page draws: rules under headers, borders of cells."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import pypdfium2.raw as pdfium

from footnote_ingestion.parsers.pdf import plain

_THIN = 2.5
_SHORTEST = 6.0
_SMALLEST = 8.0
"""A figure that is not thin and smaller than this is a letter or a sign."""
_RECTANGLE = 5
_TOUCH = 1.2
"""Pieces this near to one another, in points, are one line."""
# A page that draws more than this is a picture, not a table.
MOST_OBJECTS, _MOST_SEGMENTS = 20_000, 20_000


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line: `at` its height (or, for a vertical one, its place from the left), from `start` to `end`."""

    at: float
    start: float
    end: float


@dataclass(slots=True)
class Rulings:
    """The lines of a page, in points."""

    across: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)


def rulings(page: object, most: int = MOST_OBJECTS) -> Rulings:
    """Return the lines that a page draws by strokes or thin rectangles; none for a page of more than `most` objects."""
    found = Rulings()
    count = pdfium.FPDFPage_CountObjects(page)
    if count > most:
        return found
    bounds = [ctypes.c_float() for _ in range(4)]
    left, bottom, right, top = bounds
    edges = [ctypes.byref(edge) for edge in bounds]
    room = _MOST_SEGMENTS
    holder, path = plain.handle(page), pdfium.FPDF_PAGEOBJ_PATH
    for index in range(count):
        one = plain.object_at(holder, index)
        if not one or plain.object_kind(one) != path or not plain.object_bounds(one, *edges):
            continue
        if _add(found, left.value, bottom.value, right.value, top.value):
            continue
        width, height = right.value - left.value, top.value - bottom.value
        if width < _SMALLEST or height < _SMALLEST:
            continue
        shape = pdfium.FPDFPage_GetObject(page, index)
        segments = pdfium.FPDFPath_CountSegments(shape)
        room -= segments
        if room < 0:
            return Rulings()
        for x0, y0, x1, y1 in _parts(shape, segments):
            _add(found, min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    return Rulings(_whole(found.across), _whole(found.down))


def _whole(rules: list[Rule]) -> list[Rule]:
    """Return lines of which many are drawn cell by cell: pieces that touch, or lie upon one another, as one."""
    made: list[Rule] = []
    begun: dict[int, list[int]] = {}  # height in steps -> where its lines stand in what is made
    for rule in sorted(rules, key=lambda rule: (rule.start, rule.at)):
        step = math.floor(rule.at / _TOUCH)
        for near in (step - 1, step, step + 1):
            if near in begun:  # what has ended before goes on no more
                begun[near] = [at for at in begun[near] if rule.start - made[at].end < _TOUCH]
        for at in (at for near in (step - 1, step, step + 1) for at in begun.get(near, ())):
            one = made[at]
            if abs(one.at - rule.at) < _TOUCH:
                made[at] = Rule(one.at, one.start, max(one.end, rule.end))
                break
        else:
            begun.setdefault(step, []).append(len(made))
            made.append(rule)
    return made


def _add(found: Rulings, left: float, bottom: float, right: float, top: float) -> bool:
    """Note a line and tell whether it is one, or too small for any."""
    width, height = right - left, top - bottom
    if height <= _THIN < width:
        if width >= _SHORTEST:
            found.across.append(Rule((bottom + top) / 2, left, right))
        return True
    if width <= _THIN < height:
        if height >= _SMALLEST:
            found.down.append(Rule((left + right) / 2, bottom, top))
        return True
    return width <= _THIN and height <= _THIN


def _parts(shape: object, segments: int) -> Iterator[tuple[float, float, float, float]]:
    """Yield two opposite corners of each straight line of a stroked path, or of each figure of a filled one."""
    mode, stroked = ctypes.c_int(), ctypes.c_int()
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPath_GetDrawMode(shape, mode, stroked) or not pdfium.FPDFPageObj_GetMatrix(shape, matrix):
        return
    if not stroked.value and segments <= _RECTANGLE:
        return
    x, y = ctypes.c_float(), ctypes.c_float()
    figure: list[tuple[float, float]] = []
    for index in range(segments):
        segment = pdfium.FPDFPath_GetPathSegment(shape, index)
        if not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:  # a letter or a drawing
            return
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            if figure and not stroked.value:
                yield _around(figure)
            figure = []
        figure.append(
            (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
            )
        )
        if stroked.value:
            if kind == pdfium.FPDF_SEGMENT_LINETO and len(figure) > 1:
                yield (*figure[-2], *figure[-1])
            if pdfium.FPDFPathSegment_GetClose(segment):
                yield (*figure[-1], *figure[0])
    if figure and not stroked.value:
        yield _around(figure)


def _around(figure: list[tuple[float, float]]) -> tuple[float, float, float, float]:
    across, up = [x for x, _ in figure], [y for _, y in figure]
    return min(across), min(up), max(across), max(up)
