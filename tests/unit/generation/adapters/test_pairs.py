"""Two things compared whose rows stand in one table, and sentences that tell nothing."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive import pairs
from footnote_generation.extractive.compose import draft
from footnote_generation.extractive.question import read
from support.sources_with_tables import with_tables

LINES = (
    "Contract: Trainee; Notice period: 15 days",
    "Contract: Permanent staff; Notice period: 30 days",
    "Contract: Senior manager; Notice period: 60 days",
)


def table() -> Source:
    return with_tables(Source(number=1, title="Contracts", text="\n".join(LINES), score=0.5))


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Which is longer, the spring break or the autumn break?", ("spring break", "autumn break")),
        ("What is the difference in price between Basic and Extra storage?", ("Basic", "Extra")),
        ("Was ist höher: der Betrag für die Fähre oder der für den Zug?", ("Fähre", "Zug")),
        ("¿Qué diferencia hay entre la cuota mensual y la anual?", ("mensual", "anual")),
        ("Quelle est la différence entre le tarif d'un adulte et celui d'une famille ?", ("adulte", "famille")),
        ("Compare the notice period of trainees.", None),
        ("Compare the fees of trainees and, if any, of guests", None),
    ],
)
def test_as_many_words_on_either_side_are_compared(question: str, things: tuple[str, str] | None) -> None:
    found = pairs.joined(read(question))
    assert things == (found and tuple(" ".join(word.text for word in thing) for thing in found))


def test_the_rows_of_both_things_are_the_answer() -> None:
    made = draft("Compare the notice periods of trainees and senior managers.", [table()])
    assert [text for text, _ in made.sentences] == [LINES[0], LINES[2]]
    assert made.support == 1


@pytest.mark.parametrize(
    "question",
    [
        "Compare the salaries of trainees and senior managers.",  # no row says salary
        "Compare the notice periods of trainees and consultants.",  # one has no row
    ],
)
def test_what_one_of_the_rows_lacks_is_not_a_pair(question: str) -> None:
    assert draft(question, [table()]).support < 1


def test_words_of_the_question_alone_tell_nothing() -> None:
    cover = Source(number=1, filename="rules.docx", text="University of Bergen", score=0.9)
    assert not draft("What is the name of the rector of the University of Bergen?", [cover]).sentences
    told = Source(number=1, filename="rules.docx", text="Dogs are allowed in the library.", score=0.9)
    assert draft("Are dogs allowed in the library?", [told]).sentences


def test_the_adjective_of_a_degree_need_not_stand_in_an_answer() -> None:
    assert [word.text for word in read("Wie hoch ist die Kaution?").about] == ["Kaution"]
    assert [word.text for word in read("Hoe lang duurt het verlof?").about] == ["duurt", "verlof"]
    assert "Menschen" in [word.text for word in read("Wie Menschen leben").about]


def test_marks_of_notes_are_no_part_of_a_pair() -> None:
    lines = [LINES[0].replace("Trainee", "Trainee [2]"), *LINES[1:]]
    source = with_tables(Source(number=1, title="Contracts", text="\n".join(lines), score=0.5))
    made = draft("Compare the notice periods of trainees and senior managers.", [source])
    assert len(made.sentences) == 2
    assert not any("[2]" in text for text, _ in made.sentences)
