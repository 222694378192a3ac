"""Nothing is lost by cleaning: the text of real PDFs against PDFium's raw text, and known evidence on its page."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from footnote.types.v1.document_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf.margins import without_running_lines
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.ingestion_client import assert_spans_exact
from support.shared import shared_dir

SHARED = shared_dir()
pytestmark = pytest.mark.skipif(SHARED is None, reason="the shared files are not beside the checkout")
_WORD = re.compile(r"\w+")


def parse(path: Path) -> list[Block]:
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return blocks


def raw_text(path: Path) -> str:
    """PDFium's text with words cut at line ends made whole, in compatibility form."""
    document = pdfium.PdfDocument(path)
    try:
        text = "\n".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()
    return normal(text)


def normal(text: str) -> str:
    return unicodedata.normalize("NFKC", re.sub("[\ufffe\x02](\r\n)?", "", text))


def visible(text: str) -> int:
    return sum(1 for char in text if not char.isspace() and unicodedata.category(char)[0] != "C")


def dropped_on_purpose(path: Path) -> str:
    """The running heads and page numbers that the parser leaves out."""
    from footnote_ingestion.parsers.pdf.parser import _open, _read

    document = _open(path)
    try:
        pages, _, _ = _read(document, BlockWriter(lambda _: None, Limits()))
    finally:
        document.close()
    kept = {id(line) for page in without_running_lines(pages) for line in page}
    lines = [(page.number, line.text) for page in pages for line in page.lines if id(line) not in kept]
    # What is dropped must itself recur, or be a page's number: nothing that stands there only once.
    shapes = Counter(re.sub(r"\d+", "#", text) for _, text in lines)
    for _, text in lines:
        shape = re.sub(r"\d+", "#", text)
        assert shapes[shape] >= 2 or text.isdecimal(), text
    return normal("\n".join(text for _, text in lines))


def text_pdfs() -> list[Path]:
    if SHARED is None:
        return []
    folder = SHARED / "data/files/pdf"
    rows = [line.split("\t") for line in (folder / "MANIFEST.tsv").read_text().splitlines()[1:]]
    return [folder / row[0] for row in rows if row[12] == "text"] + sorted((SHARED / "data/aragog/pdfs").glob("*.pdf"))


@pytest.mark.parametrize("path", text_pdfs(), ids=lambda path: path.name)
def test_text_is_within_two_percent(path: Path) -> None:
    raw, dropped, blocks = raw_text(path), dropped_on_purpose(path), parse(path)
    assert_spans_exact(blocks)
    ours = normal("\n".join(block.text for block in blocks))
    chars = visible(raw) - visible(dropped)
    words = len(_WORD.findall(raw)) - len(_WORD.findall(dropped))
    assert abs(visible(ours) - chars) <= 0.02 * chars
    assert abs(len(_WORD.findall(ours)) - words) <= 0.02 * words
    # And they are the same words, not only as many.
    missing = Counter(_WORD.findall(raw)) - Counter(_WORD.findall(dropped)) - Counter(_WORD.findall(ours))
    assert missing.total() <= max(0.02 * words, 2), missing.most_common(20)


@pytest.mark.slow
def test_evidence_is_found_on_its_page() -> None:
    assert SHARED is not None
    folder = SHARED / "data/financebench-dev"
    parsed: dict[str, list[Block]] = {}
    found: list[bool] = []
    for line in (folder / "questions.jsonl").read_text().splitlines():
        for evidence in json.loads(line)["evidence"]:
            name = evidence["document"]
            if name not in parsed:
                parsed[name] = parse(folder / "pdfs" / name)
            page = evidence["page"] + 1  # theirs count from 0
            texts = [
                block.text
                for block in parsed[name]
                if block.locator.page.page <= page <= max(block.locator.page.last_page, block.locator.page.page)
            ]
            found.append(_holds(" ".join(texts), evidence["text"]))
    assert len(found) >= 30
    assert sum(found) >= 0.95 * len(found), f"{sum(found)} of {len(found)}"


def _holds(text: str, evidence: str) -> bool:
    """At least 80 % of the evidence's 15-character pieces are in the text, letters and digits alone compared."""
    text, evidence = (re.sub(r"[\W_]+", "", one).casefold() for one in (text, evidence))
    pieces = [evidence[start : start + 15] for start in range(0, max(len(evidence) - 14, 1), 15)]
    return sum(piece in text for piece in pieces) >= 0.8 * len(pieces)
