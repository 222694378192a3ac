"""Abbreviations are spelled out in the language of the text, and words that only look like them are left alone."""

import pytest
from footnote_text.abbreviations import spelled_out


@pytest.mark.parametrize(
    ("text", "language", "spelled"),
    [
        ("What drove SG&A and capex?", "en", ["selling, general and administrative", "capital expenditures"]),
        ("EBITDA, then ebitda again", "en", ["earnings before interest"]),
        ("it is in the po box", "en", []),
        ("the IT budget", "en", ["information technology"]),
        ("Quel est le CA hors TVA ?", "fr", ["chiffre d'affaires", "taxe sur la valeur ajoutée"]),
        ("Wie hoch ist die MwSt in der GuV?", "de", ["Mehrwertsteuer", "Gewinn- und Verlustrechnung"]),
        ("capex", "nl", []),
        ("", "en", []),
    ],
)
def test_spelled_out(text: str, language: str, spelled: list[str]) -> None:
    found = spelled_out(text, language)
    assert len(found) == len(spelled)
    assert all(long.startswith(start) for long, start in zip(found, spelled, strict=True))
