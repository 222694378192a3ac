"""What the built-in answerer quotes is whole, and no heading."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote.types.v1.locator_pb2 import LineLocator, Locator, TextSpan
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


def test_a_sentence_ends_where_its_block_ends() -> None:
    lines = ["Ladders", "3 metres is the longest that we lend.", "Wheelbarrows"]
    source = Source(number=1, text="\n".join(lines), score=0.9)
    begins = 0
    for number, line in enumerate(lines, 1):
        place = Locator(lines=LineLocator(first_line=number, last_line=number))
        source.anchors.add(span=TextSpan(start=begins, end=begins + len(line)), locator=place)
        begins += len(line) + 1
    made = draft("How many metres is the longest ladder that we lend?", [source])
    assert [sentence for sentence, _ in made.sentences] == [lines[1]]
