"""One amount, time of day or date, written in another usual way of its language."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment


def verdict(source: str, statement: str, language: str) -> int:
    at = len(statement) + 1
    checker = Checker({1: types.Source(number=1, filename="a.md", text=source)}, language)
    (one,) = checker.check_by_rules(segment(f"{statement} [1]", [PlacedMarker(at, at + 3, 1)]))
    return one.claim.support


@pytest.mark.parametrize(
    ("language", "source", "statement"),
    [
        ("es", "La empresa ganó 2.500 millones de euros.", "Las ganancias fueron de 2,5 mil millones de euros."),
        ("es", "La empresa ganó 2 mil millones de euros.", "Las ganancias fueron de 2.000 millones de euros."),
        ("pt", "A empresa lucrou 2 mil milhões de euros.", "O lucro foi de 2.000 milhões de euros."),
        ("ja", "会社の売上は3万5千円でした。", "売上高は35,000円だった。"),
        ("ja", "会社の売上は1億2340万円でした。", "売上高は123,400,000円だった。"),
        ("zh", "公司去年收入为一千二百万元。", "去年收入是1200万元。"),
        ("zh", "公司去年收入为3千5百万元。", "去年收入是3500万元。"),
    ],
)
def test_another_way_of_writing_is_no_other_value(language: str, source: str, statement: str) -> None:
    assert verdict(source, statement, language) != types.VERDICT_UNSUPPORTED


@pytest.mark.parametrize(
    ("language", "source", "statement"),
    [
        ("es", "La empresa ganó 2.500 millones de euros.", "La empresa ganó 2,7 mil millones de euros."),
        ("es", "La empresa ganó 2,5 mil millones de euros.", "La empresa ganó 2,5 millones de euros."),
        ("es", "La empresa ganó 2,5 mil millones de euros.", "La empresa ganó 2,5 mil euros."),
        ("pt", "A empresa lucrou 2 mil milhões de euros.", "A empresa lucrou 2 milhões de euros."),
        ("ja", "会社の売上は3万5千円でした。", "会社の売上は3万7千円でした。"),
        ("ja", "会社の売上は3万5千円でした。", "会社の売上は3万円でした。"),
        ("ja", "会社の売上は1億2000万円でした。", "会社の売上は1億円でした。"),
        ("zh", "公司去年收入为一千二百万元。", "公司去年收入为1300万元。"),
        ("zh", "公司去年收入为一千二百万元。", "公司去年收入为一千三百万元。"),
    ],
)
def test_another_value_is_not_supported(language: str, source: str, statement: str) -> None:
    assert verdict(source, statement, language) != types.VERDICT_SUPPORTED
