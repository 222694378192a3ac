"""What a follow-up is asked of stands in brackets behind it: its passages need not name it."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.compose import draft

_TEXT = "The {0} is a folding kayak. Its price is {1} euros. It weighs {2} kg. Error code E7 of the {0} means {3}."
DOCUMENTS = {
    "Condor": _TEXT.format("Condor", 900, 14, "a leak"),
    "Heron": _TEXT.format("Heron", 700, 9, "a loose seat"),
}


def answered(question: str, *order: str) -> str:
    sources = [
        Source(number=number, title=title, text=DOCUMENTS[title], score=0.9) for number, title in enumerate(order, 1)
    ]
    made = draft(question, sources)
    return " ".join(text for text, _ in made.sentences)


@pytest.mark.parametrize(("title", "price"), [("Condor", "900"), ("Heron", "700")])
def test_a_sentence_that_does_not_repeat_the_subject_answers(title: str, price: str) -> None:
    other = {"Condor": "Heron", "Heron": "Condor"}[title]
    for order in ((title, other), (other, title)):
        assert answered(f"And its price? ({title})", *order) == f"Its price is {price} euros."


def test_what_was_spoken_of_before_decides_between_equals_alone() -> None:
    asked = "What does error code E7 mean?"
    assert answered(asked, "Heron", "Condor").startswith("Error code E7 of the Heron")
    assert answered(f"{asked} [kayak Condor]", "Heron", "Condor") == "Error code E7 of the Condor means a leak."
    assert answered(f"{asked} [kayak Heron]", "Condor", "Heron") == "Error code E7 of the Heron means a loose seat."
    assert answered("What does the Heron weigh? [Condor]", "Condor", "Heron").startswith(
        answered("What does the Heron weigh?", "Condor", "Heron").split(".")[0]
    )


def test_the_sentence_before_says_what_it_is() -> None:
    text = "A tourist visa costs 60 dollars. It takes ten days. A work visa costs 190 dollars. It takes eight weeks."
    source = Source(number=1, title="Visas", text=text, score=0.9)
    for kind, long in (("tourist", "ten days"), ("work", "eight weeks")):
        made = draft(f"How long does it take? ({kind} visa)", [source])
        assert [sentence for sentence, _ in made.sentences] == [f"It takes {long}."]


def test_words_that_ask_and_point_need_not_stand_in_the_answer() -> None:
    """Russian has no list of stop words of its own."""
    text = "Заявление на ремонт подаётся за месяц. Заявление подписывает директор."
    made = draft("Кто его подписывает? (заявление ремонт)", [Source(number=1, title="Ремонт", text=text, score=0.9)])
    assert made.sentences[0][0] == "Заявление подписывает директор."
    assert made.support > 0.5
