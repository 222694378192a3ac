"""The passage in another language: it contains a name of the question, or a word that begins like it."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.foreign_passages import find

STOCK = "Le stock de sécurité recommandé est de 200 unités pour ce produit. Il est revu chaque année."
LONDRES = "Le bureau de Londres ouvre à huit heures. Il est fermé le dimanche."


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("How many units are kept in reserve?", STOCK, True),
        ("Who painted the Mona Lisa?", STOCK, False),
        ("When does the office in London open?", LONDRES, True),
        ("When does the office in Madrid open?", LONDRES, False),
        ("Wie viele Einheiten liegen im Lager bereit?", STOCK, True),  # German nouns are no names
        ("When does the museum in Beijing open?", "博物馆每天上午九点开放,星期一闭馆。", True),  # other letters
    ],
)
def test_names_stay_across_languages(question: str, text: str, found: bool) -> None:
    assert (find(question, [Source(number=1, text=text, score=0.8)]) is not None) == found


def test_a_passage_that_means_something_else_is_not_named() -> None:
    assert find("How many units are kept in reserve?", [Source(number=1, text=STOCK, score=0.2)]) is None
