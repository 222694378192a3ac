"""A statement about a cell rests on that cell, whatever its text holds; headers and values come from the parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1 import parsing_pb2, passage_pb2, stored_document_pb2
from footnote.types.v1 import collection_pb2
from footnote.types.v1.answer_pb2 import (
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNSUPPORTED,
    Citation,
    Source,
    Verdict,
)
from footnote_generation.extractive.compose import draft
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment
from footnote_indexing.chunking.drafts import Drafter
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.sheets.parser import CsvParser

ROWS = (
    'Product,Colours; sizes,Stock,Note: internal\n"Lamp; tall","red; blue",150,"soon: red"\n'
    '"Lamp; round","green; grey",80,"dry; clean"\n"Desk","oak",7,"kept"\n'
)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A spreadsheet as the parser and the chunker make a source of it."""
    path = tmp_path / "stock.csv"
    path.write_text(ROWS)
    blocks: list[parsing_pb2.Block] = []
    CsvParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    settings = collection_pb2.CollectionSettings()
    settings.chunking.strategy, settings.chunking.size = collection_pb2.CHUNKING_STRATEGY_TABLE, 1000
    drafter = Drafter(stored_document_pb2.Document(id="d", revision=1), settings, lambda texts: [])  # type: ignore[arg-type,return-value]
    (chunk,) = (one.chunk for one in drafter.feed(blocks) + drafter.finish(parsing_pb2.ParsedMetadata()))
    return of(chunk)


def of(chunk: passage_pb2.Chunk) -> Source:
    return Source(
        number=1, filename="stock.csv", text=chunk.text, locator=chunk.locator, anchors=chunk.anchors,
        tables=chunk.tables, score=0.9,
    )  # fmt: skip


def cited(source: Source, statement: str) -> Citation:
    checker = Checker({1: source}, "en")
    at = statement.index("[1]")
    (checked,) = checker.check_by_rules(segment(statement, [PlacedMarker(at, at + 3, 1)]))
    (citation,) = checked.citations
    return citation


@pytest.mark.parametrize(
    ("statement", "cell", "row"),
    [
        ("The stock of the Lamp; tall is 150 [1].", "C2", "Lamp; tall"),
        ("The stock of the Lamp; round is 80 [1].", "C3", "Lamp; round"),
        ("The stock of the Desk is 7 [1].", "C4", "Desk"),
    ],
)
def test_the_right_cell_is_supported_and_named_with_its_headers(
    source: Source, statement: str, cell: str, row: str
) -> None:
    citation = cited(source, statement)
    assert citation.support == VERDICT_SUPPORTED
    assert citation.locator.sheet.range == cell
    assert list(citation.cell.column_headers) == ["Stock"]
    assert list(citation.cell.row_headers) == [row]
    assert citation.cell.text == str(int(citation.cell.cell.number))


@pytest.mark.parametrize("statement", ["The stock of the Lamp; tall is 80 [1].", "The stock of the Desk is 150 [1]."])
def test_the_cell_of_another_row_is_not(source: Source, statement: str) -> None:
    assert cited(source, statement).support != VERDICT_SUPPORTED


def test_the_built_in_answerer_gives_the_cell_asked_for(source: Source) -> None:
    (text, number), *_ = draft("What is the stock of the tall lamp?", [source]).sentences
    assert (text, number) == ("Lamp; tall — Stock: 150", 1)


def of_rows(tmp_path: Path, text: str, size: int = 1000) -> list[Source]:
    path = tmp_path / "table.csv"
    path.write_text(text)
    blocks: list[parsing_pb2.Block] = []
    CsvParser().parse(path, BlockWriter(blocks.append, Limits()), Limits())
    settings = collection_pb2.CollectionSettings()
    settings.chunking.strategy, settings.chunking.size = collection_pb2.CHUNKING_STRATEGY_TABLE, size
    drafter = Drafter(stored_document_pb2.Document(id="d", revision=1), settings, lambda texts: [])  # type: ignore[arg-type,return-value]
    drafts = drafter.feed(blocks) + drafter.finish(parsing_pb2.ParsedMetadata())
    return [of(passage_pb2.Chunk.FromString(one.chunk.SerializeToString())) for one in drafts]


def test_names_that_all_rows_share_and_codes_need_not_be_said(tmp_path: Path) -> None:
    (found,) = of_rows(tmp_path, "State,Code,Place,Cast\nKansas,7,Mill,12\nKansas,8,Hill,14\nKansas,9,Weir,31\n")
    assert cited(found, "Cast of Mill is 12 [1].").support == VERDICT_SUPPORTED
    assert cited(found, "Cast of Mill, Kansas is 12 [1].").support == VERDICT_SUPPORTED
    assert cited(found, "Cast of Mill is 14 [1].").support != VERDICT_SUPPORTED
    assert cited(found, "Cast of Kansas is 12 [1].").support != VERDICT_SUPPORTED


def test_a_part_of_a_wide_row_knows_the_name_of_its_row(tmp_path: Path) -> None:
    width = 500
    head = ",".join(["Town", *(f"Count of sort {at}" for at in range(100, 100 + width))])
    body = [
        ",".join([name, *(str(start + at) for at in range(width))]) for name, start in (("Ghent", 1000), ("Mons", 5000))
    ]
    parts = of_rows(tmp_path, "\n".join([head, *body]) + "\n", 200)
    (part,) = (one for one in parts if "1355" in one.text)
    assert "Ghent" not in part.text
    citation = cited(part, "The count of sort 455 of Ghent is 1355 [1].")
    assert (citation.support, list(citation.cell.row_headers)) == (VERDICT_SUPPORTED, ["Ghent"])
    assert cited(part, "The count of sort 455 of Mons is 1355 [1].").support != VERDICT_SUPPORTED
    assert cited(part, "The count of sort 455 of Ghent is 1354 [1].").support != VERDICT_SUPPORTED


ACCOUNTS = (
    "Archive,Region,Visitors,Result 2023\n"
    'Maps,North,1290,"(1,250)"\nLetters,South,2140,"3,480"\nPhotographs,North,3875,"1,905"\nNewspapers,South,960,(640)\n'
)


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Result 2023 of Maps is (1,250) [1].", VERDICT_SUPPORTED),
        ("Result 2023 of Maps is -1,250 [1].", VERDICT_SUPPORTED),
        ("Result 2023 of Maps is −1250 [1].", VERDICT_SUPPORTED),
        ("Result 2023 of Maps is 1,250 [1].", VERDICT_NOT_CONFIRMED),
        ("Result 2023 of Newspapers is -640 [1].", VERDICT_SUPPORTED),
        ("Result 2023 of Letters is 3,480 [1].", VERDICT_SUPPORTED),
        ("Result 2023 of Letters is -3,480 [1].", VERDICT_UNSUPPORTED),
        ("Result 2023 of Letters (3,480) [1].", VERDICT_SUPPORTED),
    ],
)
def test_brackets_around_a_number_are_its_minus(tmp_path: Path, statement: str, verdict: Verdict.ValueType) -> None:
    (found,) = of_rows(tmp_path, ACCOUNTS)
    assert cited(found, statement).support == verdict


def test_a_statement_may_describe_the_row_by_its_other_cells(tmp_path: Path) -> None:
    (found,) = of_rows(tmp_path, ACCOUNTS)
    assert cited(found, "Maps, North — Visitors: 1290 [1].").support == VERDICT_SUPPORTED
    assert cited(found, "Maps, South — Visitors: 1290 [1].").support != VERDICT_SUPPORTED
    assert cited(found, "Maps, North — Visitors: 2140 [1].").support != VERDICT_SUPPORTED


def test_of_a_row_quoted_whole_the_footnote_names_the_cell_asked_for(tmp_path: Path) -> None:
    (found,) = of_rows(tmp_path, ACCOUNTS)
    row = found.text.splitlines()[1] if found.text.startswith("Archive,") else found.text.splitlines()[0]
    statement = f"{row} [1]."
    marker = PlacedMarker(statement.index("[1]"), statement.index("[1]") + 3, 1)

    def asked(question: str) -> Citation:
        checker = Checker({1: found}, "en", question=question)
        (checked,) = checker.check_by_rules(segment(statement, [marker]))
        (citation,) = checked.citations
        return citation

    visitors, result, unclear = map(asked, ("How many visitors came to the Maps?", "What was the result of Maps?", "?"))
    assert (visitors.cell.text, visitors.locator.sheet.range, visitors.quote) == ("1290", "C2", row)
    assert (result.cell.text, result.locator.sheet.range) == ("(1,250)", "D2")
    assert (unclear.HasField("cell"), unclear.locator.sheet.range) == (False, "A2:D2")


def test_a_word_that_says_little_may_be_a_header(tmp_path: Path) -> None:
    (found,) = of_rows(tmp_path, "Trail,Length,Level\nBlue lake,6.5,easy\nFox pass,14.2,hard\n")
    (text, _), *_ = draft("What is the level of the Fox pass?", [found]).sentences
    assert text == "Fox pass — Level: hard"


SALES = "Product,Revenue (million EUR),City\nAlpha,5,a\nBeta,7,b\n"
PUMPS = "Device,Power (kW),Current (mA),Volume (ml),Time (ms)\nPump,5,6,7,8\nFan,15,16,17,18\n"
LASERS = "Laser,Output,Room\nPolaris,5 mW,a\nVega,7 mW,b\n"
ROLES = "Role,Vault,Safe\nReader,access,key\nAdmin,no access,no key\n"
GUARANTEES = "Plan,Garantía,Sala\nBásico,no incluida,1\nPro,incluida,2\n"
LIMITS = "Substance,Limit,Room\nLead,< 5 mg,1\nTin,> 7 mg,2\nZinc,9 mg,3\n"
RETURNS = "Item,Return,Room\nLamp,not within 30 days,1\nDesk,within 14 days,2\nChair,60 days,3\n"
SHIFTS = "Shift,Start,Length\nNight,12:30 am,1½ hours\nNoon,12:30 PM,2 hours\n"
DUTCH = "Artikel,Prijs,Staat\nLamp,5,gekeurd\nBank,7,niet gekeurd\nKast,9,nog niet bekend\n"
GERMAN = "Artikel,Preis,Zustand\nLampe,5,offen\nBank,7,nicht offen\nSchrank,9,noch nicht bekannt\n"
FRENCH = "Produit,Prix,Ville\nLampe,5,Lyon\nBanc,7,Nice\nArmoire,9,pas encore connue\n"
RANGES = "Model,Range (km),Battery\nMax,400*,large\nMini,300†,small\nPlus,**500**,none **\n"
DAYS = "Part,Due,Width\nBeam,03/04/2025,5\nBar,{},8\n"


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        (SALES, "The revenue of Alpha is 5 million EUR [1]."),
        (SALES, "The revenue of Alpha is €5 million [1]."),
        (SALES, "The revenue of Alpha is 5,000,000 EUR [1]."),
        (SALES, "The revenue of Alpha is 5 [1]."),
        ("Produkt,Umsatz (Mio. €),Ort\nAlpha,5,a\nBeta,7,b\n", "Der Umsatz von Alpha beträgt 5 Mio. € [1]."),
        ("Produit,Prix (k€),Ville\nA1x,5,a\nB1x,7,b\n", "Le prix de A1x est 5000 € [1]."),
        ("Town,Residents (thousands),Area\nLyon,5,a\nNice,7,b\n", "The residents of Lyon are 5 thousands [1]."),
        ("Town,Residents (thousands),Area\nLyon,5,a\nNice,7,b\n", "The residents of Lyon are 5 thousand [1]."),
        (PUMPS, "The power of the Pump is 5 kW [1]."),
        (PUMPS, "The power of the Pump is 5000 W [1]."),
        (PUMPS, "5 kW is the power of the Pump [1]."),
        (LASERS, "The output of Polaris is 5 mW [1]."),
        (LASERS, "The output of Polaris is 0.005 W [1]."),
        (ROLES, "The Vault of Admin is no access [1]."),
        (ROLES, "Reader — Vault: access [1]."),
        (GUARANTEES, "La garantía de Pro es incluida [1]."),
        (GUARANTEES, "La garantía del Básico es no incluida [1]."),
        (LIMITS, "The limit of Lead is < 5 mg [1]."),
        (LIMITS, "The limit of Zinc is 0.009 g [1]."),
        (RETURNS, "The return of Lamp is not within 30 days [1]."),
        (RETURNS, "The return of Chair is 60 days [1]."),
        (SHIFTS, "The start of Night is 0:30 [1]."),
        (SHIFTS, "The start of Noon is 12:30 pm [1]."),
        (DAYS.format("25/12/2025"), "The due of Beam is 3 April 2025 [1]."),
        (DAYS.format("12/25/2025"), "The due of Beam is 4 March 2025 [1]."),
        ("Produit,Prix,Ville\nArticle,5,a\nBanc,7,b\n", "Le prix de l'article est 5 [1]."),
        ("Artigo,Preço (€),Estado\nPorto,550,em armazém\nBraga,1250,esgotado\n", "O preço no Porto é 550 € [1]."),
        (RANGES, "Mini – Range (km): 300† [1]"),
        (RANGES, "Plus – Range (km): 500 [1]"),
        (DUTCH, "The Prijs of Lamp is 5 [1]."),
        (DUTCH, "The Staat of Lamp is gekeurd [1]."),
        (GERMAN, "The Zustand of Lampe was offen [1]."),
        (GERMAN, "The Preis of Lampe was 5 [1]."),
        (FRENCH, "El Prix de la Lampe es 5 [1]."),
        (FRENCH, "La Ville del Lampe es Lyon [1]."),
        (ROLES, "O Vault do Reader é access [1]."),
        (ROLES, "O Vault do Admin é no access [1]."),
        (ROLES, "O Safe no Reader é key [1]."),
    ],
)
def test_the_value_of_a_cell_with_its_unit_is_supported(tmp_path: Path, table: str, statement: str) -> None:
    (found,) = of_rows(tmp_path, table)
    assert cited(found, statement).support == VERDICT_SUPPORTED


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        (SALES, "The revenue of Alpha is 5 EUR [1]."),
        (SALES, "The revenue of Alpha is €5 [1]."),
        ("Produkt,Umsatz (Mio. €),Ort\nAlpha,5,a\nBeta,7,b\n", "Der Umsatz von Alpha beträgt 5 € [1]."),
        ("Produit,Prix (k€),Ville\nA1x,5,a\nB1x,7,b\n", "Le prix de A1x est 5 € [1]."),
        ("Town,Residents (thousands),Area\nLyon,5,a\nNice,7,b\n", "The residents of Lyon are 5 million [1]."),
        (PUMPS, "The power of the Pump is 5 W [1]."),
        (PUMPS, "The current of the Pump is 6 A [1]."),
        (PUMPS, "The volume of the Pump is 7 l [1]."),
        (PUMPS, "The time of the Pump is 8 s [1]."),
        (PUMPS, "The time of the Pump is 8 d [1]."),
        ("Part,Length (ft),Width\nBeam,6,5\nBar,7,8\n", "The length of Beam is 6 in [1]."),
        (LASERS, "The output of Polaris is 5 MW [1]."),
        (LASERS, "The output of Polaris is 5000 kW [1]."),
        ("Laser,Output (mW),Room\nPolaris,5,a\nVega,7,b\n", "The output of Polaris is 5 MW [1]."),
        (ROLES, "The Vault of Reader is no access [1]."),
        (ROLES, "The Vault of Admin is access [1]."),
        (ROLES, "Reader — Vault: no access [1]."),
        (ROLES, "O Vault do Reader é no access [1]."),
        (ROLES, "O Vault do Reader: no access [1]."),
        (DUTCH, "The Prijs of Lamp is 7 [1]."),
        (DUTCH, "De prijs van Lamp is 5 of 7 [1]."),
        (GUARANTEES, "La garantía del Básico es incluida [1]."),
        (GUARANTEES, "La garantía de Pro no es incluida [1]."),
        (GUARANTEES, "Garantía de Pro: no incluida [1]."),
        (LIMITS, "The limit of Lead is 5 mg [1]."),
        (LIMITS, "The limit of Tin is < 7 mg [1]."),
        (LIMITS, "The limit of Zinc is < 9 mg [1]."),
        (RETURNS, "The return of Lamp is 30 days [1]."),
        ("Item,Cover,Room\nLamp,excluded (see 5),1\nDesk,never before 2026,2\n", "The cover of Lamp is 5 [1]."),
        ("Item,Cover,Room\nLamp,excluded (see 5),1\nDesk,never before 2026,2\n", "The cover of Desk is 2026 [1]."),
        (SHIFTS, "The length of Night is 1 hour [1]."),
        ("Part,Length,Width\nBeam,6′,5″\nBar,7′,8″\n", "The length of Beam is 6 m [1]."),
        ("Firm;Sales;Town\nAlpha;1.5k EUR;x\nBeta;2 lakh;y\n", "Sales of Alpha: 1.5 [1]."),
        ("Firm;Sales;Town\nAlpha;1.5k EUR;x\nBeta;2 lakh;y\n", "Sales of Beta: 2 [1]."),
        ("Bond,Rating,Coupon\nAlpha,BBB-,1\nBeta,A+,2\n", "The rating of Alpha is BBB+ [1]."),
        ("Produit,Prix,Ville\nArticle,5,a\nBanc,7,b\n", "Le prix de l'article est d'environ 5 [1]."),
        (SHIFTS, "The start of Night is 12:30 pm [1]."),
        (SHIFTS, "The start of Noon is 12:30 am [1]."),
        (RANGES, "Max – Range (km): 400 [1]"),
        (RANGES, "The range of Max is 400 km [1]."),
        (RANGES, "Mini – Range (km): 300 [1]"),
        (RANGES, "The battery of Plus is none [1]."),
        (DAYS.format("25/12/2025"), "The due of Beam is 4 March 2025 [1]."),
        (DAYS.format("12/25/2025"), "The due of Beam is 3 April 2025 [1]."),
        (DAYS.format("05/06/2025"), "The due of Beam is 3 April 2025 [1]."),
    ],
)
def test_another_magnitude_unit_or_sense_is_not(tmp_path: Path, table: str, statement: str) -> None:
    (found,) = of_rows(tmp_path, table)
    assert cited(found, statement).support != VERDICT_SUPPORTED


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        (SHIFTS, "The start of Night is 12:30 [1]."),
        (RETURNS, "The return of Desk is 14 days [1]."),
        (SALES, "The revenue of Alpha is 5 million [1]."),
    ],
)
def test_what_may_be_right_is_not_called_wrong(tmp_path: Path, table: str, statement: str) -> None:
    (found,) = of_rows(tmp_path, table)
    assert cited(found, statement).support != VERDICT_UNSUPPORTED
