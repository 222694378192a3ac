"""Numbers with units, dates and times, compared by value."""

import pytest
from footnote_generation.language.quantities import find, same_dimension, same_value


def agree(left: str, right: str) -> bool:
    a, b = (find(text, "zh" if text[-1] > "⺀" else "en") for text in (left, right))
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
        ("two weeks", "14 days"),
        ("12 March 2021", "2021-03-12"),
        ("14h30", "2:30 pm"),
        ("2:30 PM", "14:30"),
        ("12:30 am", "0:30"),
        ("12:30 p.m.", "12:30"),
        ("5 mW", "0.005 W"),
        ("25 °C", "25 degrees Celsius"),
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
        ("12 %", "12 kg"),
        ("18 °C", "18 °F"),
        ("15:30", "14:30"),
        ("12:30 am", "12:30 pm"),
        ("3:30 AM", "3:30 PM"),
        ("5 mW", "5 MW"),
        ("order 1234567890", "order 1234567891"),
        ("4,012,345,678,901,234,567", "4,012,345,678,901,234,568"),
    ],
)
def test_different(left: str, right: str) -> None:
    assert not agree(left, right)


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [("平安京は0794年に", "ja", 794e4), ("٠٧٩٤年", "zh", 794e4), ("1" * 5000, "en", None)],
)
def test_no_text_is_beyond_reading(text: str, language: str, value: float | None) -> None:
    (found,) = find(text, language)
    assert value is None or found.values == {value}
    assert find(f"3 March {text}", language)
    assert find(f"{text} March 2021", language)


def test_digits_inside_names_are_no_quantities() -> None:
    assert find("Cell C12, COVID-19 and the X200 pump") == ()


@pytest.mark.parametrize(
    ("language", "text", "values", "dimension"),
    [
        ("de", "dreißig Tage", {30 * 86_400.0}, "time"),
        ("de", "3. März 2024", {20_240_303.0}, "date"),
        ("de", "1.450 Stück", {1450.0}, ""),
        ("de", "2 Mio. Euro", {2e6}, "money:EUR"),
        ("fr", "18 millions d'euros", {18e6}, "money:EUR"),
        ("fr", "1er mars 2024", {20_240_301.0}, "date"),
        ("fr", "deux ans", {24.0}, "months"),
        ("fr", "quatre-vingt-dix jours", {90 * 86_400.0}, "time"),
        ("es", "treinta y uno", {31.0}, ""),
        ("it", "7,50 euro", {7.5}, "money:EUR"),
        ("nl", "24 maanden", {24.0}, "months"),
        ("pt", "3 de março de 2024", {20_240_303.0}, "date"),
        ("pl", "pięć dni", {5 * 86_400.0}, "time"),
        ("ru", "5 марта 2024 года", {20_240_305.0}, "date"),
        ("zh", "1.5万元", {15_000.0}, "money:CNY"),
        ("ja", "９５００円", {9500.0}, "money:JPY"),
        ("ja", "3万5千円", {35_000.0}, "money:JPY"),
        ("ja", "1億2000万円", {1.2e8}, "money:JPY"),
        ("ja", "3兆2,500億円", {3.25e12}, "money:JPY"),
        ("ja", "1万2345円", {12_345.0}, "money:JPY"),
        ("zh", "3千5百万元", {35e6}, "money:CNY"),
        ("zh", "收入为一千二百万元", {12e6}, "money:CNY"),
        ("zh", "5万亿元", {5e12}, "money:CNY"),
        ("zh", "1万2千亿元", {1.2e12}, "money:CNY"),
        ("zh", "3千克", {3.0}, "mass"),
        ("es", "2,5 mil millones de euros", {2.5e9}, "money:EUR"),
        ("pt", "2 mil milhões de euros", {2e9}, "money:EUR"),
        ("en", "three hundred thousand metres", {3e5}, "length"),
        ("en", "two hundred metres", {200.0}, "length"),
        ("", "1,450 parts", {1.45, 1450.0}, ""),
    ],
)
def test_each_language_writes_its_own_way(language: str, text: str, values: set[float], dimension: str) -> None:
    found = find(text, language)[0]
    assert (set(found.values), found.dimension) == (values, dimension)


def test_a_word_and_a_date_in_one_sentence_are_both_read() -> None:
    found = find("Dreißig Tage nach dem 3. März 2024 gilt die neue Frist.", "de")
    assert [one.dimension for one in found] == ["time", "date"]
