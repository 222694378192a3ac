"""The files that the bench takes in, made from its texts."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable

from bench.page.texts import Texts
from docx import Document
from fpdf import FPDF
from openpyxl import Workbook

SMALL, LARGE, MIXED = 1_000, 33_000, 12_000
"""Bytes of a small and of a large file, and of the text in a mixed one."""

File = tuple[str, bytes]


def plain_files(texts: Texts, count: int, size: int, first: int) -> list[File]:
    """Return text files of a size; those of different `first` by at least `count` are different."""
    return [(f"{number}.txt", texts.text(number, size).encode()) for number in range(first, first + count)]


def mixed_files(texts: Texts, count: int, first: int) -> list[File]:
    """Return files of six formats in turn, each with 12 kB of text."""
    kinds = list(_WRITERS.items())
    made = []
    for number in range(first, first + count):
        suffix, write = kinds[number % len(kinds)]
        made.append((f"{number}.{suffix}", write(texts.text(number, MIXED).split("\n\n"))))
    return made


def _markdown(paragraphs: list[str]) -> bytes:
    parts = [f"## Part {at}\n\n{text}" for at, text in enumerate(paragraphs)]
    return "\n\n".join(parts).encode()


def _html(paragraphs: list[str]) -> bytes:
    body = "".join(f"<h2>Part {at}</h2><p>{html.escape(text)}</p>" for at, text in enumerate(paragraphs))
    return f"<!doctype html><html><head><title>Parts</title></head><body>{body}</body></html>".encode()


def _rows(paragraphs: list[str]) -> list[list[str]]:
    return [["part", "words", "text"], *([str(at), str(len(text.split())), text] for at, text in enumerate(paragraphs))]


def _csv(paragraphs: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(_rows(paragraphs))
    return out.getvalue().encode()


def _docx(paragraphs: list[str]) -> bytes:
    document = Document()
    for at, text in enumerate(paragraphs):
        document.add_heading(f"Part {at}", level=2)
        document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _xlsx(paragraphs: list[str]) -> bytes:
    book = Workbook()
    for row in _rows(paragraphs):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _pdf(paragraphs: list[str]) -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    for text in paragraphs:
        # The fonts that every reader has know Latin-1 alone.
        pdf.multi_cell(0, 6, text.encode("latin-1", "replace").decode("latin-1"), new_x="LMARGIN", new_y="NEXT")
        pdf.ln(3)
    return bytes(pdf.output())


_WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    "md": _markdown, "html": _html, "csv": _csv, "docx": _docx, "xlsx": _xlsx, "pdf": _pdf,
}  # fmt: skip
