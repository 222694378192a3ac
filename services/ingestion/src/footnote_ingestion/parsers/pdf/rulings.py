"""The drawn lines of a page: rules under headers, borders of cells."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pypdfium2.raw as pdfium

from footnote_ingestion.parsers.pdf import pdfium_calls

_THIN = 2.5
_SHORTEST = 6.0
_SMALLEST = 8.0
"""A shape that is smaller than this and not thin is a letter or a sign."""
_RECTANGLE = 5
_GAP, _MOST_FILLS = 4.0, 600
_TOUCH = 1.2
"""Pieces at most this far apart, in points, are one line."""
# A page with more drawn objects than this is a picture, not a table.
MOST_OBJECTS, _MOST_SEGMENTS = 20_000, 20_000


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line from `start` to `end`, at height `at` (for a vertical line, its place from the left)."""

    at: float
    start: float
    end: float


@dataclass(slots=True)
class Rulings:
    """The lines of a page, in points."""

    across: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)
    fills: list[tuple[float, float, float, float]] = field(default_factory=list)
    """Filled rectangles that are not lines: left, bottom, right, top."""


def rulings(page: object, most: int = MOST_OBJECTS) -> Rulings:
    """Return a page's drawn lines, strokes and thin rectangles; none for a page with more than `most` objects."""
    found = Rulings()
    count = pdfium.FPDFPage_CountObjects(page)
    if count > most:
        return found
    bounds = [ctypes.c_float() for _ in range(4)]
    left, bottom, right, top = bounds
    edges = [ctypes.byref(edge) for edge in bounds]
    room = _MOST_SEGMENTS
    holder, path, image = pdfium_calls.handle(page), pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE
    for index in range(count):
        one = pdfium_calls.object_at(holder, index)
        kind = pdfium_calls.object_kind(one) if one else None
        if kind not in (path, image) or not pdfium_calls.object_bounds(one, *edges):
            continue
        # Some programs write a line as a thin image of one colour.
        if _add(found, left.value, bottom.value, right.value, top.value) or kind == image:
            continue
        width, height = right.value - left.value, top.value - bottom.value
        if width < _SMALLEST or height < _SMALLEST:
            continue
        shape = pdfium.FPDFPage_GetObject(page, index)
        segments = pdfium.FPDFPath_CountSegments(shape)
        room -= segments
        if room < 0:
            return Rulings()
        before = len(found.across) + len(found.down)
        for x0, y0, x1, y1 in _parts(shape, segments):
            _add(found, min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
        if segments == _RECTANGLE and before == len(found.across) + len(found.down):
            found.fills.append((left.value, bottom.value, right.value, top.value))
    return Rulings(joined_pieces(found.across), joined_pieces(found.down), found.fills)


def edges_of(fills: Sequence[tuple[float, float, float, float]]) -> Rulings:
    """Return the edges of filled rectangles as lines, without those inside others; near edges are merged."""
    if not 0 < len(fills) <= _MOST_FILLS:
        return Rulings()
    outer = [one for one in fills if not any(one != other and _contains(other, one) for other in fills)]
    xs = _snapped([edge for left, _, right, _ in outer for edge in (left, right)])
    ys = _snapped([edge for _, bottom, _, top in outer for edge in (bottom, top)])
    across = [Rule(ys[at], xs[left], xs[right]) for left, bottom, right, top in outer for at in (bottom, top)]
    down = [Rule(xs[at], ys[bottom], ys[top]) for left, bottom, right, top in outer for at in (left, right)]
    return Rulings(joined_pieces(across), joined_pieces(down))


def _contains(other: tuple[float, float, float, float], one: tuple[float, float, float, float]) -> bool:
    return other[0] <= one[0] and other[1] <= one[1] and other[2] >= one[2] and other[3] >= one[3]


def _snapped(places: list[float]) -> dict[float, float]:
    """Map each place to the first of a sequence of places with hardly a gap between them."""
    found: dict[float, float] = {}
    first = last = -math.inf
    for place in sorted(places):
        if place - first > _GAP or place - last > _GAP:
            first = place
        found[place] = first
        last = place
    return found


def joined_pieces(rules: Sequence[Rule], gap: float = _TOUCH) -> list[Rule]:
    """Join pieces of lines less than `gap` points apart: many lines are drawn cell by cell."""
    made: list[Rule] = []
    begun: dict[int, list[int]] = {}  # height in steps -> indexes of its lines in the result
    for rule in sorted(rules, key=lambda rule: (rule.start, rule.at)):
        step = math.floor(rule.at / _TOUCH)
        for near in (step - 1, step, step + 1):
            if near in begun:  # lines that ended earlier do not continue
                begun[near] = [at for at in begun[near] if rule.start - made[at].end < gap]
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
    """Record a line; return whether it is a line, or too small to matter."""
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
