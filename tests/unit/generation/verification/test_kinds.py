# ruff: noqa: E501 - a case stands on one line
"""Kinds of statements that shared words alone would take for borne out, and true ones beside them, in eight languages."""

import pytest
from footnote.types.v1.answer_pb2 import (
    VERDICT_NOT_A_CLAIM,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNSUPPORTED,
    Source,
)
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_OTHER_LANGUAGE
from footnote_generation.language import grammar
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment
from footnote_generation.verification.support import confidence, judge, prepare
from support.told_rows import told

_SALES = "Anna Berg leads the sales team, and John Carter leads the support team."
_DOSE = "Adults take two tablets three times a day."
_ROWS = "Item: oak desk; City: Lyon; Stock: 42; Sold: 7\nItem: oak desk; City: Hamburg; Stock: 17; Sold: 9\n"
_TABLE = "| Room | Seats | Floor |\n|---|---|---|\n| Vauban | 40 | 2 |\n| Cassini | 12 | 3 |\n"
_FALSE = [
    ("who", _SALES, "John Carter leads the sales team."),
    ("who", _SALES, "Anna Berg leads the support team."),
    ("who", "The landlord must inform the tenant in writing.", "The tenant must inform the landlord in writing."),
    ("counted", _DOSE, "Adults take three tablets two times a day."),
    ("row", _ROWS, "There are 42 oak desks in Hamburg."),
    ("row", _ROWS, "In Lyon the stock of oak desks is 7."),
    ("row", _TABLE, "The Cassini room has 40 seats."),
    ("row", _TABLE, "The Vauban room has 2 seats."),
    ("column", "Model: Heron; Price: 120 EUR; Deposit: 30 EUR\n", "The price of the Heron is 30 EUR."),
    ("denial", "The warranty covers parts but not batteries.", "The warranty covers batteries."),
    ("denial", "Die Versicherung deckt keine Schäden durch Hochwasser.", "Die Versicherung deckt Schäden durch Hochwasser."),
    ("denial", "Der Mieter darf keine Haustiere halten.", "Der Mieter darf Haustiere halten."),
    ("denial", "La bibliothèque est fermée le lundi.", "La bibliothèque est ouverte le lundi."),
    ("denial", "El museo no abre los lunes.", "El museo abre los lunes."),
    ("denial", "Gli ospiti non possono fumare in camera.", "Gli ospiti possono fumare in camera."),
    ("denial", "Os hóspedes não podem fumar no quarto.", "Os hóspedes podem fumar no quarto."),
    ("denial", "De huurder mag geen huisdieren houden.", "De huurder mag huisdieren houden."),
    ("denial", "会员不得携带宠物入内。", "会员可以携带宠物入内。"),
    ("free", "L'entrée coûte 15 euros, elle est gratuite pour les étudiants.", "L'entrée coûte 15 euros pour les étudiants."),
    ("condition", "Refunds are paid within 14 days if the product is unused.", "Refunds are paid within 14 days."),
    ("condition", "Die Gebühr entfällt, wenn der Antrag online gestellt wird.", "Die Gebühr entfällt."),
    ("exception", "Parking is free except on Saturdays.", "Parking is free."),
    ("exception", "El aparcamiento es gratuito, salvo los sábados.", "El aparcamiento es gratuito."),
    ("bound", "The hall holds up to 40 people.", "The hall holds at least 40 people."),
    ("bound", "La sala può ospitare al massimo 40 persone.", "La sala può ospitare almeno 40 persone."),
    ("bound", "Bookings take at most 3 days.", "Bookings take 3 days."),
    ("modality", "The council may close the bridge in May.", "The council must close the bridge in May."),
    ("modality", "The city plans a tunnel under the river.", "The city has a tunnel under the river."),
    ("superseded", "Until 2019 the annual fee was 10 euros.", "The annual fee is 10 euros."),
    ("superseded", "Früher betrug der Beitrag 10 Euro.", "Der Beitrag beträgt 10 Euro."),
    ("quantifier", "Some members receive a discount.", "All members receive a discount."),
    ("weekday", "The market takes place on Tuesday.", "The market takes place on Thursday."),
    ("number word", "Der Kurs dauert einundzwanzig Tage.", "Der Kurs dauert zwölf Tage."),
    ("bound", "The paste must not be used more than 3 times a day.", "The paste must be used more than 3 times a day."),
    ("bound", "No use el gel más de 5 días.", "El gel se usa al menos 5 días."),
    ("modality", "## Planned\n- A lift to the roof garden\n", "There is a lift to the roof garden."),
    ("list", "The soup contains salt but contains neither milk nor nuts.", "The soup contains nuts."),
    ("heading", "## Not covered\n- Damage by flood\n\n## Covered\n- Damage by fire\n", "Damage by flood is covered."),
]  # fmt: skip
_TRUE = [
    (_SALES, "John Carter leads the support team."),
    (_DOSE, "Adults take two tablets three times a day."),
    (_ROWS, "In Lyon the stock of oak desks is 42."),
    (_TABLE, "The Vauban room has 40 seats."),
    ("Model: Heron; Price: 120 EUR; Deposit: 30 EUR\n", "The price of the Heron is 120 EUR."),
    ("Item: Heron; Warranty (months): 24; Price (GBP): 2,480.00\n", "The Heron has a warranty of two years."),
    ("The warranty covers parts but not batteries.", "The warranty does not cover batteries."),
    ("The museum is closed on Mondays.", "The museum is not open on Mondays."),
    ("Der Mieter darf keine Haustiere halten.", "Haustiere darf der Mieter nicht halten."),
    ("Der Kurs dauert einundzwanzig Tage.", "Der Kurs dauert 3 Wochen."),
    ("Le contrat dure 24 mois.", "Le contrat dure deux ans."),
    ("El museo no abre los lunes.", "Los lunes el museo no abre."),
    ("La sala può ospitare al massimo 40 persone.", "La sala può ospitare fino a 40 persone."),
    ("O parque de estacionamento fecha às 22:00.", "Às 22:00 o parque de estacionamento fecha."),
    ("De zaal mag niet meer dan 40 personen bevatten.", "De zaal mag hooguit 40 personen bevatten."),
    ("L'amende est plafonnée à 30 euros.", "L'amende est due dans la limite de 30 euros."),
    ("No use el gel más de 5 días.", "Use el gel como máximo 5 días."),
    ("## Planned\n- A lift to the roof garden\n", "A lift to the roof garden is planned."),
    ("The soup contains salt but contains neither milk nor nuts.", "The soup does not contain nuts."),
    ("Os cães não entram na sala.", "O cão não entra na sala."),
    ("De cursus duurt veertien dagen.", "De cursus duurt twee weken."),
    ("会员每年享有15天年假。", "会员每年享有十五天年假。"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "statement"), _FALSE)
def test_what_shares_words_only_is_not_borne_out(kind: str, source: str, statement: str) -> None:
    assert judge(statement, told(source)).support != VERDICT_SUPPORTED


def test_a_denial_with_all_words_is_trusted_less_than_half_of_a_statement() -> None:
    denied = judge("The museum opens on Mondays.", prepare("The museum never opens on Mondays."))
    assert (denied.support, denied.score) == (VERDICT_UNSUPPORTED, 1.0)
    in_order = [
        (VERDICT_UNSUPPORTED, 1.0),
        (VERDICT_NOT_CONFIRMED, 0.5),
        (VERDICT_NOT_CONFIRMED, 0.9),
        (VERDICT_SUPPORTED, 0.9),
    ]
    found = [confidence(*one) for one in in_order]
    assert found == sorted(set(found))
    assert (confidence(VERDICT_UNSUPPORTED, 0.0), confidence(VERDICT_SUPPORTED, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("source", "statement"), _TRUE)
def test_what_one_place_says_whole_is_borne_out(source: str, statement: str) -> None:
    verdict = judge(statement, told(source))
    assert verdict.support == VERDICT_SUPPORTED, verdict


def test_a_language_without_a_grammar_is_borne_out_by_quotation_alone() -> None:
    source = prepare(
        "Muzeum jest zamknięte w każdy poniedziałek, bo wtedy pracują konserwatorzy. Wstęp kosztuje 20 złotych."
    )
    assert source.language not in grammar.codes()
    assert judge("Wstęp kosztuje 20 złotych.", source).support == VERDICT_SUPPORTED
    verdict = judge("Muzeum jest zamknięte w poniedziałek.", source)
    assert verdict.support != VERDICT_SUPPORTED
    assert verdict.doubt.reason == CLAIM_REASON_OTHER_LANGUAGE


def test_a_language_is_one_file() -> None:
    for code in grammar.codes():
        assert grammar.load(code) is not None
    assert set(grammar.codes()) >= {"en", "fr", "de", "es", "it", "pt", "nl", "zh"}


@pytest.mark.parametrize(
    "text",
    [
        "## Opening hours of the museum", "Hallo, schön, dass Sie da sind!", "Gracias por su pregunta.", "Quellen",
        "Ich habe keine Informationen zu dieser Frage gefunden.", "Los documentos no dicen nada sobre este tema.",
        "Non ho trovato informazioni su questo punto.", "As fontes não falam deste assunto.", "抱歉，资料中没有相关内容。",
        "De bronnen bevatten geen informatie hierover.", "您好，很高兴为您服务。", "[1] handbook.pdf, page 4",
    ],
)  # fmt: skip
def test_what_states_nothing_gets_no_verdict(text: str) -> None:
    markers = [PlacedMarker(0, 3, 1)] if text.startswith("[1]") else []
    checker = Checker({1: Source(number=1, text="The pool opens at nine.")}, "en")
    checked = checker.check_by_rules(segment(text, markers))
    assert checked
    assert {one.claim.support for one in checked} == {VERDICT_NOT_A_CLAIM}
