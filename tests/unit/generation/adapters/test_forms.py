"""A question's words in other forms than the sentence's: verbs that part, plurals of words from elsewhere."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.forms import others
from footnote_generation.extractive.question import read
from footnote_generation.language.words import analyse


@pytest.mark.parametrize(
    ("language", "sentence", "word"),
    [
        ("de", "Reichen Sie den Antrag bis Freitag ein.", "einreichen"),
        ("de", "Wir holen Sie am Bahnhof ab.", "abholen"),
        ("de", "Die Anmeldung ist bis Mai abzuschicken.", "abschicken"),
        ("de", "Schicken Sie das Gerät zurück, wenn es klemmt.", "zurückschicken"),
        ("de", "Der Betrag wird am Monatsende gebucht.", "bucht"),
        ("de", "Unsere Autos stehen im Hof.", "Auto"),
        ("de", "Ein Kino hat der Ort auch.", "Kinos"),
        ("nl", "Lever het formulier in bij de balie of stuur het op.", "opsturen"),
    ],
)
def test_a_word_is_found_in_its_other_form(language: str, sentence: str, word: str) -> None:
    stems = analyse(f"Wie {word}", language).words[-1].stems
    found = analyse(sentence, language)
    assert not set(stems) & found.stems
    assert set(stems) & others(found, language)


@pytest.mark.parametrize(
    ("language", "sentence", "word"),
    [
        ("de", "Reichen Sie den Antrag mit einem Foto.", "mitreichen"),  # a preposition
        ("de", "Das Haus ist zu verkaufen.", "zukaufen"),
        ("en", "Hand the form in.", "inhand"),
    ],
)
def test_what_is_no_such_form_is_not_found(language: str, sentence: str, word: str) -> None:
    stems = analyse(f"Wie {word}", language).words[-1].stems
    assert not set(stems) & others(analyse(sentence, language), language)


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Was muss ich beim Umzug melden?", ["Umzug", "melden"]),
        ("Wie viele Tage soll die Kur dauern?", ["Tage", "Kur", "dauern"]),
        ("Hoeveel dagen moet de kuur duren?", ["dagen", "kuur", "duren"]),
        ("What happens in May to the fleet?", ["happens", "May", "fleet"]),
    ],
)
def test_verbs_that_only_ask_need_not_be_answered(question: str, about: list[str]) -> None:
    assert [word.text for word in read(question).about if word.text not in {"viele", "Hoeveel"}] == about


def test_a_source_without_words_is_no_trouble() -> None:
    from footnote_generation.extractive.passages import units

    assert units([Source(number=1, text="… : , !")], "de") == []
