"""Images of pages (png, jpg, tiff, webp), read by OCR if the deployment enables it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from footnote.types.v1.locator_pb2 import PageLocator
from PIL import Image, ImageOps, ImageSequence

from footnote_ingestion.parsers import ocr
from footnote_ingestion.parsers.base import BlockWriter, Limits, Properties
from footnote_ingestion.parsers.failures import (
    CORRUPT,
    NO_TEXT,
    PAGES_WITHOUT_TEXT,
    TEXT_RECOGNISED,
    TOO_LARGE,
    UNSUPPORTED,
    ParseError,
)

_MOST_POINTS = 100_000_000
_ERRORS = (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError, Image.DecompressionBombWarning)


class PictureParser:
    """Reads images; each frame of a tiff counts as a page, places are in its points from the lower left corner."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Refuse images without OCR, those that do not open and those that are too large."""
        if not limits.ocr_languages:
            raise ParseError(
                UNSUPPORTED,
                "The file is a picture, which is read only where character recognition is switched on.",
                "Run OCR on the picture and upload the result as a searchable PDF.",
            )
        count = sum(1 for _ in _pictures(path))
        if count > limits.pages:
            raise ParseError(TOO_LARGE, f"The file has {count} pictures; at most {limits.pages} are read.")

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write the recognised paragraphs."""
        self.inspect(path, limits)
        program = ocr.find_program()
        read = 0
        for number, picture in enumerate(_pictures(path), 1):
            upright = ImageOps.exif_transpose(picture).convert("L")
            shrunk = upright.copy()
            shrunk.thumbnail((ocr.MOST_PIXELS, ocr.MOST_PIXELS))
            scale = shrunk.width / upright.width
            found = ocr.Recognised(number)
            for lines in ocr.recognise(shrunk, program, limits.ocr_languages):
                found.paragraphs.append([ocr.scaled(line, scale) for line in lines])
            if found.paragraphs:
                ocr.write(found, out)
                places = [PageLocator(page=number, last_page=number)]
                out.warn(TEXT_RECOGNISED, "{count} pictures were recognised and may hold errors", 1, places)
            else:
                out.warn(PAGES_WITHOUT_TEXT, "{count} pictures hold no text", 1, [PageLocator(page=number)])
            read = number
        if not out.block_count:
            raise ParseError(NO_TEXT, "No text was made out on the picture.")
        return Properties(page_count=read)


def _pictures(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path) as opened:
            for frame in ImageSequence.Iterator(opened):
                if frame.width * frame.height > _MOST_POINTS:
                    raise ParseError(TOO_LARGE, f"The picture has more than {_MOST_POINTS} points.")
                yield frame
                if opened.format != "TIFF":  # animation frames repeat the same content
                    return
    except _ERRORS as error:
        raise ParseError(CORRUPT, "The picture is damaged and cannot be opened.") from error
