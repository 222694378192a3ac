"""The table of what is kept of each format names tests that are there, for every format that is read."""

from __future__ import annotations

import re
from pathlib import Path

import footnote_ingestion
from footnote_ingestion.parsers import _PARSERS

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
README = Path(footnote_ingestion.__file__).parents[2] / "README.md"
CELL = re.compile(r"`([\w/]+(?:\.py|/))`")
# Said for several: what holds of mails, of Excel's sheets and of OpenDocument texts.
MEANT = {"mail": ("eml", "msg"), "tiff": ("tif",)}
NOT_NAMED = {"tsv"}
"""Read by the code of csv."""


def rows() -> list[list[str]]:
    table = README.read_text(encoding="utf-8").partition("## What is kept of each format")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(place: str) -> bool:
    """Whether a file or folder of tests is there, and holds tests."""
    for folder in (HERE / "parsers", ROOT / "tests"):
        path = folder / place
        files = [path] if path.is_file() else list(path.glob("test_*.py"))
        if any(re.search(r"^(?:async )?def test_", file.read_text(encoding="utf-8"), re.MULTILINE) for file in files):
            return True
    return False


def test_tests_that_the_table_names_are_there() -> None:
    missing = [place for row in rows() for place in CELL.findall(row[3]) if not names(place)]
    assert not missing


def test_what_is_said_to_be_kept_has_a_test_or_says_that_it_has_none() -> None:
    untested = [
        row
        for row in rows()
        if not CELL.search(row[3]) and not row[2].startswith("not there") and "without a test" not in row[2]
    ]
    assert not untested


def test_every_format_that_is_read_stands_in_the_table() -> None:
    said = {part for row in rows() for name in row[0].split(", ") for part in MEANT.get(name, (name,))}
    assert {name for name in _PARSERS if name not in said} == NOT_NAMED


def test_a_test_that_is_nowhere_is_found_out() -> None:
    assert not names("test_of_nothing.py")
