"""Direct calls of the PDFium functions that run for each character or object of a page.

ctypes checks and converts arguments and results and releases the interpreter lock, which takes longer than the function
itself. These bindings do neither, so callers must pass the exact types: `Handle`s, made once per page, integers that
fit into an int, and `byref` of output variables.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pypdfium2.raw as raw


class Handle(ctypes.c_void_p):
    """A page, a text page or an object of a page; false if there is none."""


def handle(pointer: object) -> Handle:
    """Return the handle of a pypdfium2 pointer."""
    return ctypes.cast(pointer, Handle)  # type: ignore[arg-type]


def _plain(function: object, result: type[Any]) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result)(handle(function).value)  # type: ignore[arg-type]


char_index = _plain(raw.FPDFText_GetCharIndexFromTextIndex, ctypes.c_int)
fill_color = _plain(raw.FPDFText_GetFillColor, ctypes.c_int)
font_info = _plain(raw.FPDFText_GetFontInfo, ctypes.c_ulong)
font_size = _plain(raw.FPDFText_GetFontSize, ctypes.c_double)
is_unmapped = _plain(raw.FPDFText_HasUnicodeMapError, ctypes.c_int)
loose_box = _plain(raw.FPDFText_GetLooseCharBox, ctypes.c_int)
matrix = _plain(raw.FPDFText_GetMatrix, ctypes.c_int)
object_at = _plain(raw.FPDFPage_GetObject, Handle)
object_bounds = _plain(raw.FPDFPageObj_GetBounds, ctypes.c_int)
object_kind = _plain(raw.FPDFPageObj_GetType, ctypes.c_int)
render_mode = _plain(raw.FPDFTextObj_GetTextRenderMode, ctypes.c_int)
set_active = _plain(raw.FPDFPageObj_SetIsActive, ctypes.c_int)
text_object = _plain(raw.FPDFText_GetTextObject, ctypes.c_void_p)  # its address, or None: faster, and usable as a key
unicode_of = _plain(raw.FPDFText_GetUnicode, ctypes.c_uint)
