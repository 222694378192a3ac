"""Keywords: what a text is about, in its own spelling."""

import pytest
from footnote_text.keywords import keywords

ENGLISH = (
    "Heat pumps move heat. A heat pump takes heat from the air, and heat pumps in cellars take it from the ground. "
    "The compressor of a heat pump needs current; a good compressor needs less of it."
)
FRENCH = "Le loyer est dû le premier du mois. Le loyer est révisé chaque année. La caution vaut deux loyers."
CHINESE = "机器学习是人工智能的一个分支。机器学习研究算法。人工智能与机器学习。"


@pytest.mark.parametrize(
    ("text", "language", "first"),
    [(ENGLISH, "en", {"heat pump", "heat pumps"}), (FRENCH, "fr", {"loyer"}), (CHINESE, "zh", {"机器学习"})],
)
def test_the_subject_comes_first(text: str, language: str, first: set[str]) -> None:
    found = [word.lower() for word in keywords(text, language)]
    assert found[0] in first


def test_inflected_forms_are_one_keyword() -> None:
    found = [word.lower() for word in keywords(ENGLISH, "en")]
    assert not {"heat pump", "heat pumps"} <= set(found)
    assert not {"need", "needs"} <= set(found)


def test_stop_words_and_numbers_are_none() -> None:
    assert keywords("The of and 2024 12.5 it is 777 777 777.", "en") == []


def test_a_part_of_a_longer_repetition_is_none() -> None:
    assert "器学" not in keywords(CHINESE, "zh")


def test_the_limit_holds() -> None:
    assert len(keywords(" ".join(f"word{chr(97 + i)}alpha." for i in range(26)), "en", 7)) == 7


def test_equal_weights_keep_the_order_of_the_text() -> None:
    assert keywords("Delta. Gamma. Alpha.", "en") == ["Delta", "Gamma", "Alpha"]
