"""Questions in a model's text: its lines, without numbers, bullets, quotes and Markdown."""

import pytest
from footnote_edge.documents.starters import questions


@pytest.mark.parametrize(("line", "expected"), [
    ("1. How often?", "How often?"),
    ("2) **How often?**", "How often?"),
    ("- \"How often?\"", "How often?"),
    ("* `export`: how often?", "export: how often?"),
    ("## How often?", "How often?"),
    ("3、多久一次？", "多久一次？"),
    ("١. كم مرة؟", "كم مرة؟"),
    ("« Combien ? »", "Combien ?"),
    ("2024 sales: how high?", "2024 sales: how high?"),
    ("3.5 mm: which screw?", "3.5 mm: which screw?"),
    ("401(k): who pays?", "401(k): who pays?"),
])  # fmt: skip
def test_a_line_is_a_question_without_its_marks(line: str, expected: str) -> None:
    assert questions(f"Here they are:\n\n{line}\n") == (expected,)


@pytest.mark.parametrize("said", ["", "I would rather not.", "```json\n{}\n```", f"{'long ' * 40}?", "?", "1. ?"])
def test_there_are_none_in_a_text_without_questions(said: str) -> None:
    assert questions(said) == ()


def test_at_most_four_are_kept_and_none_twice() -> None:
    assert questions("A?\nB?\nA?\nC?\nD?\nE?") == ("A?", "B?", "C?", "D?")
