"""Questions that negate are never computed as if they did not; words that include a month do."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_ingestion.tables.computing import Computing
from support.table_engine import opened

EN = "City,Sales,Status\nParis,1200,open\nLyon,800,closed\nNice,300,open\n"
SHIRTS = "Product,Sales\nT-shirt,1200\nHat,800\nT-shirt,300\n"
FR = "Ville,Ventes,Statut\nParis,1200,ouvert\nLyon,800,ferme\nNice,300,ouvert\n"
DE = "Stadt,Umsatz,Status\nParis,1200,offen\nLyon,800,zu\nNizza,300,offen\n"
PL = "Miasto,Sprzedaż,Status\nParis,1200,otwarte\nLyon,800,zamknięte\nNicea,300,otwarte\n"
RU = "Город,Продажи,Статус\nParis,1200,открыт\nLyon,800,закрыт\nNice,300,открыт\n"
JA = "都市,売上,日付\n東京,1200,2024-01-05\n大阪,800,2024-02-10\n京都,300,2024-03-15\n"


def answered(folder: Path, text: str, question: str, locale: str) -> str | None:
    """Return what is computed of a table for a question; None for nothing."""
    with opened(folder, data=text) as (engine, own):
        computed = Computing(engine, own.of).answer(question, locale)
        return None if computed is None else computed.text


@pytest.mark.parametrize(
    ("text", "question", "locale"),
    [
        (EN, "Which cities don't exceed 800 sales?", "en"),
        (EN, "How many cities whose sales don’t exceed 800?", "en"),
        (EN, "How many cities can't exceed 800 sales?", "en"),
        (EN, "How many cities don't have open status?", "en"),
        (EN, "How many cities aren't open?", "en"),
        (EN, "What is the total sales of cities that don't have status open?", "en"),
        (FR, "Combien de villes n'ont plus de 800 ventes ?", "fr"),
        (DE, "Wie viele Städte haben weder Status offen?", "de"),
        (PL, "Suma sprzedaż status nie otwarte?", "pl"),
        (RU, "Сумма продажи статус не открыт?", "ru"),
    ],
)
def test_a_negated_question_is_not_computed_as_if_it_were_not(
    tmp_path: Path, text: str, question: str, locale: str
) -> None:
    assert answered(tmp_path, text, question, locale) is None


@pytest.mark.parametrize(
    ("text", "question", "locale", "expected"),
    [
        (EN, "How many cities have no more than 800 sales?", "en", "2"),
        (SHIRTS, "What is the total sales of T-shirt?", "en", "1500"),
        (PL, "Ile miast ma sprzedaż nie więcej niż 800?", "pl", "2"),
        (RU, "Сколько городов с продажи не более 800?", "ru", "2"),
        (JA, "2024年2月以前の売上の合計は？", "ja", "2000"),
        (JA, "2024年2月より前の売上の合計は？", "ja", "1200"),
    ],
)
def test_words_of_limits_say_what_they_usually_say(
    tmp_path: Path, text: str, question: str, locale: str, expected: str
) -> None:
    computed = answered(tmp_path, text, question, locale)
    assert computed is not None
    assert computed.rsplit(" ", 1)[-1] == expected
