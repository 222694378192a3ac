"""Text of scanned pages, read by the tesseract program where the deployment has it and asks for it."""

from __future__ import annotations

import ctypes
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
from footnote.types.v1.locator_pb2 import PageLocator

from footnote_ingestion.parsers.base import PARAGRAPH, BlockWriter
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import NO_TEXT, ParseError

_DOTS_PER_INCH = 200
_MOST_PIXELS = 4_000  # along the longer side: a poster must not take a gigabyte
_PR_SET_PDEATHSIG = 1
_BREAK = re.compile(r"\n\s*\n")


def recognise(path: Path, out: BlockWriter, languages: str) -> None:
    """Write the text that is recognised on each page of a PDF, a paragraph a block; `languages` as in "eng+fra".

    The page's share of the time limit is not kept here: the worker that runs this is ended as a whole.
    """
    program = shutil.which("tesseract")
    if program is None:
        raise ParseError(
            NO_TEXT,
            "The pages are pictures, and the OCR program tesseract is not installed on the server.",
            "Install tesseract-ocr on the server, or run OCR on the file and upload the searchable PDF.",
        )
    document = pdfium.PdfDocument(path)
    try:
        for number, page in enumerate(document, 1):
            for paragraph in _BREAK.split(_read(program, _picture(page), languages)):
                if text := inline(paragraph):
                    out.add(PARAGRAPH, text, PageLocator(page=number))
            page.close()
            out.pages(number, len(document))
    finally:
        document.close()


def _picture(page: pdfium.PdfPage) -> bytes:
    """Return a page as PNG in shades of grey."""
    scale = min(_DOTS_PER_INCH / 72, _MOST_PIXELS / max(1.0, *page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True)
    buffer = io.BytesIO()
    bitmap.to_pil().save(buffer, format="PNG")
    bitmap.close()
    return buffer.getvalue()


def _end_with_us() -> None:
    """Have the kernel end the program that begins here when this worker is ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _read(program: str, picture: bytes, languages: str) -> str:
    # One thread each: the workers already spread files over the cores.
    result = subprocess.run(
        [program, "stdin", "stdout", "-l", languages],
        input=picture,
        capture_output=True,
        check=False,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        preexec_fn=_end_with_us,
    )
    if result.returncode != 0:
        reason = result.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise ParseError(
            NO_TEXT,
            f"The pages are pictures, and OCR failed: {reason[0][:200]}",
            "Check that tesseract has the languages of FOOTNOTE_INGESTION_OCR_LANGUAGES.",
        )
    return result.stdout.decode(errors="replace")
