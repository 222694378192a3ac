"""Numbers with units, dates and times, compared by value."""

import pytest
from footnote_generation.language import amounts
from footnote_generation.language.quantities import find, same_dimension, same_value


def agree(left: str, right: str) -> bool:
    a, b = find(left), find(right)
    assert a, left
    assert b, right
    return same_value(a[0], b[0]) and same_dimension(a[0], b[0])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1,500 clients", "1500 clients"),
        ("1 500 kg", "1.5 tonnes"),
        ("3,5 %", "3.5 percent"),
        ("$1.65 billion", "1,650 million dollars"),
        ("twenty-five days", "25 days"),
        ("deux ans", "24 mois"),
        ("two weeks", "14 days"),
        ("quatre-vingt-dix jours", "90 jours"),
        ("12 March 2021", "2021-03-12"),
        ("March 2021", "12 mars 2021"),
        ("2021", "on March 12, 2021"),
        ("14h30", "2:30 pm"),
        ("25 °C", "25 degrees Celsius"),
        ("about 1.9 billion", "1,932 million"),
        ("1361万", "13.61 million"),
        ("2016年9月4日", "4 September 2016"),
    ],
)
def test_same(left: str, right: str) -> None:
    assert agree(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("150 kg", "150 g"),
        ("12 days", "12 weeks"),
        ("45 million euros", "45 million dollars"),
        ("$4.2 billion", "$4.2 million"),
        ("12 March 2021", "March 2021"),
        ("2020", "12 March 2021"),
        ("12 %", "12 kg"),
        ("18 °C", "18 °F"),
        ("15:30", "14:30"),
    ],
)
def test_different(left: str, right: str) -> None:
    assert not agree(left, right)


def test_digits_inside_names_are_no_quantities() -> None:
    assert find("Cell C12, COVID-19 and the X200 pump") == ()


@pytest.mark.parametrize(
    ("language", "worded", "numeral"),
    [
        ("en", "half an hour", "30 minutes"),
        ("fr", "trois quarts d'heure", "45 minutes"),
        ("de", "eine halbe Stunde", "30 Minuten"),
        ("es", "hora y media", "90 minutos"),
        ("it", "un quarto d'ora", "15 minuti"),
        ("pt", "meia hora", "30 minutos"),
        ("nl", "een halfuur", "30 minuten"),
        ("zh", "半个小时", "30分钟"),
    ],
)
def test_spans_without_a_numeral(language: str, worded: str, numeral: str) -> None:
    (left,), (right,) = amounts.find(worded, language), amounts.find(numeral, language)
    assert same_value(left, right)
    assert same_dimension(left, right)
