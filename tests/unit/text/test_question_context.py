"""The words that a question leans on, in brackets behind it."""

import pytest
from footnote_text.question_context import QuestionInContext, parted, with_context


@pytest.mark.parametrize(
    "one",
    [
        QuestionInContext("What does it weigh?", "chair Vela"), QuestionInContext("What is E04?", "", "boiler Alto"),
        QuestionInContext("What is E04?", "error", "boiler Alto"), QuestionInContext("What is it?"),
    ],
)  # fmt: skip
def test_what_is_put_there_is_found_again(one: QuestionInContext) -> None:
    assert parted(with_context(one.question, one.subject.split(), one.before.split())) == one


@pytest.mark.parametrize("text", ["(all of it)", "f(x) is what?", "What is (it?", "a) b)", "", "x (" + "y" * 400 + ")"])
def test_other_brackets_are_part_of_the_question(text: str) -> None:
    assert parted(text) == QuestionInContext(text)
