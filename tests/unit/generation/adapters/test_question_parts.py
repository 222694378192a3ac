"""Questions that ask two things, and what a question names that a sentence or row must be of."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive import question_parts
from footnote_generation.extractive.compose import draft
from footnote_generation.extractive.missing_names import named_marks
from footnote_generation.extractive.provider import Extractive
from footnote_generation.extractive.question import read
from footnote_generation.ports import ModelRequest, Words


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (
            "How long is the lease and how much is the deposit?",
            ["How long is the lease", "and how much is the deposit?"],
        ),
        ("Wer leitet das Lager, und wann schließt es?", ["Wer leitet das Lager", "und wann schließt es?"]),
        ("保修期多长，价格是多少？", ["保修期多长", "价格是多少？"]),
        ("According to the lease, what is the deposit?", ["According to the lease, what is the deposit?"]),
        ("Compare the weight of the Alto 4 and the Alto 4X", ["Alto 4", "Alto 4X"]),
        ("Compare the rent in Ghent and in Turin", ["Compare the rent in Ghent and in Turin"]),
        ("¿Cuántas camas tiene y cuánto cuesta una noche?", ["¿Cuántas camas tiene", "y cuánto cuesta una noche?"]),
        ("¿Cuánto cuesta y qué incluye?", ["¿Cuánto cuesta", "y qué incluye?"]),
        ("¿Cuánto cuesta el seguro, que incluye robo?", ["¿Cuánto cuesta el seguro, que incluye robo?"]),
        ("¿Cuándo se sabe si hay que pagar?", ["¿Cuándo se sabe si hay que pagar?"]),
        ("Quanto costa il corso, che dura un anno?", ["Quanto costa il corso, che dura un anno?"]),
        ("Comment résilier le bail, ou le suspendre ?", ["Comment résilier le bail, ou le suspendre ?"]),
    ],
)
def test_a_question_is_cut_where_a_second_one_begins(question: str, asked: list[str]) -> None:
    assert [name for name, _ in question_parts.of(question)] == asked


def test_a_part_of_a_comparison_names_one_thing() -> None:
    first, second = question_parts.of("Compare the weight of the Alto 4 and the Alto 4X")
    assert "4X" not in first[1]
    assert first[1].count("4") == second[1].count("4X") == 1


def test_what_has_a_digit_names_a_type_or_a_year_and_an_amount_does_not() -> None:
    assert named_marks(read("What does the Alto 4 cost with the R-20 in 2024?")) == {"4", "20", "2024"}
    assert not named_marks(read("What may a rider of 75 kg pay for 2,500 packs?"))


BOILERS = Source(
    number=1,
    filename="boilers.md",
    text="The Alto 4 weighs 31 kg. The Alto 4X weighs 27 kg. The warranty of the Alto 4 is five years.",
    score=0.8,
)


async def said(question: str, *sources: Source, locale: str = "en") -> str:
    request = ModelRequest(messages=[], question=question, sources=sources or [BOILERS], locale=locale)
    return "".join([event.text async for event in Extractive(0.5).stream(request) if isinstance(event, Words)])


async def test_both_halves_are_answered_or_said_to_be_without_an_answer() -> None:
    both = await said("How much does the Alto 4 weigh and how long is the warranty of the Alto 4?")
    assert both.split("\n\n") == ["The Alto 4 weighs 31 kg [1].", "The warranty of the Alto 4 is five years [1]."]
    half = await said("How much does the Alto 4 weigh and who designed the burner?")
    weight, missing = half.split("\n\n")
    assert weight == "The Alto 4 weighs 31 kg [1]."
    assert missing == "I found no passage that answers this part of the question: and who designed the burner?"


async def test_both_things_compared_are_quoted_once_each() -> None:
    answer = await said("Compare the weight of the Alto 4 and the Alto 4X")
    assert answer.count("31 kg") == answer.count("27 kg") == 1


PRICES = """Model: Alto 4; Price › 2023: 410; Price › 2024: 430
Model: Alto 4X; Price › 2023: 510; Price › 2024:"""


def priced() -> Source:
    """A table of two models and two years whose last cell is empty."""
    source = Source(number=1, filename="prices.csv", text=PRICES, score=0.8)
    table = source.tables.add(number=1)
    for headers in (["Model"], ["Price", "2023"], ["Price", "2024"]):
        table.columns.add(headers=headers, names_rows=headers == ["Model"])
    for row, (column, value, start) in enumerate(
        [(1, "Alto 4", 7), (2, "410", 29), (3, "430", 48), (1, "Alto 4X", 59), (2, "510", 82)]
    ):
        anchor = source.anchors.add(cell={"table": 0, "row": 2 + (row > 2), "column": column})
        anchor.span.start, anchor.span.end = start, start + len(value)
        assert PRICES[start : start + len(value)] == value
    return source


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("What is the price of the Alto 4 in 2024?", True),
        ("What is the price of the Alto 4X in 2023?", True),
        ("What is the price of the Alto 4 in 2022?", False),
        ("What is the price of the Alto 7 in 2024?", False),
        ("What is the price of the Alto 4X in 2024?", False),
        ("What is the price of the Borealis in 2024?", False),
    ],
)
def test_a_row_of_another_type_year_or_name_or_with_an_empty_cell_is_no_answer(question: str, answered: bool) -> None:
    assert bool(draft(question, [priced()]).sentences) == answered


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many pets are allowed?", "No pets are allowed."),
        ("Who pays the heating costs?", "You pay the heating costs."),
        ("Where can I park the car?", "You can park the car here."),
        ("Qui paie les charges ?", "Vous payez les charges."),
    ],
)
async def test_a_word_of_grammar_may_be_the_answer(question: str, text: str) -> None:
    source = Source(number=1, filename="rules.md", text=f"{text} The caretaker lives on the ground floor.", score=0.8)
    assert [one for one, _ in draft(question, [source]).sentences][:1] == [text]


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Wie hoch ist die Kaution?", {"Kaution"}),
        ("Wie lange dauert die Lieferung?", {"dauert", "Lieferung"}),
        ("Wie funktioniert die Heizung?", {"funktioniert", "Heizung"}),
        ("Wie entsteht Rost?", {"entsteht", "Rost"}),
        ("Hoe werkt de verwarming?", {"werkt", "verwarming"}),
    ],
)
def test_an_adjective_of_degree_is_no_subject_and_a_verb_is(question: str, about: set[str]) -> None:
    assert {word.text for word in read(question).about} == about
