"""What the built-in answerer quotes is whole, and no heading."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.compose import draft

MANUAL = (
    "Display zurücksetzen\nDas Display geht nach fünf Minuten aus.\nAuf Werkseinstellungen zurücksetzen\n"
    "Halten Sie Plus und Minus acht Sekunden lang gedrückt."
)


def quoted(question: str, text: str) -> str:
    return " ".join(sentence for sentence, _ in draft(question, [Source(number=1, text=text, score=0.9)]).sentences)


def test_a_heading_is_no_answer() -> None:
    made = quoted("Wie kann man das Display auf Werkseinstellungen zurücksetzen?", MANUAL)
    assert "Auf Werkseinstellungen zurücksetzen" not in made


@pytest.mark.parametrize("words", [40, 200])
def test_a_sentence_is_quoted_whole(words: int) -> None:
    sentence = f"The deposit for the workshop covers {'racks and ' * words}benches up to 900 euros."
    assert quoted("What does the deposit for the workshop cover?", sentence) == sentence
