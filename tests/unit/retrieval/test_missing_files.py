# ruff: noqa: E501 - tables of cases
"""Files that a question names and that are not there."""

import pytest
from footnote_ingestion.parsers import _SUFFIXES
from footnote_retrieval.query.files import EXTENSIONS, FileNames, missing_files

NAMES = FileNames({"1": "Lease 2024.pdf", "2": "stock_list.xlsx", "3": "notes.fountain"}, complete=True)


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("What does old.pdf say?", ["old.pdf"]), ("What does OLD.PDF say, and old.pdf?", ["OLD.PDF", "old.pdf"]),
        ("What does Lease 2024.pdf say?", []), ("What is in stock_list.xlsx?", []), ("In scene.fountain?", ["scene.fountain"]),
        ("Is node.js fast, at a.b@old.pdf or https://x.org/old.pdf?", []), ("¿Qué dice «viejo.docx»?", ["viejo.docx"]),
        ("版本v2.pdf里写了什么", []), ("It ends.Then goes on", []),
    ],
)  # fmt: skip
def test_only_what_is_written_as_a_file_is_missing(query: str, missing: list[str]) -> None:
    assert missing_files(query, NAMES) == missing
    assert missing_files(query, FileNames({"1": "a.pdf"})) == []  # not all names are known


def test_the_extensions_are_those_that_ingestion_reads() -> None:
    assert {suffix.lstrip(".") for suffix in _SUFFIXES} - {"code"} == EXTENSIONS
