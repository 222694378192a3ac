"""A negative amount in brackets is part of what is quoted, never a footnote mark."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.compose import draft


@pytest.mark.parametrize("amount", ["(136)", "(45)", "(1,234)", "(7)", "(12–14)", "( 136 )", "(136"])
@pytest.mark.parametrize("ending", [" million dollars in 2022.", " in 2022.", "."])
def test_the_amount_stays_in_the_answer(amount: str, ending: str) -> None:
    sentence = f"The operating result of Fjord Energy was {amount}{ending}"
    made = draft("What was the operating result of Fjord Energy?", [Source(number=1, text=sentence, score=0.9)])
    assert [text for text, _ in made.sentences] == [sentence]


def test_marks_in_square_brackets_are_left_out() -> None:
    text = "The operating result of Fjord Energy was 12 million dollars [3]."
    made = draft("What was the operating result of Fjord Energy?", [Source(number=1, text=text, score=0.9)])
    assert [text for text, _ in made.sentences] == ["The operating result of Fjord Energy was 12 million dollars."]
