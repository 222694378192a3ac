import pytest
from footnote_text.language import detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the training objective of BERT?", "en"),
        ("Quel est le stock de sécurité recommandé ?", "fr"),
        ("Wie hoch ist der Sicherheitsbestand?", "de"),
        ("¿Cuál es la capital de Perú?", "es"),
        ("Qual è la capitale d'Italia?", "it"),
        ("Qual é a capital de Portugal?", "pt"),
        ("Hoeveel inwoners heeft Amsterdam?", "nl"),
        ("日本の首都はどこですか", "ja"),
        ("中国的首都是哪里", "zh"),
        ("대한민국의 수도는 어디입니까", "ko"),
        ("Какая столица России?", "ru"),
    ],
)
def test_short_questions(text: str, language: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize("text", ["", "   ", "12345 %", "ACME"])
def test_unsure(text: str) -> None:
    assert detect(text) == ""


def test_candidates_decide_when_the_text_says_too_little() -> None:
    assert detect("ACME 2019", ["fr"]) == "fr"
    assert detect("fixed asset turnover", ["en", "fr"]) == "en"


def test_clear_text_overrules_candidates() -> None:
    assert detect("What are the requirements for the application of the parental leave policy?", ["fr"]) == "en"


@pytest.mark.parametrize("text", ["متى يبدأ فندق Aurora بتقديم وجبة الإفطار؟", "ما هو سعر Laptop X200 Pro Max؟"])
def test_arabic_with_names_in_latin_letters(text: str) -> None:
    assert detect(text, ["en", "fr"]) == "ar"


def test_long_text() -> None:
    assert detect("Le conseil d'administration a approuvé les comptes de l'exercice. " * 50) == "fr"
