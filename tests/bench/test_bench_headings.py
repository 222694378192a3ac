"""Headings found in papers and filings against those labelled by reading the pages: right, false, missed.

The titles in headings.json were written down from the lines of the files: five files while the rules were made, five
set aside and scored once at the end. A heading is right where its words are those of a label, each label once; layout
signs do not count. Captions, run-in titles, authors and heads of tables are no headings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block
from footnote_ingestion.parsers.base import HEADING, BlockWriter, Limits
from footnote_ingestion.parsers.pdf.parser import PdfParser
from support.shared import shared_dir

SHARED = shared_dir()
pytestmark = [pytest.mark.bench, pytest.mark.skipif(SHARED is None, reason="the shared files are not here")]
LABELS: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parent / "headings.json").read_text())


def found(path: Path) -> list[str]:
    blocks: list[Block] = []
    PdfParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    return [block.text for block in blocks if block.kind == HEADING]


def folded(titles: list[str]) -> Counter[str]:
    return Counter(re.sub(r"[\W_]+", "", title).casefold() for title in titles)


@pytest.mark.parametrize("part", LABELS)
def test_headings(part: str) -> None:
    assert SHARED is not None
    right = given = wanted = 0
    for name, titles in LABELS[part].items():
        answer = found(SHARED / "data" / name)
        hits = (folded(answer) & folded(titles)).total()
        print(f"{name:60} right {hits:3} of {len(answer):3} found, of {len(titles):3} labelled")
        over = folded(answer) - folded(titles)
        print("   false:", [one for one in answer if folded([one]).keys() <= over.keys()][:15])
        under = folded(titles) - folded(answer)
        print("   missed:", [one for one in titles if folded([one]).keys() <= under.keys()][:15])
        right, given, wanted = right + hits, given + len(answer), wanted + len(titles)
    print(f"{part}: precision {right / given:.2f} of {given}, recall {right / wanted:.2f} of {wanted}")
