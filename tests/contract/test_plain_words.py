"""The prose of the code keeps to standard words, and its files to a readable length."""

from pathlib import Path

import pytest
from support import code, prose

MOST_OWN = 1.0
"""Uses per 10,000 words of each group of our own words."""
LEAST_STANDARD = 12.0
"""Uses per 10,000 words of standard terms; well-kept projects have 12 to 71."""
MOST_LINES = 400


def rates() -> dict[str, float]:
    sentences = prose.everything()
    return {name: prose.rate(sentences, pattern) for name, pattern in prose.WORDS.items()}


@pytest.mark.slow
def test_comments_and_docstrings_use_standard_words() -> None:
    found = rates()
    standard = found.pop(prose.STANDARD)
    assert {name: rate for name, rate in found.items() if rate > MOST_OWN} == {}
    assert standard >= LEAST_STANDARD


def test_each_use_in_a_comment_or_docstring_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""Tells nobody."""\n\nVALUE = "told"  # it was told\n"""Cached, and told twice: told."""\n')
    sentences = list(prose.prose(file))
    counts = {name: len(prose.found(sentences, pattern)) for name, pattern in prose.WORDS.items()}
    assert list(counts.values()) == [4, 1, 1]
    assert prose.words(sentences) == 10
    assert {one.line for one in sentences} == {1, 3, 4}


def test_no_file_of_the_product_is_too_long() -> None:
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in code.ours()}
    assert {str(file): lines for file, lines in lengths.items() if lines > MOST_LINES} == {}
