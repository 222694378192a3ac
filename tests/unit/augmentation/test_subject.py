"""Follow-ups in full, by rules of grammar: pronouns, ellipsis, corrections, another subject, in eight languages."""

from collections.abc import Sequence

import pytest
from footnote_augmentation.subject import in_full


def told(*messages: str) -> str:
    return in_full(messages[-1], messages[:-1])


@pytest.mark.parametrize(
    ("said", "full"),
    [
        (["What does the Condor weigh?", "Where is it repaired?"], "Where is it repaired? (Condor weigh)"),
        (["What does the Condor weigh?", "And its price?"], "its price? (Condor weigh)"),
        (["Onde fica o Hotel Mar?", "Quantos quartos tem ele?"], "Quantos quartos tem ele? (Hotel Mar)"),
        (["Où se trouve le musée Bellac ?", "Qui le dirige ?"], "Qui le dirige ? (musée Bellac)"),
        (["¿Cuánto pesa el kayak Cóndor?", "¿Y cuánto cuesta?"], "¿cuánto cuesta? (kayak Cóndor)"),
        (["Quanto pesa il kayak Airone?", "È pieghevole?"], "È pieghevole? (kayak Airone)"),
        (["Сколько стоит номер в гостинице Волга?", "А завтрак?"], "завтрак? (гостинице Волга)"),
        (["Was wiegt das Boot Möwe?", "Wie teuer ist es?"], "Wie teuer ist es? (Boot Möwe)"),
    ],
)
def test_what_asks_something_else_gets_the_names_before_it(said: Sequence[str], full: str) -> None:
    assert told(*said) == full


@pytest.mark.parametrize(
    ("said", "full"),
    [
        (["What does the Condor weigh?", "And the Heron?"], "What does the Heron weigh?"),
        (["Is the north hall free on Friday?", "And the south hall?"], "Is the south hall free on Friday?"),
        (["Is the north hall free on Friday?", "What about Sunday?"], "Is the north hall free on Sunday?"),
        (["How far is it from Oslo to Bergen?", "And to Narvik?"], "How far is it from Oslo to Narvik?"),
        (["What do lessons for adults cost?", "And for children?"], "What do lessons for children cost?"),
        (["Wann öffnet das Museum Süd am Sonntag?", "Und am Montag?"], "Wann öffnet das Museum Süd am Montag?"),
        (["Was kostet der Kurs Anfänger?", "Und der Kurs Profi?"], "Was kostet der Kurs Profi?"),
        (["Quand ouvre la salle Bleue ?", "Et la salle Verte ?"], "Quand ouvre la salle Verte ?"),
        (["Quando apre la sala Rossa il lunedì?", "E il martedì?"], "Quando apre la sala Rossa il martedì?"),
        (["¿Cuándo abre la sala Roja?", "¿Y la Azul?"], "¿Cuándo abre la sala Azul?"),
        (["Когда открыт зал 3 в среду?", "А в зале 5?"], "Когда открыт зал 5 в среду?"),
        (["What does the Maple room cost?", "Who cleans it?", "And the Cedar one?"], "Who cleans it? (Cedar room)"),
        (["Quand ouvre le camping du Pré ?", "Et celui du Lac ?"], "Quand ouvre le camping du Lac ?"),
        (["Сколько стоит вход в парк «Заря»?", "А в «Восток»?"], "Сколько стоит вход в парк «Восток»?"),
        (["Hoe laat opent het bad op zaterdag?", "En op zondag?"], "Hoe laat opent het bad op zondag?"),
    ],
)  # fmt: skip
def test_what_names_another_thing_or_time_is_the_question_before_asked_of_it(said: Sequence[str], full: str) -> None:
    assert told(*said) == full


@pytest.mark.parametrize(
    "correction",
    [
        "Sorry, I meant the Heron.", "No, I meant the Heron, not the Condor.", "Not the Condor but the Heron.",
        "Not the Condor, I meant the Heron.",
    ],
)  # fmt: skip
def test_a_correction_asks_the_same_of_what_was_meant(correction: str) -> None:
    assert told("What does the Condor weigh?", correction) == "What does the Heron weigh?"


def test_a_question_that_means_something_corrects_nothing() -> None:
    assert told("What does the Condor weigh?", "What does it mean?") == "What does it mean? (Condor weigh)"


def test_thanks_between_are_no_question_to_ask_again() -> None:
    assert told("What does the Condor weigh?", "Thanks!", "And the Heron?") == "What does the Heron weigh?"


def test_a_number_goes_with_its_noun_and_a_quantity_is_no_name() -> None:
    assert told("Where is room 12?", "Who cleans it?") == "Who cleans it? (room 12)"
    assert told("Where is the Condor?", "Does it carry 2 people?") == "Does it carry 2 people? (Condor)"


def test_a_complete_question_that_names_something_leaves_the_subject() -> None:
    assert told("What does the Condor weigh?", "Who founded the town of Narvik?") == "Who founded the town of Narvik?"


def test_a_complete_question_without_a_name_may_be_of_the_subject() -> None:
    """What was spoken of stays in the background, in square brackets, until another takes its place."""
    said = ["How heavy is the boiler Alto?", "What does the error code E04 mean?", "And for the Brio?"]
    assert told(*said[:2]) == "What does the error code E04 mean? [boiler Alto]"
    assert told(*said) == "What does the error code E04 mean? (boiler Brio)"


@pytest.mark.parametrize(("said", "full"), [(["And?"], "And?"), (["Hi", "Where?"], "Where?"), (["What?", "¿"], "¿")])
def test_what_there_is_nothing_to_fill_with_stays(said: Sequence[str], full: str) -> None:
    assert told(*said) == full
