"""A line above a table says how large its numbers are: "2,871" below "in thousands of euro" is no 2,871 EUR."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote.stages.v1.parsing_pb2 import Block, ParsedMetadata
from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, VERDICT_UNSUPPORTED, Source
from footnote.types.v1.collection_pb2 import CHUNKING_STRATEGY_TABLE, CollectionSettings
from footnote_augmentation.build import Assembly, build
from footnote_generation.extractive.compose import draft
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment
from footnote_indexing.chunking.drafts import Drafter
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits

MARKDOWN = """# Report of Nordlys Shipping

Consolidated statement of income (in thousands of euro)

| | 2023 | 2022 |
|---|---|---|
| Revenue | 48,210 | 45,007 |
| Net income | 3,114 | 2,871 |
"""
FILING = """<h1>Selected data of Havn Media</h1><p>(in thousands, except per share data)</p>
<table><tr><th></th><th>2019</th><th>2018</th></tr>
<tr><td>Revenues</td><td>$20,156,447</td><td>$15,794,341</td></tr>
<tr><td>Net income</td><td>1,866,916</td><td>1,211,242</td></tr>
<tr><td>Earnings per share</td><td>$4.26</td><td>$2.78</td></tr>
<tr><td>Net income per common share</td><td>$4.13</td><td>$2.68</td></tr>
<tr><td>Share-based payments</td><td>$12,345</td><td>$9,876</td></tr>
<tr><td>Margin</td><td>13%</td><td>10%</td></tr></table>"""


@pytest.fixture
def chunk(tmp_path: Path, request: pytest.FixtureRequest) -> Chunk:
    """The passage with the table of a file, given as name and text."""
    name, text = request.param
    path = tmp_path / name
    path.write_text(text)
    blocks: list[Block] = []
    parser_for(path.suffix[1:]).parse(path, BlockWriter(blocks.append, Limits()), Limits())
    settings = CollectionSettings()
    settings.chunking.strategy, settings.chunking.size = CHUNKING_STRATEGY_TABLE, 1000
    drafter = Drafter(Document(id="d", revision=1, filename=name), settings, lambda texts: [])  # type: ignore[arg-type,return-value]
    drafts = drafter.feed(blocks) + drafter.finish(ParsedMetadata())
    return next(one.chunk for one in drafts if one.chunk.tables)


def source(chunk: Chunk) -> Source:
    return Source(
        number=1, filename=chunk.filename, text=chunk.text, locator=chunk.locator, anchors=chunk.anchors,
        tables=chunk.tables, score=0.9,
    )  # fmt: skip


def support(chunk: Chunk, statement: str, language: str = "en") -> int:
    at = len(statement) + 1
    (checked,) = Checker({1: source(chunk)}, language).check_by_rules(
        segment(f"{statement} [1].", [PlacedMarker(at, at + 3, 1)])
    )
    return checked.claim.support


@pytest.mark.parametrize("chunk", [("report.md", MARKDOWN)], indirect=True)
@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Net income in 2022 was 2,871", VERDICT_SUPPORTED),
        ("Net income in 2022 was 2,871 (in thousands of euro)", VERDICT_SUPPORTED),
        ("Net income in 2022 was 2,871 thousand euro", VERDICT_SUPPORTED),
        ("Net income in 2022 was €2.871 million", VERDICT_SUPPORTED),
        ("Net income in 2022 was 2,871 EUR", VERDICT_NOT_CONFIRMED),
        ("Net income in 2022 was €2,871", VERDICT_NOT_CONFIRMED),
        ("Net income in 2022 was €2,871 million", VERDICT_NOT_CONFIRMED),
        ("Net income in 2022 was €4,871 million", VERDICT_UNSUPPORTED),
        ("Net income in 2022 was 2,871 (in millions of euro)", VERDICT_NOT_CONFIRMED),
        ("Net income in 2022 was 2,871 thousand dollars", VERDICT_NOT_CONFIRMED),
    ],
)
def test_a_magnitude_without_exceptions_counts_for_each_number(chunk: Chunk, statement: str, verdict: int) -> None:
    assert support(chunk, statement) == verdict


@pytest.mark.parametrize("chunk", [("filing.html", FILING)], indirect=True)
@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Net income in 2018 was 1,211,242", VERDICT_SUPPORTED),
        ("Net income in 2018 was 1,211,242 (in thousands, except per share data)", VERDICT_SUPPORTED),
        ("Net income in 2018 was 1,866,916 (in thousands, except per share data)", VERDICT_UNSUPPORTED),
        ("Revenues in 2019 were $20,156,447", VERDICT_NOT_CONFIRMED),
        ("Revenues in 2019 were $20,156,447 thousand", VERDICT_NOT_CONFIRMED),
        ("Revenues in 2019 were $20.2 billion", VERDICT_NOT_CONFIRMED),
        ("Earnings per share in 2019 were $4.26", VERDICT_SUPPORTED),
        ("Net income per common share in 2019 was $4.13", VERDICT_SUPPORTED),
        ("Share-based payments in 2019 were $12,345", VERDICT_NOT_CONFIRMED),
        ("The margin in 2019 was 13%", VERDICT_SUPPORTED),
    ],
)
def test_with_exceptions_an_amount_is_left_to_a_verifier(chunk: Chunk, statement: str, verdict: int) -> None:
    assert support(chunk, statement) == verdict


SALES = """# Sales by product (in thousands)

| Product | 2022 | 2023 | Change (%) | Due |
|---|---|---|---|---|
| Lamps | 1,250 | 1,400 | 12 | 12 March 2027 |
| Desks | 3,100 | 2,790 | -10 | 1 May 2028 |
"""
CROPS = """# Crops (in thousands)

| Region | Wheat (kg) | Farms |
|---|---|---|
| Umbria | 120 | 268 |
| Lazio | 987 | 300 |
"""
DEBT = """# Notes of Havn Media

(in millions, except per share data)

| Note | Amount | Rate (%) | Term |
|---|---|---|---|
| Series A | $1,250 | 4.5 | 5 years |
| Series B | $3,100 | 5.25 | 7 years |
"""


HEADED = """# Regions

| Region | Revenue (in millions) | Shops |
|---|---|---|
| North | $48 | 45 |
| South | $12 | 11 |
"""
CORNER = "Segment, EUR million;2023;2022\nNord;48;45\nSüd;12;11\n"


@pytest.mark.parametrize(
    ("chunk", "statement", "verdict"),
    [
        (("h.md", HEADED), "The revenue of North is $48", VERDICT_NOT_CONFIRMED),
        (("h.md", HEADED), "The revenue (in millions) of North is $48", VERDICT_SUPPORTED),
        (("h.md", HEADED), "The revenue of North is $48 million", VERDICT_SUPPORTED),
        (("c.csv", CORNER), "Nord in 2023 is 48 EUR", VERDICT_UNSUPPORTED),
        (("c.csv", CORNER), "Nord in 2023 is 48 million EUR", VERDICT_SUPPORTED),
        (("s.md", SALES), "The change of Lamps was 12%", VERDICT_SUPPORTED),
        (("s.md", SALES), "The change of Lamps was 12,000%", VERDICT_UNSUPPORTED),
        (("c.md", CROPS), "The wheat of Umbria is 120", VERDICT_SUPPORTED),
        (("c.md", CROPS), "The wheat of Umbria is 120 kg", VERDICT_NOT_CONFIRMED),
        (("c.md", CROPS), "The wheat of Umbria is 120 thousand kg", VERDICT_NOT_CONFIRMED),
        (("c.md", CROPS), "The farms of Umbria are 268 thousand", VERDICT_SUPPORTED),
        (("d.md", DEBT), "The rate of Series A is 4.5%", VERDICT_SUPPORTED),
        (("d.md", DEBT), "The term of Series A is 5 years", VERDICT_SUPPORTED),
        (("d.md", DEBT), "The amount of Series A is $1,250", VERDICT_NOT_CONFIRMED),
    ],
    indirect=["chunk"],
)
def test_shares_and_terms_have_no_magnitude_of_money(chunk: Chunk, statement: str, verdict: int) -> None:
    assert support(chunk, statement) == verdict


SIGNED = """# Report of Havn Media

(in millions of dollars)

| | 2023 | 2022 |
|---|---|---|
| Revenue | $48,210 | $45,007 |
| Net income | $2,871 | $2,114 |
"""


@pytest.mark.parametrize("chunk", [("s.md", SIGNED), ("u.md", SIGNED.replace("$", ""))], indirect=True)
@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Net income in 2023 was 2,871", VERDICT_SUPPORTED),
        ("Net income in 2023 was 2,871 (in millions of dollars)", VERDICT_SUPPORTED),
        ("Net income in 2023 was $2,871", VERDICT_NOT_CONFIRMED),
        ("Net income in 2023 was $2,871 million", VERDICT_NOT_CONFIRMED),
        ("Net income in 2023 was $2.871 billion", VERDICT_NOT_CONFIRMED),
    ],
)
def test_a_cells_own_sign_states_no_magnitude(chunk: Chunk, statement: str, verdict: int) -> None:
    """No number of the table shows its decimal sign, so that what is certain of others is not of these."""
    assert support(chunk, statement) == verdict


GERMAN = """# Bericht

(in Tausend Euro, außer Ergebnis je Aktie)

| | 2023 | 2022 |
|---|---|---|
| Ergebnis vor Steuern | 3.549 | 2.871 |
| Ergebnis je Aktie | 1,93 | 1,02 |
"""


@pytest.mark.parametrize("chunk", [("bericht.md", GERMAN)], indirect=True)
@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Das Ergebnis vor Steuern 2023 war 3.549 Euro", VERDICT_NOT_CONFIRMED),
        ("Das Ergebnis vor Steuern 2023 war 3.549", VERDICT_SUPPORTED),
        ("Das Ergebnis je Aktie 2023 war 1,93 Euro", VERDICT_SUPPORTED),
    ],
)
def test_only_a_row_counted_as_the_note_says_is_an_exception(chunk: Chunk, statement: str, verdict: int) -> None:
    assert support(chunk, statement, "de") == verdict


FIRMS = """# Firms

(in millions)

| Company | Founding year | Revenue | Backlog (in thousands) | Deal |
|---|---|---|---|---|
| Acme | 1987 | 1,250 | 77 | $5m |
| Bolt | 1999 | 2,250 | 88 | $7m |
"""
SHARES = """# Figures

(in thousands of euro)

| | 2023 | 2022 |
|---|---|---|
| Revenue | 48,210 | 45,007 |
| EBIT margin (%) | 8 | 7 |
"""
GROUPED = """<table><tr><th rowspan=2>Product</th><th colspan=2>(in thousands)</th></tr>
<tr><th>2022</th><th>2023</th></tr><tr><td>Lamps</td><td>1,250</td><td>1,400</td></tr>
<tr><td>Desks</td><td>3,100</td><td>2,790</td></tr></table>"""


@pytest.mark.parametrize(
    ("chunk", "question", "answer"),
    [
        (("r.md", MARKDOWN), "What was the net income in 2022?", "Net income — 2022: 2,871 (in thousands of euro)"),
        (("f.html", FILING), "What was the net income in 2018?",
         "Net income — 2018: 1,211,242 (in thousands, except per share data)"),
        (("f.html", FILING), "What was the margin in 2018?", "Margin — 2018: 10%"),
        (("d.md", DEBT), "What is the term of Series A?", "Series A — Term: 5 years"),
        (("k.md", FIRMS), "What is the backlog of Acme?", "Acme — Backlog (in thousands): 77"),
        (("k.md", FIRMS), "What is the year of founding of Acme?", "Acme — Founding year: 1987"),
        (("k.md", FIRMS), "What is the deal of Acme?", "Acme — Deal: $5m"),
        (("k.md", FIRMS), "What is the revenue of Acme?", "Acme — Revenue: 1,250 (in millions)"),
        (("m.md", SHARES), "What was the EBIT margin in 2023?", "EBIT margin (%) — 2023: 8"),
        (("g.html", GROUPED), "What was Lamps in 2023?", "Lamps — (in thousands) › 2023: 1,400"),
    ],
    indirect=["chunk"],
)  # fmt: skip
def test_the_built_in_answerer_says_it(chunk: Chunk, question: str, answer: str) -> None:
    (text, _), *_ = draft(question, [source(chunk)]).sentences
    assert text == answer


@pytest.mark.parametrize("chunk", [("filing.html", FILING), ("report.md", MARKDOWN)], indirect=True)
def test_a_prompt_says_it_once(chunk: Chunk) -> None:
    made = build(
        Assembly(question="How much?", candidates=[ScoredChunk(chunk=chunk, score=0.9)], token_budget=900, locale="en")
    )
    note = chunk.tables[0].note
    assert note.startswith("(in thousands")
    assert made.prompt.messages[0].text.count(note) == 1
