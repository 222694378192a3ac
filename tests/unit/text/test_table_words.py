"""Which questions wait for tables: those with words of a form, in any locale, and no others."""

import pytest
from footnote_text.intents import table_words


@pytest.mark.parametrize(
    "question",
    [
        "What is the total of Units?", "Compare les stocks entre production.xlsx et inventaire.csv",
        "Wie hoch ist der Durchschnitt der Preise?", "销售额总计是多少？", "Which three cities sold the most?",
        "¿Cuántos artículos hay por ciudad?",
    ],
)  # fmt: skip
def test_a_form_over_tables_is_asked_of_them(question: str) -> None:
    assert table_words(question)


@pytest.mark.parametrize(
    "question", ["", "?", "Who may use class 4 lasers?", "Wann beginnt der Mietvertrag?", "紧急电话是什么？"]
)
def test_other_questions_do_not_wait(question: str) -> None:
    assert not table_words(question)
