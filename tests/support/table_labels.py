"""Scores what was read of a PDF's tables against tables that a person has labelled, cell by cell.

Labels hold no text of the files: names are given as hashes of their letters and digits, in every wording that is right
("2023", or "Year ended June 30, 2023"), values as the figures that they are, others hashed too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_TABLE_ROW, Block

_LONGEST_VALUE = 24
LABELS = Path(__file__).with_name("table_labels.json")


def hashed(text: str) -> str:
    """The letters and digits of a text, hashed."""
    kept = "".join(char for char in text.casefold() if char.isalnum())
    return hashlib.sha256(kept.encode()).hexdigest()[:12]


def tables(name: str) -> list[dict[str, Any]]:
    """The labelled tables of a set: "seen" while the reading was written; the others were opened after it."""
    return [table for table in json.loads(LABELS.read_text()) if table["set"] == name]


def _plain(value: str) -> str:
    kept = "".join(value.replace("$", "").split()).replace("−", "-").replace("–", "-").replace("—", "-")
    is_value = len(kept) <= _LONGEST_VALUE and any(char.isdigit() for char in kept)
    return kept if is_value or kept in ("-", "-/-") else f"#{hashed(kept)}"


def _names(text: str) -> set[str]:
    """A row's possible names: with and without its section."""
    return {hashed(text), hashed(text.rpartition(" › ")[2])}


def _starts(text: str) -> list[int]:
    """Where a name may begin after its column's header; it may contain a colon."""
    return [0, *(at + 2 for at in range(len(text)) if text.startswith(": ", at))]


def _rows(blocks: Iterable[Block], page: int) -> list[tuple[set[str], set[tuple[str, str]]]]:
    """For each row its possible names, and its cells: hashed header and value."""
    found = []
    for block in blocks:
        place = block.locator.page
        if block.kind != BLOCK_KIND_TABLE_ROW or not place.page <= page <= max(place.page, place.last_page):
            continue
        parts = [part.rpartition(": ")[::2] for part in block.text.split("; ")]
        values = [value for _, value in parts]
        first = block.text.partition("; ")[0]
        names = {name for at in _starts(first) for name in _names(first[at:])}
        for count in range(1, min(len(values), 3) + 1):
            names |= _names(" ".join(values[:count]))
        found.append((names, {(hashed(header), _plain(value)) for header, value in parts}))
    return found


def score(blocks: Iterable[Block], table: dict[str, Any]) -> tuple[int, int, list[str]]:
    """How many cells have their row's name and column's header, of how many; and the first wrong ones."""
    rows = _rows(blocks, table["page"])
    right = total = 0
    wrong: list[str] = []
    for number, row in enumerate(table["rows"]):
        names = set(row["label"])
        candidates = [cells for found, cells in rows if found & names]
        for headers, value in zip(table["columns"], row["values"], strict=True):
            if not value:
                continue
            total += 1
            wanted = value if value.startswith("#") else _plain(value)
            if any((header, wanted) in cells for cells in candidates for header in headers):
                right += 1
            else:
                wrong.append(f"row {number}: {value}" + ("" if candidates else " (no such row)"))
    return right, total, wrong
