"""Finds hidden text: in the paper's colour, off the page, too small, invisible, or on a hidden layer.

Hidden text could put words into an answer that readers of the page cannot see. Characters are sampled at intervals of
`_STRIDE` and at the beginning of each line. A page with a suspicious sample is examined closely: it is rendered with
and without the suspicious text, and text that makes no difference is hidden. The recognised text of a scan is invisible
too but not hidden, because the picture in front of it shows the same words.
"""

from __future__ import annotations

import ctypes
import re
import zlib
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import Image, ImageChops

from footnote_ingestion.parsers.ocr import Area
from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.pdf.lines import Line
from footnote_ingestion.parsers.pdf.turns import turned

_STRIDE = 24
_SMALLEST = 1.0
"""Points: characters that are neither higher nor wider than this cannot be read."""
_NEARLY_WHITE = 235
_NEARLY_CLEAR = 20
_LEAST_CONTRAST = 20
"""Minimum difference, of 255 shades of grey, between a character and its background."""
_INVISIBLE = frozenset((raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP))
_SCALE, _MOST_PIXELS = 2.0, 2_500
_MOST_PICTURES = 200
_LAYERS, _COMPRESSED = b"/OCProperties", b"/ObjStm"
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_LONGEST_HEAD, _MOST_INFLATED = 1_000, 16_000_000

_EDGE = 0.15
"""Fraction of a character's height: lines drawn above or below it are not part of its shape."""

_Piece = tuple[int, list[tuple[int, Area]]]
"""The address of a text object of the page, with the indexes and places of its characters."""


class _Kind(Enum):
    """Why a piece of text may be hidden."""

    PLAIN = auto()
    SMALL = auto()
    UNPAINTED = auto()
    PALE = auto()


def has_hidden_layers(path: Path) -> bool:
    """Return whether a PDF has layers that may be switched off; False if that cannot be determined."""
    data = path.read_bytes()
    if _LAYERS not in data and not _may_name_layers(data):
        return False
    import pypdf  # for such files alone, since loading it takes long

    try:
        root: Any = pypdf.PdfReader(path, strict=False).trailer["/Root"]
        layers = root.get("/OCProperties", {})
        usual = layers.get("/D", {}).get_object() if "/D" in layers else {}
        return bool(usual.get("/OFF") or usual.get("/AS") or usual.get("/BaseState", "/ON") != "/ON")
    except Exception:  # pypdf may fail on a damaged file that PDFium has opened
        return _LAYERS in data


def _may_name_layers(data: bytes) -> bool:
    """Return whether layers may be named in a compressed object stream; True if one cannot be searched cheaply."""
    view = memoryview(data)
    room = _MOST_INFLATED
    at = data.find(_COMPRESSED)
    while at >= 0:
        begin, end = data.rfind(b"obj", max(at - _LONGEST_HEAD, 0), at), data.find(b"stream", at, at + _LONGEST_HEAD)
        head = data[begin:end] if 0 <= begin < end else b""
        if b"/FlateDecode" not in head or head.count(b"/Filter") != 1 or b"/DecodeParms" in head:
            return True
        start = end + len(b"stream")
        start += len(data[start : start + 2]) - len(data[start : start + 2].lstrip(b"\r\n"))
        inflater = zlib.decompressobj()
        try:
            found = inflater.decompress(view[start : data.find(b"endstream", start)], room)
        except zlib.error:
            return True
        room -= len(found)
        if not inflater.eof or room <= 0 or _LAYERS in _ESCAPED.sub(lambda one: bytes.fromhex(one[1].decode()), found):
            return True
        at = data.find(_COMPRESSED, end)
    return False


class HiddenTextFinder:
    """Determines which characters of a page are visible; reuses the C buffers between pages."""

    def __init__(self, layers: bool) -> None:
        """Examine every page closely if some of the file's `layers` are switched off."""
        self._layers = layers
        self._colour = [ctypes.c_uint() for _ in range(4)]
        self._of_colour = [ctypes.byref(one) for one in self._colour]
        self._box = raw.FS_RECTF()
        self._of_box = ctypes.byref(self._box)
        self._pieces: dict[int, tuple[bool, bool]] = {}
        """For each piece of a page, by its address: whether it is unpainted, and whether it is nearly white."""

    def hidden(self, page: pdfium.PdfPage, text_page: object, lines: Sequence[Line], turn: int) -> frozenset[int]:
        """Return the indexes of a page's hidden characters; `lines` are those of its text page, turned by `turn`."""
        if not lines:
            return frozenset()
        count = raw.FPDFText_CountChars(text_page)
        area = shown_area(page)
        turned_area = turned(area, turn)
        beyond = any(_reaches_out(line, turned_area) for line in lines)
        holder = pdfium_calls.handle(text_page)
        self._pieces.clear()
        if not (
            beyond
            or self._layers
            or any(0 < line.size < _SMALLEST for line in lines)
            or self._any_strange(holder, (line.char for line in lines))
            or self._any_strange(holder, range(0, count, _STRIDE))
        ):
            return frozenset()
        return self._look(page, holder, count, area, beyond=beyond)

    def _any_strange(self, text_page: pdfium_calls.Handle, indexes: Iterable[int]) -> bool:
        """Return whether any of these characters is unpainted, nearly white or very small."""
        for index in indexes:
            piece = pdfium_calls.text_object(text_page, index) if index >= 0 else None
            if piece and (any(self._unseen(text_page, index, piece)) or self._is_small(text_page, index)):
                return True
        return False

    def _unseen(self, text_page: pdfium_calls.Handle, index: int, piece: int) -> tuple[bool, bool]:
        """Return whether a character's piece is unpainted or transparent, and whether it is nearly white.

        A piece has a single colour.
        """
        known = self._pieces.get(piece)
        if known is None:
            red, green, blue, alpha = self._colour
            if not pdfium_calls.fill_color(text_page, index, *self._of_colour):
                red.value, alpha.value = 0, 255
            unpainted = (
                alpha.value < _NEARLY_CLEAR or pdfium_calls.render_mode(pdfium_calls.Handle(piece)) in _INVISIBLE
            )
            pale = min(red.value, green.value, blue.value) >= _NEARLY_WHITE
            known = self._pieces[piece] = (unpainted, pale)
        return known

    def _is_small(self, text_page: pdfium_calls.Handle, index: int) -> bool:
        box = self._box
        if not pdfium_calls.loose_box(text_page, index, self._of_box):
            return False
        height = box.top - box.bottom
        return height < _SMALLEST and bool(0 < max(height, box.right - box.left) < _SMALLEST)

    def _look(
        self, page: pdfium.PdfPage, text_page: pdfium_calls.Handle, count: int, area: Area, *, beyond: bool
    ) -> frozenset[int]:
        """Examine each character of a page; `beyond`: some may be off the page."""
        hidden: set[int] = set()
        pieces: dict[int, _Piece] = {}
        kinds: dict[int, _Kind] = {}
        for index in range(count):
            key = pdfium_calls.text_object(text_page, index)
            if not key:
                continue
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = self._kind(text_page, index, key)
                pieces[key] = (key, [])
            if (kind is _Kind.PLAIN and not beyond) or (box := self._area(text_page, index)) is None:
                continue
            if kind is _Kind.SMALL or _outside(box, area):
                hidden.add(index)
            else:
                pieces[key][1].append((index, box))
        of_kind = {
            kind: [pieces[key] for key, one in kinds.items() if one is kind and pieces[key][1]] for kind in _Kind
        }
        hidden |= _without_difference(page, of_kind[_Kind.PALE], area)
        if unpainted := of_kind[_Kind.UNPAINTED]:
            texts = [key for key, kind in kinds.items() if kind is not _Kind.UNPAINTED]
            hidden |= _without_picture(page, unpainted, texts, area)
        return frozenset(hidden)

    def _kind(self, text_page: pdfium_calls.Handle, index: int, piece: int) -> _Kind:
        """Return the kind of the piece to which a character belongs."""
        if self._is_small(text_page, index):
            return _Kind.SMALL
        unpainted, pale = self._unseen(text_page, index, piece)
        if unpainted:
            return _Kind.UNPAINTED
        return _Kind.PALE if self._layers or pale else _Kind.PLAIN

    def _area(self, text_page: pdfium_calls.Handle, index: int) -> Area | None:
        box = self._box
        if not pdfium_calls.loose_box(text_page, index, self._of_box):
            return None
        return box.left, box.bottom, box.right, box.top


def shown_area(page: pdfium.PdfPage) -> Area:
    """Return the visible part of a page: its crop box as PDFium determines it."""
    box = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page.raw, box)
    return box.left, box.bottom, box.right, box.top


def _reaches_out(line: Line, area: Area) -> bool:
    left, bottom, right, top = area
    return line.left < left or line.right > right or line.bottom < bottom or line.top > top


def _outside(box: Area, area: Area) -> bool:
    return box[2] <= area[0] or box[0] >= area[2] or box[3] <= area[1] or box[1] >= area[3]


def _without_difference(page: pdfium.PdfPage, doubtful: Sequence[_Piece], area: Area) -> set[int]:
    """Return the characters of the pieces without which the page looks the same."""
    if not doubtful:
        return set()
    after = _drawn_without(page, [piece for piece, _ in doubtful])
    difference = ImageChops.difference(_drawn(page), after)
    return {index for piece in doubtful if not _shown(difference, piece, area) for index, _ in piece[1]}


def _without_picture(page: pdfium.PdfPage, unpainted: Sequence[_Piece], texts: Sequence[int], area: Area) -> set[int]:
    """Return the characters of unpainted pieces that no picture and no shapes of their letters cover.

    `texts` are the page's other pieces of text, which are not shapes.
    """
    pictures = []
    for number, picture in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
        if number >= _MOST_PICTURES:
            break
        pictures.append(picture.get_bounds())
    left = [
        (piece, bare)
        for piece, boxes in unpainted
        if (bare := [one for one in boxes if not any(_holds(picture, one[1]) for picture in pictures)])
    ]
    if not left:
        return set()
    shapes = _drawn_without(page, texts)
    return {index for piece in left if not _shown(shapes, piece, area) for index, _ in piece[1]}


def _holds(picture: Area, box: Area) -> bool:
    across, up = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return picture[0] <= across <= picture[2] and picture[1] <= up <= picture[3]


def _drawn_without(page: pdfium.PdfPage, pieces: Sequence[int]) -> Image.Image:
    holders = [pdfium_calls.Handle(piece) for piece in pieces]
    for holder in holders:
        pdfium_calls.set_active(holder, 0)
    try:
        return _drawn(page)
    finally:
        for holder in holders:
            pdfium_calls.set_active(holder, 1)


def _drawn(page: pdfium.PdfPage) -> Image.Image:
    """Return the page in shades of grey, unrotated."""
    scale = min(_SCALE, _MOST_PIXELS / max(1.0, *page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True, rotation=(360 - page.get_rotation()) % 360)
    picture: Image.Image = bitmap.to_pil().convert("L").copy()
    bitmap.close()
    return picture


def _shown(picture: Image.Image, piece: _Piece, area: Area) -> bool:
    """Return whether the page shows light and dark in the places of at least half of a piece's characters."""
    needed, left = (len(piece[1]) + 1) // 2, len(piece[1])
    for _, box in piece[1]:
        if needed <= 0 or needed > left:
            break
        needed -= _contrast(picture, box, area)
        left -= 1
    return needed <= 0


def _contrast(picture: Image.Image, box: Area, area: Area) -> bool:
    """Return whether a part of a page's picture has light and dark, its upper and lower edges left out."""
    across, up = picture.width / max(area[2] - area[0], 1e-6), picture.height / max(area[3] - area[1], 1e-6)
    edge = _EDGE * (box[3] - box[1])
    left, right = int((box[0] - area[0]) * across), int((box[2] - area[0]) * across) + 1
    top, bottom = int((area[3] - box[3] + edge) * up), int((area[3] - box[1] - edge) * up) + 1
    part = (max(left, 0), max(top, 0), min(right, picture.width), min(bottom, picture.height))
    if part[0] >= part[2] or part[1] >= part[3]:
        return False
    darkest, lightest = picture.crop(part).getextrema()
    return bool(lightest - darkest >= _LEAST_CONTRAST)  # type: ignore[operator]
