"""The words that a question leans on, in brackets behind it."""

import pytest
from footnote_text.leaning import Leaning, leaning, parted


@pytest.mark.parametrize(
    "one",
    [
        Leaning("What does it weigh?", "chair Vela"), Leaning("What is E04?", "", "boiler Alto"),
        Leaning("What is E04?", "error", "boiler Alto"), Leaning("What is it?"),
    ],
)  # fmt: skip
def test_what_is_put_there_is_found_again(one: Leaning) -> None:
    assert parted(leaning(one.question, one.subject.split(), one.before.split())) == one


@pytest.mark.parametrize("text", ["(all of it)", "f(x) is what?", "What is (it?", "a) b)", "", "x (" + "y" * 400 + ")"])
def test_other_brackets_are_part_of_the_question(text: str) -> None:
    assert parted(text) == Leaning(text)
