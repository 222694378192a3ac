"""Recognises the text of pictures with the tesseract program, if the deployment has it and enables it.

Each line has its box, and each word its confidence. A picture with a low confidence is rotated to its likely
orientation and read again.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.types.v1.locator_pb2 import Anchor, Box, PageLocator
from PIL import Image

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter, anchor
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import NO_TEXT, TEXT_RECOGNISED, ParseError

MOST_PIXELS = 4_000  # along the longer side: a poster must not take a gigabyte
_TURN = re.compile(r"^Rotate:\s*(90|180|270)\s*$", re.MULTILINE)
_WORD, _FIELDS = "5", 12
UNSURE = 60
"""Words with a lower confidence than this, in percent, are counted."""
_DOUBTFUL = 75
"""A page with a lower average confidence than this may be rotated."""

Area = tuple[float, float, float, float]


@dataclass(slots=True)
class TextLine:
    """A recognised line: its box in points (left, bottom, right, top), and the confidence of each word."""

    text: str
    box: Area
    sure: list[float]


@dataclass(slots=True)
class Recognised:
    """The recognised text of one page: paragraphs of lines."""

    page: int
    paragraphs: list[list[TextLine]] = field(default_factory=list)


def find_program() -> str:
    """Return the path of tesseract; raises `ParseError` if it is not installed."""
    program = shutil.which("tesseract")
    if program is None:
        raise ParseError(
            NO_TEXT,
            "The pages are pictures, and the OCR program tesseract is not installed on the server.",
            "Install tesseract-ocr on the server, or run OCR on the file and upload the searchable PDF.",
        )
    return program


def write(found: Recognised, out: BlockWriter, label: str = "") -> None:
    """Write the recognised text of a page: a block per paragraph, an anchor with a box per line."""
    for paragraph in found.paragraphs:
        text, anchors = "", list[Anchor]()
        for line in paragraph:
            start = len(text) + 1 if text else 0
            text = f"{text} {line.text}" if text else line.text
            anchors.append(anchor(start, len(text), _place(found.page, label, line.box)))
        boxes = [line.box for line in paragraph]
        whole = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
        out.add(PARAGRAPH, text, _place(found.page, label, whole), anchors=anchors)
    unsure = [line for paragraph in found.paragraphs for line in paragraph if any(one < UNSURE for one in line.sure)]
    if unsure:
        count = sum(one < UNSURE for line in unsure for one in line.sure)
        places = [_place(found.page, label, line.box) for line in unsure]
        out.warn(TEXT_RECOGNISED, f"{{count}} words were recognised with less than {UNSURE} % certainty", count, places)


def _place(page: int, label: str, box: Area) -> PageLocator:
    left, bottom, right, top = box
    return PageLocator(page=page, last_page=page, label=label, box=Box(left=left, bottom=bottom, right=right, top=top))


def recognise(picture: Image.Image, program: str, languages: str) -> list[list[TextLine]]:
    """Return the lines of a picture by paragraph; boxes are in pixels from its lower left corner."""
    found = _lines(_run(program, picture, ["-l", languages, "tsv"]), picture.size)
    sure = _sureness(found)
    if sure >= _DOUBTFUL:
        return found
    turn = _TURN.search(_run(program, picture, ["--psm", "0"], may_fail=True))
    if turn is None:
        return found
    angle = int(turn[1])
    turned = picture.rotate(-angle, expand=True)
    again = _lines(_run(program, turned, ["-l", languages, "tsv"]), turned.size)
    if _sureness(again) <= sure:
        return found
    return [[_unturned(line, angle, turned.size) for line in one] for one in again]


def _sureness(paragraphs: Sequence[Sequence[TextLine]]) -> float:
    found = [one for lines in paragraphs for line in lines for one in line.sure]
    return sum(found) / len(found) if found else 0.0


def _lines(table: str, size: tuple[int, int]) -> list[list[TextLine]]:
    """Return the lines of tesseract's table, grouped by its blocks and paragraphs."""
    paragraphs: dict[tuple[str, ...], dict[str, list[tuple[str, Area, float]]]] = {}
    for row in table.splitlines()[1:]:
        fields = row.split("\t")
        if len(fields) != _FIELDS or fields[0] != _WORD or not (text := inline(fields[11])):
            continue
        left, top, width, height = map(int, fields[6:10])
        box = (left, size[1] - top - height, left + width, size[1] - top)
        lines = paragraphs.setdefault((fields[1], fields[2], fields[3]), {})
        lines.setdefault(fields[4], []).append((text, box, float(fields[10])))
    return [[_line(words) for words in lines.values()] for lines in paragraphs.values()]


def _line(words: Sequence[tuple[str, Area, float]]) -> TextLine:
    boxes = [box for _, box, _ in words]
    around = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
    return TextLine(" ".join(text for text, _, _ in words), around, [sure for _, _, sure in words])


def _unturned(line: TextLine, angle: int, size: tuple[int, int]) -> TextLine:
    """Return a line of a picture that was rotated clockwise, with its place before the rotation."""
    return TextLine(line.text, turned_back(line.box, angle, size), line.sure)


def turned_back(box: Area, angle: int, size: tuple[float, float]) -> Area:
    """Return a box before a clockwise rotation by `angle`, after which the picture has `size`."""
    left, bottom, right, top = box
    width, height = size
    if angle == 90:
        return height - top, left, height - bottom, right
    if angle == 180:
        return width - right, height - top, width - left, height - bottom
    if angle == 270:
        return bottom, width - right, top, width - left
    return box


def scaled(line: TextLine, scale: float) -> TextLine:
    """Return a line of a picture that was scaled down by `scale`, with its place before that."""
    left, bottom, right, top = (edge / scale for edge in line.box)
    return TextLine(line.text, (left, bottom, right, top), line.sure)


def _run(program: str, picture: Image.Image, options: Sequence[str], *, may_fail: bool = False) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=1)
    # One thread each: the workers already spread files over the cores. No preexec_fn: Python between fork and exec
    # aborts in one of a hundred starts where gRPC's threads run. The pool kills the worker's process group with it.
    try:
        result = subprocess.run(
            [program, "stdin", "stdout", *options],
            input=buffer.getvalue(),
            capture_output=True,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except OSError as error:
        raise ParseError(
            NO_TEXT,
            f"The pages are pictures, and the OCR program cannot be started: {error.strerror}.",
            "Check that the service may run tesseract: a script around it cannot run in the processes that read files.",
        ) from error
    if result.returncode != 0 and not may_fail:
        reason = result.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise ParseError(
            NO_TEXT,
            f"The pages are pictures, and OCR failed: {reason[0][:200]}",
            "Check that tesseract has the languages of FOOTNOTE_INGESTION_OCR_LANGUAGES.",
        )
    return result.stdout.decode(errors="replace")
