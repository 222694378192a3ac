# ruff: noqa: E501 - tables of cases
"""What the rules know against a second reader's word, and what they merely do not find: the first is a veto alone."""

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.ports import Opinion
from footnote_generation.verification.opinion import reconsider
from footnote_generation.verification.support import judge, prepare


def verdict_of(statement: str, source: str, *quotes: str, context: str = "") -> str:
    """Return the verdict where a reader who sees contradictions says yes and quotes those sentences."""
    evidence = prepare(source, context)
    spans = tuple((source.index(quote), source.index(quote) + len(quote)) for quote in quotes)
    opinion = Opinion(0.9, 0.0, spans)
    verdict = reconsider(statement, evidence, judge(statement, evidence), [(0, len(source))], [opinion], 0.8)
    return types.Verdict.Name(verdict.support).removeprefix("VERDICT_")


NOT_FOUND = {
    "a sum of two sentences": (
        "Together the two vans carry 17 crates.", "The red van carries 9 crates. The white van carries 8 crates.",
        "The red van carries 9 crates.", "The white van carries 8 crates.",
    ),
    "a difference": ("Entry went up by 4 euros.", "Entry was 11 euros in May. In June it is 15 euros.", "Entry was 11 euros in May.", "In June it is 15 euros."),
    "a multiple": ("Over the year the fee comes to 144 euros.", "The fee is 12 euros a month.", "The fee is 12 euros a month."),
    "a duration of two times": ("La visite dure deux heures.", "La visite commence à 14:00 et se termine à 16:00.", "La visite commence à 14:00 et se termine à 16:00."),
    "points of percentages": ("Der Anteil wuchs um 3,5 Punkte.", "Der Anteil stieg von 21,0 % auf 24,5 %.", "Der Anteil stieg von 21,0 % auf 24,5 %."),
    "a number in words": ("The hut sleeps twenty-four.", "There are 24 beds in the hut.", "There are 24 beds in the hut."),
    "a count of what is listed": ("Three colleges take part.", "Taking part: Ashby, Corran and Dale.", "Taking part: Ashby, Corran and Dale."),
    "a number in a heading": ("In 2031 wurde die Brücke gesperrt.", "Die Brücke wurde gesperrt.", "Die Brücke wurde gesperrt."),
    "a month for its days": ("You have one month to appeal.", "Appeals are possible for 30 days.", "Appeals are possible for 30 days."),
    "a denial in another word": ("Residents have nothing to pay for parking.", "Parking is free for residents.", "Parking is free for residents."),
    "another denial in French": ("Les stagiaires n'ont pas accès au parc.", "Les stagiaires sont exclus du parc.", "Les stagiaires sont exclus du parc."),
    "no more than": ("La beca no pasa de 900 euros.", "La beca es de 900 euros como máximo.", "La beca es de 900 euros como máximo."),
    "a name in the sentence before": (
        "Rosa Amato founded the choir.", "Rosa Amato was a baker in Lodi. She set up the choir in 1974.", "She set up the choir in 1974.",
    ),
    "two quotes": ("De pont kan 12 auto's meenemen en vaart niet op zondag.", "De pont heeft plaats voor 12 auto's. Op zondag is er geen overtocht.", "De pont heeft plaats voor 12 auto's.", "Op zondag is er geen overtocht."),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_FOUND)
def test_what_the_rules_merely_do_not_find_is_no_veto(case: str) -> None:
    statement, source, *quotes = NOT_FOUND[case]
    context = "Jahresbericht 2031" if case == "a number in a heading" else ""
    assert verdict_of(statement, source, *quotes, context=context) == "SUPPORTED"


KNOWN = {
    "another number": ("The hut holds 26 people in winter.", "In winter the hut has room for 24 people.", ),
    "another number in German": ("Die Frist beträgt 21 Tage.", "Man hat 14 Tage Zeit, die Frist zu wahren."),
    "another price": ("El billete sale por 14 euros.", "El billete cuesta 12 euros."),
    "another date": ("La réunion a lieu le 4 mai.", "On se réunit le 6 mai."),
    "another time": ("Il museo apre alle 9:30.", "Il museo è aperto dalle 10:30."),
    "another unit": ("The load is 40 g at most.", "At most 40 kg may be loaded."),
    "another bound": ("At most 12 chairs may be put up.", "At least 12 chairs must be put up."),
    "another bound after a list's number": ("At most 14 racks may be put up.", "(5) At least 14 racks must be put up."),
    "another bound beside one that is left out": (
        "Tra due dosi passano al massimo otto ore.", "Una dose, massimo due al giorno, con almeno otto ore tra le dosi.",
    ),
    "months for weeks": ("Der Verlust ist binnen zwei Monaten zu melden.", "Der Verlust ist binnen zwei Wochen anzuzeigen."),
    "a denial": ("Gäste dürfen nicht im Hof parken.", "Gäste dürfen im Hof parken."),
    "no denial": ("Os sócios podem trazer cães.", "Os sócios não podem trazer cães."),
    "no denial in Chinese": ("访客可以在院内停车。", "访客不可以在院内停车。"),
    "the opposite": ("The rent rose last year.", "Last year the rent fell."),
    "another weekday": ("The market is on Tuesday.", "The market is on Thursday."),
    "another holder": ("Nadia Brun leads the night shift.", "Omar Wells leads the night shift. Nadia Brun is off sick."),
    "nobody known": ("Nadia Brun leads the late shift.", "Omar Wells leads the night shift."),
    "a plan": ("The town has built a second pool.", "The town plans to build a second pool."),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_what_the_rules_know_to_be_otherwise_is_a_veto(case: str) -> None:
    statement, source = KNOWN[case]
    assert verdict_of(statement, source, source.split(". ")[0]) != "SUPPORTED"
    assert verdict_of(statement, source, source) != "SUPPORTED"  # nor where all of it is quoted
