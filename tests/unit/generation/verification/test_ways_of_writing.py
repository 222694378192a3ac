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
        ("de", "Die Besprechung beginnt um 9:30 Uhr im Saal.", "Um 9.30 Uhr fängt die Besprechung an."),
        ("de", "Das Büro öffnet freitags um 16:00 Uhr.", "Freitags öffnet es um 16 Uhr."),
        ("nl", "De vergadering begint om 14:15 uur in de zaal.", "Om 14.15 uur begint de vergadering."),
        ("it", "La riunione inizia alle 14:15 in sala.", "Alle ore 14.15 comincia la riunione."),
        ("en", "The office opens at 16:00 on Fridays.", "On Fridays it opens at 4 pm."),
        ("en", "The office opens at 4 p.m. on Fridays.", "On Fridays it opens at 4 pm."),
        ("en", "The office is open 9-4.", "The office closes at 4 pm."),
        ("en", "The office opens at 4 o'clock, for an hour.", "The office closes at 5pm."),
        ("de", "The office opens at 4 pm.", "Das Büro öffnet um 4 Uhr nachmittags."),
        ("ja", "会議は15:00に始まります。", "会議の開始は午後3時です。"),
        ("ja", "会議は午後3時に始まります。", "開始は15時です。"),
        ("ja", "会議は午後3時に始まります。", "開始は3時です。"),
        ("ja", "会議は15:30に始まります。", "会議の開始は午後3時半です。"),
        ("zh", "会议于15:00开始。", "会议下午3点开始。"),
        ("ko", "회의는 15:00에 시작합니다.", "회의는 오후 3시에 시작합니다."),
        ("de", "Der Bus hält an Gleis 5 am Bahnhof.", "An Gleis 5 am Bahnhof hält der Bus."),
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
        ("de", "Die Besprechung beginnt um 9:30 Uhr.", "Die Besprechung beginnt um 9.45 Uhr."),
        ("de", "Die Besprechung beginnt um 9.30 Uhr.", "Die Besprechung beginnt um 9:45 Uhr."),
        ("en", "The office opens at 4 am.", "The office opens at 4 pm."),
        ("en", "The office opens at 16:00.", "The office opens at 4 am."),
        ("en", "The office opens at 16:00.", "The office opens at 5 pm."),
        ("ja", "会議は午前3時に始まります。", "会議は午後3時に始まります。"),
        ("ja", "会議は15:00に始まります。", "会議は午後4時に始まります。"),
        ("ja", "会議は3時に始まります。", "会議は15時に始まります。"),
        ("zh", "会议于15:00开始。", "会议于上午3点开始。"),
        ("zh", "有3点建议。", "有3:00建议。"),
    ],
)
def test_another_value_is_not_supported(language: str, source: str, statement: str) -> None:
    assert verdict(source, statement, language) != types.VERDICT_SUPPORTED
