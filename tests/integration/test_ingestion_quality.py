"""Nothing is lost by cleaning: the text of real PDFs against PDFium's raw text, and known evidence on its page."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.ingestion_client import assert_spans_exact
from support.shared import NO_SHARED, shared_dir

SHARED = shared_dir()
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        SHARED is None,
        reason=NO_SHARED,
    ),
]
_WORD = re.compile(r"\w+")
_RAISED = re.compile(r"\^(?=[-−–+]?\d)")
_NAMELESS = r"[\x0b\x0c\x0e-\x1f]"


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


def with_ligatures(raw: str, words: Collection[str]) -> str:
    """Put the words that we read in the place of those in which PDFium gives a control character for a ligature.

    Fonts of TeX name no characters for them; any two or three letters that begin with f will do.
    """

    def read(match: re.Match[str]) -> str:
        pattern = re.compile("f[fil]{1,2}".join(map(re.escape, re.split(_NAMELESS, match[0]))))
        return next((word for word in words if pattern.fullmatch(word)), match[0])

    return re.sub(rf"[^\W\d_]+(?:{_NAMELESS}[^\W\d_]+)+", read, raw)


def visible(text: str) -> int:
    return sum(1 for char in text if not char.isspace() and unicodedata.category(char)[0] != "C")


def text_pdfs() -> list[Path]:
    if SHARED is None:
        return []
    folder = SHARED / "data/files/pdf"
    rows = [line.split("\t") for line in (folder / "MANIFEST.tsv").read_text().splitlines()[1:]]
    return [folder / row[0] for row in rows if row[12] == "text"] + sorted((SHARED / "data/aragog/pdfs").glob("*.pdf"))


def as_printed(blocks: Sequence[Block]) -> str:
    """Return the text with the headers of each table once, where rows repeat them before each of their values."""
    lines: list[str] = []
    heads: dict[int, set[str]] = {}
    for block in blocks:
        if not block.table:
            lines.append(block.text)
            continue
        values, labels, at = [], [], 0
        for span in sorted((anchor.span for anchor in block.anchors), key=lambda one: one.start):
            labels.append(block.text[at : span.start])
            values.append(block.text[span.start : span.end])
            at = span.end
        known = heads.setdefault(block.table, set())
        pieces = [piece.strip(" :;") for label in [*labels, block.text[at:]] for piece in label.split(" › ")]
        fresh = [piece for piece in dict.fromkeys(pieces) if piece and piece not in known]
        known.update(fresh)
        lines.append(" ".join([*fresh, *values]))
    return "\n".join(lines)


@pytest.mark.parametrize("path", text_pdfs(), ids=lambda path: path.name)
def test_text_is_within_two_percent(path: Path) -> None:
    raw, blocks = raw_text(path), parse(path)
    assert_spans_exact(blocks)
    ours = normal(as_printed([block for block in blocks if block.locator.page.page]))  # what is attached is on no page
    # What parts a raised figure from what stands before it is not printed.
    ours, raw = _RAISED.sub("", ours), _RAISED.sub("", with_ligatures(raw, set(_WORD.findall(ours))))
    chars = visible(raw)
    words = len(_WORD.findall(raw))
    assert abs(visible(ours) - chars) <= 0.02 * chars
    assert abs(len(_WORD.findall(ours)) - words) <= 0.02 * words
    # And they are the same words, not only as many.
    missing = Counter(_WORD.findall(raw)) - Counter(_WORD.findall(ours))
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
            there = [
                block
                for block in parsed[name]
                if block.locator.page.page <= page <= max(block.locator.page.last_page, block.locator.page.page)
            ]
            found.append(_holds(as_printed(there), evidence["text"]))
    assert len(found) >= 30
    assert sum(found) >= 0.95 * len(found), f"{sum(found)} of {len(found)}"


def _holds(text: str, evidence: str) -> bool:
    """At least 80 % of the evidence's 15-character pieces are in the text, letters and digits alone compared."""
    text, evidence = (re.sub(r"[\W_]+", "", one).casefold() for one in (text, evidence))
    pieces = [evidence[start : start + 15] for start in range(0, max(len(evidence) - 14, 1), 15)]
    return sum(piece in text for piece in pieces) >= 0.8 * len(pieces)
