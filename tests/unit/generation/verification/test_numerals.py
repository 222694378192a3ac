"""A number with a full stop at the start of a line: the mark of a list, the day of a date, or a rank."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.extractive.compose import draft
from footnote_generation.language.quantities import find
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

REMINDERS = "1. Mahnung: 5 EUR\n2. Mahnung: 10 EUR\n3. Mahnung: 40 EUR"
RATES = "1. Rate: 400 EUR am 1. Juli\n2. Rate: 300 EUR am 1. Oktober"
SCHOOL = "1. Juni: Beginn der Schule.\n15. Juli: Ende der Schule."
STEPS = "3. Close the main valve.\n4. Open the small door.\n5. Call the control room."
DEADLINE = "Allgemeines zum Antrag.\n\n12. März 2024 ist der Stichtag für alle.\n\nDer Antrag ist schriftlich."
STORE = "Storage:\n\n- 18 °C is the lowest temperature of the store.\n\nOther things are here."


def supported(source: str, answer: str) -> list[bool]:
    """Return whether each statement of an answer, with the footnote [1], is supported."""
    markers = [PlacedMarker(at, at + 3, 1) for at in range(len(answer)) if answer.startswith("[1]", at)]
    checker = Checker({1: types.Source(number=1, filename="a.md", text=source)}, "en")
    return [one.claim.support == types.VERDICT_SUPPORTED for one in checker.check_by_rules(segment(answer, markers))]


@pytest.mark.parametrize(
    ("source", "stated", "right"),
    [
        ("12. März 2024 ist der Stichtag für alle.", "15. März 2024 ist der Stichtag für alle.", False),
        ("12. März 2024 ist der Stichtag für alle.", "12. März 2024 ist der Stichtag für alle.", True),
        ("12. 3. 2024 ist der Stichtag für alle.", "15. 3. 2024 ist der Stichtag für alle.", False),
        (SCHOOL, "20. Juli: Ende der Schule.", False),
        (SCHOOL, "15. Juli: Ende der Schule.", True),
        (SCHOOL, "- 15. Juli: Ende der Schule.", True),
        ("- 15. Juli: Ende der Schule.", "15. Juli: Ende der Schule.", True),
        (REMINDERS, "1. Mahnung: 40 EUR", False),
        (REMINDERS, "- 1. Mahnung: 40 EUR", False),
        (REMINDERS, "3. Mahnung: 40 EUR", True),
        (REMINDERS, "- 3. Mahnung: 40 EUR", True),
        (RATES, "2. Rate: 400 EUR am 1. Juli", False),
        (RATES, "1. Rate: 400 EUR am 1. Juli", True),
        (STEPS, "1. Close the main valve.", True),
        (STEPS, "4. Open the small door.", True),
        (STEPS, "- Call the control room.", True),
        ("1. Click the green button.\n2. Click the red button.", "1. Click the red button.", True),
        ("- 3 eggs and some sugar\n- 200 g of flour", "200 g of flour", True),
        ("- 3 eggs and some sugar\n- 200 g of flour", "- 200 g of flour", True),
        (STORE, "18 °C is the lowest temperature of the store.", False),
    ],
)
def test_a_number_before_a_statement_counts_where_it_is_no_mark(source: str, stated: str, right: bool) -> None:
    assert supported(source, f"{stated} [1]") == [right]


def test_a_rank_counts_below_an_introduction_too() -> None:
    source = f"Die Gebühren sind:\n{REMINDERS}"
    assert supported(source, "Die Gebühren sind:\n1. Mahnung: 40 EUR [1]")[-1] is False
    assert supported(source, "Die Gebühren sind:\n3. Mahnung: 40 EUR [1]")[-1] is True


def test_steps_that_an_answer_numbers_anew_are_quotations() -> None:
    assert supported(STEPS, "1. Close the main valve. [1]\n2. Open the small door. [1]") == [True, True]


@pytest.mark.parametrize(
    ("question", "source", "answer"),
    [
        ("Wann ist der Stichtag für alle?", DEADLINE, "12. März 2024 ist der Stichtag für alle."),
        (
            "Wie hoch ist die Gebühr der 3. Mahnung?",
            REMINDERS.replace("EUR", "EUR Gebühr"),
            "3. Mahnung: 40 EUR Gebühr",
        ),
        ("What is the lowest temperature of the store?", STORE, "- 18 °C is the lowest temperature of the store."),
    ],
)
def test_the_built_in_answer_keeps_the_day_the_rank_and_the_minus(question: str, source: str, answer: str) -> None:
    made = draft(question, [types.Source(number=1, filename="a.md", text=source, score=0.9)])
    assert made.sentences[0][0] == answer
    assert supported(source, f"{answer} [1]") == [source is not STORE]  # its introduction is left out


@pytest.mark.parametrize(
    ("source", "stated", "right"),
    [
        ("الرسوم ٥٠٠ دينار في السنة.", "الرسوم 500 دينار في السنة.", True),
        ("الرسوم 500 دينار في السنة.", "الرسوم ٥٠٠ دينار في السنة.", True),
        ("النسبة ١٢٫٥٪ في السنة كلها.", "النسبة 12.5% في السنة كلها.", True),
        ("الرسوم ١٬٥٠٠ دينار في السنة.", "الرسوم 1500 دينار في السنة.", True),
        ("शुल्क ५०० रुपये प्रति वर्ष है।", "शुल्क 500 रुपये प्रति वर्ष है।", True),
        ("الرسوم ٥٠٠ دينار في السنة.", "الرسوم 50 دينار في السنة.", False),
        ("النسبة ١٢٫٥٪ في السنة كلها.", "النسبة 125% في السنة كلها.", False),
    ],
)
def test_digits_of_another_script_are_the_same_number(source: str, stated: str, right: bool) -> None:
    assert supported(source, f"{stated} [1]") == [right]


def test_a_quantity_keeps_its_digits() -> None:
    (rate,) = find("النسبة ١٢٫٥٪", "ar")
    assert (rate.text, rate.values, rate.dimension) == ("١٢٫٥٪", frozenset([12.5]), "percent")
