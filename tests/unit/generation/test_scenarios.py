# ruff: noqa: E501 - tables of cases
"""The scenarios of the source documents that end in an answer: citation extraction and accuracy (A), answer generation (C)."""

from collections.abc import Sequence

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote.types.v1.locator_pb2 import Anchor, Locator, PageLocator, SheetLocator, TextSpan
from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NO_SOURCE_CITED,
    CLAIM_REASON_OTHER_PLACE,
    CLAIM_REASON_UNSPECIFIED,
)
from footnote_generation.answering.generate import Completed, Delta, Generator
from footnote_generation.answering.retries import RetryPolicy
from footnote_generation.ports import ModelRequest
from support.doubles.model_provider import ScriptedModel
from support.sources_with_tables import with_tables

CELL = types.Source(
    number=1,
    chunk_id="a:000001:0000000",
    document_id="a",
    filename="production.xlsx",
    text="Produit: Vis M6; Quantité en stock: 150 unités",
    locator=Locator(sheet=SheetLocator(sheet="Stocks", range="A12:C12")),
    anchors=[
        Anchor(span=TextSpan(start=9, end=15), locator=Locator(sheet=SheetLocator(sheet="Stocks", range="A12"))),
        Anchor(span=TextSpan(start=36, end=46), locator=Locator(sheet=SheetLocator(sheet="Stocks", range="C12"))),
    ],
)
PAGE = types.Source(
    number=2,
    chunk_id="b:000001:0000004",
    document_id="b",
    filename="rapport.pdf",
    title="Rapport annuel",
    text="Le stock de sécurité recommandé est de 200 unités pour ce produit. Il est revu chaque année.",
    locator=Locator(page=PageLocator(page=3)),
)
OTHER = types.Source(
    number=3,
    chunk_id="c:000001:0000000",
    document_id="c",
    filename="inventaire.csv",
    text="Entrepôt: Lyon; Quantité: 90",
    locator=Locator(sheet=SheetLocator(range="A4:B4")),
)

with_tables(CELL)
with_tables(OTHER)


async def answer(
    *parts: str, sources: Sequence[types.Source] = (CELL, PAGE, OTHER), strict: bool = False
) -> types.Answer:
    request = ModelRequest(messages=(), question="q", sources=sources, locale="fr")
    shown, cited, last = "", [], None
    async for event in Generator(RetryPolicy()).run(ScriptedModel(parts), request, strict):
        if isinstance(event, Delta):
            shown += event.text
        elif isinstance(event, Completed):
            last = event.answer
        elif isinstance(event, types.Citation):
            cited.append(event)
    assert last is not None
    assert shown == last.text
    assert cited == list(last.citations)
    for citation in last.citations:
        source = next(item for item in sources if item.number == citation.number)
        assert source.text[citation.quote_span.start : citation.quote_span.end] == citation.quote
    return last


async def test_a_natural_french_citation_is_parsed() -> None:
    text = "Selon la cellule C12 (feuille 'Stocks' du fichier production.xlsx): 150"
    made = await answer(*text)
    assert made.text == text
    citation = made.citations[0]
    assert (citation.filename, citation.locator.sheet.sheet, citation.locator.sheet.range) == (
        "production.xlsx",
        "Stocks",
        "C12",
    )
    assert made.text[citation.marker_span.start : citation.marker_span.end].startswith("Selon la cellule C12")
    assert citation.label == "production.xlsx, feuille 'Stocks', cellule C12"
    assert citation.support == types.VERDICT_SUPPORTED


async def test_a_exact_source_format_is_parsed_and_shortened() -> None:
    made = await answer("Le stock de sécurité est de 200 unités [Source 2: rapport.pdf, page 3].")
    assert made.text == "Le stock de sécurité est de 200 unités [2]."
    assert made.citations[0].label == "rapport.pdf, page 3"


async def test_a_three_citations_of_three_sources_stand_at_their_places() -> None:
    made = await answer(
        "Il y a 150 unités de Vis M6 en stock [1]. Le stock de sécurité recommandé est de 200 unités [2]. À Lyon, la quantité est de 90 [3]."
    )
    assert [citation.number for citation in made.citations] == [1, 2, 3]
    assert [citation.filename for citation in made.citations] == ["production.xlsx", "rapport.pdf", "inventaire.csv"]
    for citation in made.citations:
        assert made.text[citation.marker_span.start : citation.marker_span.end] == f"[{citation.number}]"
    assert made.citations[0].locator.sheet.range == "C12"
    assert made.reliability.sources_used == 1.0


async def test_a_citation_of_a_source_that_does_not_exist_is_removed_and_warned_of() -> None:
    made = await answer("Le stock de sécurité est de 200 unités [2][8]. ", "Selon la page 9 de secret.pdf, il est nul.")
    assert made.text == "Le stock de sécurité est de 200 unités [2]. Il est nul."
    assert made.reliability.invalid_citations == 2
    assert len(made.warnings) == 2


async def test_a_no_information_found_is_a_miss() -> None:
    made = await answer("Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question.")
    assert made.finish_reason == types.FINISH_REASON_NO_RELEVANT_CONTENT
    assert made.reliability.claims == 0


async def test_c_reliability_is_used_over_given_sources_and_supported_over_all_claims() -> None:
    made = await answer(
        "Le stock de sécurité recommandé est de 200 unités pour ce produit [2]. Il coûte 47 euros [2]. Tout va bien."
    )
    assert (made.claims[0].basis, made.citations[0].basis) == (types.BASIS_QUOTED,) * 2
    assert (made.reliability.claims_quoted, made.reliability.claims_read, made.reliability.claims_unread) == (1, 0, 0)
    assert made.reliability.sources_used == pytest.approx(1 / 3)
    assert made.reliability.claims == 3
    assert made.reliability.claims_supported == pytest.approx(1 / 3)
    assert [claim.support for claim in made.claims] == [
        types.VERDICT_SUPPORTED,
        types.VERDICT_UNSUPPORTED,
        types.VERDICT_UNCITED,
    ]
    assert made.claims[1].reason
    assert [made.claims[0].reason, made.claims[2].reason] == [
        CLAIM_REASON_UNSPECIFIED,
        CLAIM_REASON_NO_SOURCE_CITED,
    ]


async def test_c_model_answer_is_sanitised() -> None:
    made = await answer("La clé est sk-abcdefghijklmnopqrstu <b>ici</b>\u202e [2].")
    assert made.text == "La clé est [redacted] ici [2]."
    assert len(made.warnings) == 3


async def test_markers_after_the_full_stop_belong_to_the_sentence_before() -> None:
    made = await answer("Le stock de sécurité recommandé est de 200 unités. [2] À Lyon, la quantité est de 90. [3]")
    first, second = made.citations
    assert (
        made.text[first.claim_span.start : first.claim_span.end] == "Le stock de sécurité recommandé est de 200 unités."
    )
    assert second.number == 3
    assert made.text[second.claim_span.start : second.claim_span.end] == "À Lyon, la quantité est de 90."


async def test_list_items_are_claims_of_their_own() -> None:
    made = await answer("Voici les quantités :\n- Vis M6 : 150 unités [1]\n- Lyon : 90 [3]\n")
    assert [claim.support for claim in made.claims] == [
        types.VERDICT_NOT_A_CLAIM,
        types.VERDICT_SUPPORTED,
        types.VERDICT_SUPPORTED,
    ]


async def test_a_sentence_over_two_sources_may_be_borne_out_by_both_together() -> None:
    made = await answer(
        "Il y a 150 unités de Vis M6 en stock et le stock de sécurité recommandé est de 200 unités [1][2]."
    )
    assert made.claims[0].support != types.VERDICT_UNSUPPORTED
    assert list(made.claims[0].sources) == [1, 2]


async def test_strict_mode_with_nothing_left_says_not_found() -> None:
    made = await answer("Le stock de sécurité est de 999 unités [2].", strict=True)
    assert made.text == "Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question."
    assert made.finish_reason == types.FINISH_REASON_NO_RELEVANT_CONTENT


async def test_every_cut_of_the_stream_gives_the_same_answer() -> None:
    text = "Il y a 150 unités [1, 2]. Selon la page 3 de rapport.pdf, le stock de sécurité est de 200 unités [Source 2] [7]."
    whole = await answer(text)
    for cut in range(1, len(text), 3):
        assert await answer(text[:cut], text[cut:]) == whole
    assert await answer(*text) == whole


STOCK = types.Source(
    number=1,
    filename="stock.xlsx",
    text="Item: Bolts; Quantity: 150; Site: Lyon\nItem: Screws; Quantity: 80; Site: Metz",
    locator=Locator(sheet=SheetLocator(sheet="Stock", range="B12:D13")),
    anchors=[
        Anchor(span=TextSpan(start=start, end=end), locator=Locator(sheet=SheetLocator(sheet="Stock", range=cell)))
        for start, end, cell in [(6, 11, "B12"), (23, 26, "C12"), (34, 38, "D12"), (45, 51, "B13"), (63, 65, "C13"), (73, 77, "D13")]
    ],
)  # fmt: skip
with_tables(STOCK)
PAGES = types.Source(
    number=2,
    filename="handbook.pdf",
    text="Lunch is free on Mondays. Parking costs 5 euros a day.",
    locator=Locator(page=PageLocator(page=3, last_page=4)),
    anchors=[
        Anchor(span=TextSpan(start=0, end=25), locator=Locator(page=PageLocator(page=3))),
        Anchor(span=TextSpan(start=26, end=54), locator=Locator(page=PageLocator(page=4))),
    ],
)


@pytest.mark.parametrize(
    ("text", "right", "place", "found"),
    [
        ("The quantity of bolts is 150 (cell C12 of stock.xlsx).", True, "C12", ""),
        ("The quantity of bolts is 150 (cell C13 of stock.xlsx).", False, "C13", "80"),
        ("The quantity of bolts is 150 [cell C13 of stock.xlsx].", False, "C13", "80"),
        ("The quantity of bolts is 150 [Source 1: stock.xlsx, cell C13].", False, "C13", "80"),
        ("According to cell C13 of stock.xlsx, the quantity of bolts is 150.", False, "C13", "80"),
        ("Selon la cellule C13 du fichier stock.xlsx, the quantity of bolts is 150.", False, "C13", "80"),
        ("Cell C13 gives a quantity of bolts of 150 [1].", False, "C13", "80"),
        ("The site of the screws is Metz (cell D13 of stock.xlsx).", True, "D13", ""),
        ("The site of the screws is Metz (cell D12 of stock.xlsx).", False, "D12", "Lyon"),
        ("Parking costs 5 euros a day (page 4 of handbook.pdf).", True, 4, ""),
        ("Parking costs 5 euros a day (page 3 of handbook.pdf).", False, 3, ""),
        ("As page 3 says, parking costs 5 euros a day [2].", False, 3, ""),
    ],
)  # fmt: skip
async def test_a_place_named_in_words_is_checked_and_never_moved(
    text: str, right: bool, place: str | int, found: str
) -> None:
    made = await answer(text, sources=(STOCK, PAGES))
    (citation,) = made.citations
    locator = citation.locator
    assert (locator.sheet.range or locator.page.page) == place
    assert not isinstance(place, int) or locator.page.last_page in (0, place)
    claim = made.claims[0]
    if right:
        assert claim.support != types.VERDICT_UNSUPPORTED
    else:
        assert (claim.support, citation.support) == (types.VERDICT_UNSUPPORTED,) * 2
        assert claim.reason == CLAIM_REASON_OTHER_PLACE
        assert claim.found.startswith(found)
        assert str(place) in claim.subject


async def test_a_wrong_place_is_not_made_right_by_another_source() -> None:
    made = await answer("Parking costs 5 euros a day (page 3 of handbook.pdf) [2].", sources=(STOCK, PAGES))
    assert made.claims[0].support == types.VERDICT_UNSUPPORTED


async def test_strict_mode_withholds_what_is_not_confirmed_and_counts_it() -> None:
    weak = "Le stock de sécurité conseillé par Dupont est de 200 unités [2]."
    assert (await answer(weak, sources=(PAGE,))).claims[0].support == types.VERDICT_NOT_CONFIRMED
    good = "Le stock de sécurité recommandé est de 200 unités pour ce produit [2]."
    made = await answer(f"{weak} {good} Il y en a 999 [2]. Personne ne sait.", sources=(PAGE,), strict=True)
    assert made.text == good
    assert made.reliability.withheld_claims == 3
    assert made.warnings[-1].startswith("3 statements")
    assert {claim.support for claim in made.claims} == {types.VERDICT_SUPPORTED}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Parking costs 5 euros a day<sup>2</sup>.", "Parking costs 5 euros a day[2]."),
        ("Parking costs 5 euros a day²; x² + 10<sup>2</sup>.", "Parking costs 5 euros a day[2]; x² + 10²."),
        ("Parking costs 5 euros a day¹².", "Parking costs 5 euros a day[1][2]."),
        ("Parking costs 5 euros a day⁷.", "Parking costs 5 euros a day⁷."),
        ("Parking costs 5 euros a day [2](https://example.org/x).", "Parking costs 5 euros a day [2]."),
        ("Parking costs 5 euros a day, as in `row[2]`.", "Parking costs 5 euros a day, as in `row[2]`."),
    ],
)
async def test_markers_as_models_write_them_are_shown_as_numbers(said: str, shown: str) -> None:
    made = await answer(*said, sources=(STOCK, PAGES))
    assert made.text == shown
    assert len(made.citations) == shown.count("[1]") + shown.count(" [2]") + shown.count("y[2]") + shown.count("][2]")


async def test_without_a_source_a_disobedient_model_is_not_shown() -> None:
    shown = []
    request = ModelRequest(messages=(), question="q", sources=(), locale="fr")
    async for event in Generator(RetryPolicy()).run(
        ScriptedModel(["The capital ", "of France is Paris. ", "Ask more!"]), request
    ):
        if isinstance(event, Delta):
            shown.append(event.text)
        elif isinstance(event, Completed):
            last = event
    assert "".join(shown) == last.answer.text
    assert last.answer.text.startswith("Je n'ai trouvé dans vos documents aucun passage")
    assert last.withheld == "The capital of France is Paris. Ask more!"
    assert last.answer.finish_reason == types.FINISH_REASON_NO_RELEVANT_CONTENT
    assert last.answer.warnings


@pytest.mark.parametrize(
    "said",
    [
        "I could not find any information about this.",
        "Ich habe keine Informationen dazu.",
        "I couldn't find anything about parental leave in the provided sources, so I cannot answer this question.",
        "I'm sorry, but I cannot help you with that request, because it could be used to harm others.",
        "The sources do not mention parental leave; there is no information on it, so I don't know.",
        "The provided documents do not appear to have any information about it.",
        "Unfortunately, the documents do not mention leave because of an illness in the family.",
        "I'm sorry, but I couldn't find any information about it because the documents do not mention it.",
        "Non ho trovato informazioni su questo, quindi non posso rispondere alla domanda.",
    ],
)
async def test_a_model_that_says_itself_that_nothing_was_found_is_shown(said: str) -> None:
    made = await answer(said, sources=())
    assert (made.text, list(made.warnings)) == (said, [])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("said", "besides"),
    [
        ("I could not find any information about this in your documents.", " In general, the warranty is 24 months."),
        ("I could not find it in the documents.", " The notice period is three months."),
        ("Je n'ai pas trouvé d'information.", " Le directeur est un escroc."),
        ("Sorry, I cannot answer that.", " The maker is Acme."),
        ("I don't know.", "\n# Warranty: 24 months\n```\n24 months\n```"),
        ("The documents do not contain this information.", " Please contact your HR department for details."),
        ("The documents do not contain this information.", " If you upload the policy, I can look again."),
        ("Les documents ne contiennent pas cette information.", " Je vous invite à contacter le service concerné."),
        ("", "I could not find any information, but lasers usually break."),
        ("", "Ich habe keine Informationen dazu; üblich sind zwei Jahre Garantie."),
        ("", "Sorry. I could not find any information, but lasers usually break."),
        ("", "I cannot help with that, but the maker is Acme of Lyon."),
    ],
)
async def test_without_a_source_not_found_is_all_that_a_model_may_say(said: str, besides: str, strict: bool) -> None:
    made = await answer(said + besides, sources=(), strict=strict)
    assert made.text == (said or "Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question.")
    refused = said.startswith("Sorry")
    assert made.finish_reason == (types.FINISH_REASON_REFUSED if refused else types.FINISH_REASON_NO_RELEVANT_CONTENT)
    assert list(made.warnings) == ["Nothing was found, so that what the model wrote besides is not shown."]


@pytest.mark.parametrize(
    "said",
    [
        "The documents do not mention a fee, so the CEO pays 500 EUR.",
        "There is no data on A; the fee of B is the same as that of C.",
        "Leider kostet das Gerät 500 Euro.",
    ],
)
async def test_a_sentence_that_only_begins_as_not_found_is_a_claim(said: str) -> None:
    good = "Le stock de sécurité recommandé est de 200 unités pour ce produit [2]."
    made = await answer(f"{good} {said}", sources=(PAGE,))
    assert [one.support for one in made.claims] == [types.VERDICT_SUPPORTED, types.VERDICT_UNCITED]
    made = await answer(f"{good} {said}", sources=(PAGE,), strict=True)
    assert (made.text, made.reliability.withheld_claims) == (good, 1)


SMOKING = (types.Source(number=1, filename="house.md", text="Smoking is allowed in the hall of the house."),)
BEHIND_NOT_FOUND = [
    "I could not find any information about the yard; however the sources do not allow smoking in the hall.",
    "The documents do not say when; the documents do not allow smoking in the hall.",
    "The sources do not give a date, but the documents do not permit smoking in the hall.",
    "I cannot answer that, because the house forbids smoking in the hall for everyone.",
    "I cannot answer that, because it is forbidden to smoke in the hall.",
    "I couldn't find a date; there is no data limit for members of the house.",
    "The documents do not allow smoking in the hall.",
    "No information is shared with members of the house.",
    "Il n'y a pas de fumoir dans la maison.",
    "Les documents n'autorisent pas de fumer dans la maison.",
    "Los documentos no permiten fumar en la casa.",
    "No he encontrado una fecha; lo siento, en la casa no se permite fumar.",
    "I could not find a date; leider ist das Rauchen im Haus verboten.",
    "I could not find any information on dates but the hall is free of smoke.",
    "I cannot answer that because the house forbids smoking for everyone.",
    "Nie wiem, palenie jest w domu zabronione.",
]


@pytest.mark.parametrize("said", BEHIND_NOT_FOUND)
async def test_what_stands_behind_not_found_is_shown_only_where_it_is_confirmed(said: str) -> None:
    good = "Smoking is allowed in the hall of the house [1]."
    made = await answer(f"{good} {said[:-1]} [1].", sources=SMOKING, strict=True)
    assert (made.text, made.reliability.withheld_claims) == (good, 1)
    made = await answer(said, sources=(), strict=False)
    assert made.text == "Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question."


@pytest.mark.parametrize("said", ["Leider ist das Rauchen im Haus verboten", "I couldn't find it, so I don't know why"])
async def test_a_cited_sentence_is_excused_neither_by_regret_nor_by_a_second_clause(said: str) -> None:
    made = await answer(f"{said} [1].", sources=SMOKING)
    assert [one.support for one in made.claims] == [types.VERDICT_NOT_CONFIRMED]


@pytest.mark.parametrize("said", ["The documents do not mention a fee", "Los documentos no mencionan la casa"])
async def test_not_found_may_cite_what_was_searched(said: str) -> None:
    made = await answer(f"{said} [1].", sources=SMOKING, strict=True)
    assert [one.support for one in made.claims] == [types.VERDICT_NOT_A_CLAIM]


@pytest.mark.parametrize("strict", [False, True])
async def test_a_sentence_that_says_what_was_not_found_is_none(strict: bool) -> None:
    good = "Le stock de sécurité recommandé est de 200 unités pour ce produit [2]."
    made = await answer(f"{good} The documents do not mention a fee.", sources=(PAGE,), strict=strict)
    assert [one.support for one in made.claims] == [types.VERDICT_SUPPORTED, types.VERDICT_NOT_A_CLAIM]


async def test_a_footnote_binds_to_the_clause_before_it() -> None:
    text = (
        "The quantity of bolts is 150 [1], while parking costs 5 euros a day [2]. Bolts [1] and parking [2] are there."
    )
    made = await answer(text, sources=(STOCK, PAGES))
    said = [made.text[claim.span.start : claim.span.end] for claim in made.claims]
    assert said == [
        "The quantity of bolts is 150", "while parking costs 5 euros a day [2].", "Bolts [1] and parking [2] are there."
    ]  # fmt: skip
    assert [list(claim.sources) for claim in made.claims] == [[1], [2], [1, 2]]
    assert made.claims[0].basis == types.BASIS_CELLS


async def test_cells_of_a_table_are_claims_with_the_headers_of_row_and_column() -> None:
    text = "| Item | Quantity | Site |\n|---|---|---|\n| Bolts | 150 [1] | Lyon [1] |\n| Screws | 150 [1] | Metz |\n"
    made = await answer(*text, sources=(STOCK, PAGES))
    said = [(made.text[claim.span.start : claim.span.end], claim.support, claim.basis) for claim in made.claims]
    assert said == [
        ("150", types.VERDICT_SUPPORTED, types.BASIS_CELLS),
        ("Lyon", types.VERDICT_SUPPORTED, types.BASIS_CELLS),
        ("150", types.VERDICT_UNSUPPORTED, types.BASIS_UNSPECIFIED),
        ("Metz", types.VERDICT_UNCITED, types.BASIS_UNSPECIFIED),
    ]
    assert (made.claims[2].stated, made.claims[2].found) == ("150", "80")
    assert [citation.locator.sheet.range for citation in made.citations] == ["C12", "D12", "C13"]


async def test_a_marker_on_a_line_of_its_own_belongs_to_the_statement_above() -> None:
    made = await answer("Lunch is free on Mondays.\n[2]\n\n- Parking costs 5 euros a day.\n  [2]\n", sources=(PAGES,))
    assert [(claim.support, list(claim.sources)) for claim in made.claims] == [(types.VERDICT_SUPPORTED, [2])] * 2


@pytest.mark.parametrize("strict", [False, True])
async def test_a_line_that_begins_with_its_marker_is_a_claim_or_names_its_source(strict: bool) -> None:
    text = "- [1] Parking costs 5 euros a day\n- [2] Lunch is free on Mondays"
    made = await answer(text, sources=(PARKING, LUNCH), strict=strict)
    assert [(claim.support, list(claim.sources)) for claim in made.claims] == [
        (types.VERDICT_SUPPORTED, [1]),
        (types.VERDICT_SUPPORTED, [2]),
    ]
    assert made.finish_reason == types.FINISH_REASON_ANSWERED
    for heading in ("", "Sources:\n", "## Quellen\n"):
        listed = f"Parking costs 5 euros a day [1].\n\n{heading}[1] site.md\n[2] Lunch rules, page 3\n- [2] lunch.pdf"
        made = await answer(*listed, sources=(PARKING, LUNCH), strict=strict)
        assert made.text == listed
        assert {claim.support for claim in made.claims[1:]} == {types.VERDICT_NOT_A_CLAIM}
    made = await answer("[1] Parking costs 50 euros a day. The director is a felon", sources=(PARKING,))
    assert [one.support for one in made.claims] == [types.VERDICT_UNSUPPORTED, types.VERDICT_UNCITED]
    unnamed = "Parking costs 5 euros a day [1].\n\nSources:\n[1] Rules of the site in their edition of May"
    made = await answer(*unnamed, sources=(PARKING,), strict=strict)
    assert (made.text == unnamed) == (not strict)


PARKING = types.Source(number=1, filename="site.md", text="Parking costs 5 euros a day.")
LUNCH = types.Source(number=2, filename="lunch.pdf", title="Lunch rules", text="Lunch is free on Mondays.")
