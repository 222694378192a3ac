"""Signs that make another number, or the opposite, are no typography: a quotation has them as its source does."""

import unicodedata

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

QUOTED = (types.VERDICT_SUPPORTED, types.BASIS_QUOTED)


def verdict(source: str, statement: str) -> tuple[int, int]:
    """Return the verdict on a statement with a footnote, and what it rests on."""
    said = f"{statement} [1]"
    at = said.index("[1]")
    sources = {1: types.Source(number=1, filename="a.md", text=source)}
    checked = Checker(sources, "en").check_by_rules(segment(said, [PlacedMarker(at, at + 3, 1)]))
    return checked[-1].claim.support, checked[-1].claim.basis


OTHERWISE = [
    ("Die Temperatur beträgt –18 °C im Lager.", "Die Temperatur beträgt 18 °C im Lager."),
    ("Le solde est de –1 250 € au total.", "Le solde est de 1 250 € au total."),
    ("The balance at the end was -€500.", "The balance at the end was €500."),
    ("The result of the year was (1,250) thousand.", "The result of the year was 1,250 thousand."),
    ("経常利益は▲1,250百万円です。", "経常利益は1,250百万円です。"),
    ("経常利益は△1,250百万円です。", "経常利益は1,250百万円です。"),
    ("The daily dose is .5 mg for adults.", "The daily dose is 5 mg for adults."),
    ("The leakage rate is 1e-5 mbar per second.", "The leakage rate is 1e5 mbar per second."),
    ("The concentration limit is 10⁻³ mol.", "The concentration limit is 10³ mol."),
    ("一日の用量は5㎎です。", "一日の用量は5㎏です。"),
    ("Плата за вход составляет 100 ₽.", "Плата за вход составляет 100 ₩."),
    ("The discount is 5 ¢ per piece.", "The discount is 5 per piece."),
    ("The pipe is 5′ long and straight.", "The pipe is 5″ long and straight."),
    ("The door opens when status != 0.", "The door opens when status = 0."),
    ("The rating of the bond is BBB-.", "The rating of the bond is BBB."),
    ("Export to PDF: ❌", "Export to PDF: ✅"),
    ("- ❌ Remote work in Paris\n- ✅ Remote work in Lyon", "✅ Remote work in Paris"),
    ("- ☐ Smoke test done\n- ☑ Audit done", "☑ Smoke test done"),
    ("□ Smoke test done\n■ Audit done", "■ Smoke test done"),
    ("Umsatz ▲ 5 % im Mai.", "Umsatz ▼ 5 % im Mai."),
    ("Plan: Basic; Export: ✗; Import: ✓", "Plan: Basic; Export: ✓; Import: ✓"),
    ("The alarm sounds at 5 bar in the hall.", "The alarm sounds at > 5 bar in the hall."),
    ("The alarm sounds at > 5 bar in the hall.", "The alarm sounds at 5 bar in the hall."),
    ("यह किताब सस्ती है और अच्छी है।", "यह कीताब सस्ती है और अच्छी है।"),
]


@pytest.mark.parametrize(("source", "statement"), OTHERWISE)
def test_a_statement_with_another_sign_than_its_source_is_not_a_quotation(source: str, statement: str) -> None:
    assert verdict(source, statement)[0] != types.VERDICT_SUPPORTED
    first = source.split("\n")[0].removeprefix("- ")
    assert verdict(source, first) == QUOTED


LIKEWISE = [
    ("Die Temperatur beträgt –18 °C im Lager.", "Die Temperatur beträgt −18 ℃ im Lager."),
    ("The balance was -€500 in May.", "The balance was −500 € in May."),
    ("The balance was (1,250) in May.", "The balance was -1,250 in May."),
    ("The office is open 8 – 12 on Fridays.", "The office is open 8–12 on Fridays."),
    ("Das Amt ist von 8 Uhr – 12 Uhr offen.", "Das Amt ist von 8 Uhr-12 Uhr offen."),
    ("The plan – the best one – costs more.", "The plan - the best one — costs more."),
    ("Standard – 5 users at most.", "Standard — 5 users at most."),
    ("Die Vor-\nund Nachteile sind bekannt.", "Die Vorund Nachteile sind bekannt."),
    ("Die Vor‑ und Nachteile sind bekannt.", "Die Vor- und Nachteile sind bekannt."),
    ("A daily dose of .5 mg is enough.", "A daily dose of 0.5 mg is enough."),
    ("面積は20㎡、重さは5㎏、温度は8℃。", "面積は20 m²、重さは5 kg、温度は8 °C。"),
    ("Windows® “Home” costs 5 €.", 'Windows "Home" costs 5 €.'),
    ("■概要：休館日は月曜日です。\n■料金：五百円です。", "料金：五百円です。"),
    ("Open:\n▪ Monday\n▪ Friday", "Open:\n- Friday"),
    ("│ The lift is out of order. │", "The lift is out of order."),
    ("The lift is out of order.", "> The lift is **out of order**."),
    ("The lift is out of order.", "> - The lift is `out of order`."),
]


@pytest.mark.parametrize(("source", "statement"), LIKEWISE)
def test_another_writing_of_a_sign_stays_a_quotation(source: str, statement: str) -> None:
    assert verdict(source, statement) == QUOTED


DECOMPOSED = [
    "La rémunération des congés payés est maintenue à l'été.",
    "Die Öffnungszeiten für Gäste ändern sich.",
    "バスは八時に学校を出ます。",
]


@pytest.mark.parametrize("text", DECOMPOSED)
def test_a_text_with_decomposed_accents_is_quoted_as_models_write_it(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    assert verdict(apart, text) == verdict(text, apart) == QUOTED


def test_accents_tell_words_apart_also_where_they_are_decomposed() -> None:
    source = unicodedata.normalize("NFD", "Il est permis de pêcher ici.")
    assert verdict(source, "Il est permis de pécher ici.")[0] != types.VERDICT_SUPPORTED
