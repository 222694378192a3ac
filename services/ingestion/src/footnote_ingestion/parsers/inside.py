"""Pictures within documents: OCR reads their words if the deployment enables it; others get a warning."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from PIL import Image, ImageOps

from footnote_ingestion.parsers import ocr
from footnote_ingestion.parsers.base import NOTE, BlockWriter, Place
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT, PICTURES_NOT_READ, TEXT_RECOGNISED, ParseError

WITHOUT_WORDS = "{count} pictures hold no words that character recognition is sure of"
RECOGNISED = "{count} pictures were recognised and may hold errors"
FAILED = "{count} pictures are not read: character recognition failed, see the service's settings"
BEYOND = "{count} pictures are too many or too large and are not read, but for their alternative texts"
MOST_PICTURES = 200
"""Maximum number of different pictures read per file; each takes about a second."""
_MOST_POINTS = 20_000_000
"""Pixels of a picture: each takes up to 20 bytes while it is put on white."""
_SMALL, _ENLARGED = 1_200, 2
"""Pictures with a shorter longer side than this, in pixels, are enlarged: letters on screens are small."""
Files = Callable[[str], bytes]


def write_picture(load: Callable[[], bytes], out: BlockWriter, place: Place | None = None) -> None:
    """Write the words of a picture as a note, or warn with its place; `load` returns the file of the picture."""
    if words := read_picture(load, out, place):
        out.warn(CONTENT_LEFT_OUT, words, 1, [place], under=out.heading_path())


def read_picture(load: Callable[[], bytes], out: BlockWriter, place: Place | None = None) -> str:
    """Write the words of a picture as a note; return a warning if there are none, else "".

    A picture that was read before is not written again.
    """
    if not out.ocr_languages:
        return PICTURES_NOT_READ
    if len(out.pictures_read) >= MOST_PICTURES:
        return BEYOND
    try:
        data = load()
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > _MOST_POINTS:
                return BEYOND
            found, words = words_in(data, partial(_grey, opened), out)
    except MemoryError:
        return BEYOND
    except Exception:  # a drawing of vectors, or damaged: Pillow then raises anything, as struct.error or IndexError
        return PICTURES_NOT_READ
    for lines in found:
        out.add(NOTE, inline(" ".join(line.text for line in lines)), place)
    if found:
        out.warn(TEXT_RECOGNISED, RECOGNISED, 1, [place], under=out.heading_path())
    return words


def picture_at(address: str, files: Files | None) -> bytes:
    """Return the picture at an address of a page; KeyError, OSError or ValueError if the document lacks it.

    `files` returns the file that a relative address names. Nothing is fetched over the network.
    """
    scheme, _, rest = address.strip().partition(":")
    if scheme.lower() == "data":
        form, _, data = rest.partition(",")
        return base64.b64decode(unquote_to_bytes(data)) if form.endswith(";base64") else unquote_to_bytes(data)
    if files is None or not address or "://" in address:
        raise KeyError(address)
    return files(address)


def words_in(data: bytes, load: Callable[[], Image.Image], out: BlockWriter) -> tuple[list[list[ocr.TextLine]], str]:
    """Return the paragraphs of a picture, and a warning if there are none; both empty for a picture read before.

    `data` identifies it; `load` returns it in shades of grey.
    """
    name = sha256(data).hexdigest()
    if name in out.pictures_read:
        return [], out.pictures_read[name]
    if len(out.pictures_read) >= MOST_PICTURES:
        return [], BEYOND
    try:
        found = sure_paragraphs(ocr.recognise(load(), ocr.find_program(), out.ocr_languages))
    except ParseError:
        found, words = [], FAILED
    else:
        words = "" if found else WITHOUT_WORDS
    out.pictures_read[name] = words
    return found, words


def sure_paragraphs(found: list[list[ocr.TextLine]]) -> list[list[ocr.TextLine]]:
    """Return the paragraphs that are words; shapes in a photograph are recognised with low confidence."""
    return [lines for lines in found if _is_sure(lines)]


def _is_sure(lines: list[ocr.TextLine]) -> bool:
    sure = [one for line in lines for one in line.sure]
    return sum(sure) >= ocr.UNSURE * len(sure) and any(sign.isalnum() for line in lines for sign in line.text)


def _grey(opened: Image.Image) -> Image.Image:
    """Return a picture upright, in shades of grey on white, large enough for OCR."""
    upright = ImageOps.exif_transpose(opened).convert("RGBA")
    page = Image.new("RGBA", upright.size, "white")
    page.alpha_composite(upright)
    grey = page.convert("L")
    longer = max(grey.size)
    if longer < _SMALL:
        return grey.resize((grey.width * _ENLARGED, grey.height * _ENLARGED), Image.Resampling.LANCZOS)
    grey.thumbnail((ocr.MOST_PIXELS, ocr.MOST_PIXELS))
    return grey
