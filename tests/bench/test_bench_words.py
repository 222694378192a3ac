"""Words of the shared PDFs against poppler's pdftotext and bare PDFium: recall and precision by file.

A word is a run of letters and digits, folded, counted as often as it stands there. Table rows repeat their headers by
design, which lowers precision; what is read from annotations and outlines does too. Files that either side refuses, or
that hold fewer than twenty words, are counted apart.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.failures import ParseError
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.shared import shared_dir

SHARED = shared_dir()
POPPLER = shutil.which("pdftotext")
pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(900),
    pytest.mark.skipif(SHARED is None or POPPLER is None, reason="the shared files or pdftotext are not here"),
]
LEAST = 20
_SECONDS = 60
_MOST_CHARACTERS = 8_000_000


def words(text: str) -> Counter[str]:
    """Words of a text; a word that is parted at a line's end counts as one."""
    whole = unicodedata.normalize("NFKC", re.sub("(?:-|\ufffe|\u00ad)\\s*\n\\s*", "", text.replace("\r", "")))
    return Counter(re.findall(r"[^\W_]+", whole.casefold()))


def ours(path: Path) -> str | None:
    blocks: list[Block] = []
    try:
        PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    except ParseError:
        return None
    return "\n".join(block.text for block in blocks)


def popplers(path: Path) -> str | None:
    assert POPPLER is not None
    try:
        made = subprocess.run([POPPLER, str(path), "-"], capture_output=True, timeout=_SECONDS, check=True)
    except subprocess.SubprocessError:
        return None
    return made.stdout[:_MOST_CHARACTERS].decode("utf-8", "replace")


def pdfiums(path: Path) -> str | None:
    try:
        document = pdfium.PdfDocument(path)
        try:
            pages = [page.get_textpage().get_text_range() for page in document]
        finally:
            document.close()
    except pdfium.PdfiumError:
        return None
    return "\n".join(pages)


@pytest.mark.parametrize("other", [popplers, pdfiums])
def test_words(other: Callable[[Path], str | None]) -> None:
    assert SHARED is not None
    found: dict[str, list[tuple[float, str]]] = {"recall": [], "precision": []}
    apart: list[str] = []
    for path in sorted((SHARED / "data/files/pdf").glob("*.pdf")):
        theirs, mine = other(path), ours(path)
        wanted = words(theirs or "")
        if mine is None or wanted.total() < LEAST:
            apart.append(f"{path.name} ({'refused' if mine is None else 'read'}; theirs {wanted.total()})")
            continue
        got = words(mine)
        both = (wanted & got).total()
        found["recall"].append((both / wanted.total(), path.name))
        found["precision"].append((both / max(got.total(), 1), path.name))
    for measure, scores in found.items():
        print(f"{measure}, median of {len(scores)}: {statistics.median(score for score, _ in scores):.4f}; worst five:")
        print("  ", ", ".join(f"{name} {score:.3f}" for score, name in sorted(scores)[:5]))
    print(f"   apart: {len(apart)}: {apart}")
    assert statistics.median(score for score, _ in found["recall"]) >= 0.98
