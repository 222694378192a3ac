"""The conformance and property suites over all chunkers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import collection_pb2
from footnote.types.v1.document_pb2 import ChunkingChoice as Why
from footnote_indexing.chunking import drafts
from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.model import Chosen
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.blocks import CODE, HEADING, ITEM, PARAGRAPH, ROW, article, block, placed
from support.chunking import PLAIN, S, check, cut, settings
from support.matrices import crossed
from support.shared import NO_SHARED, shared_dir

CHARACTERS, TOKENS = collection_pb2.SIZE_UNIT_CHARACTERS, collection_pb2.SIZE_UNIT_TOKENS

FRENCH = (
    "Le congé annuel est de vingt-cinq jours ouvrés. L'employé en fait la demande à son responsable au moins deux "
    "semaines avant le départ, soit par écrit, soit par l'outil interne. M. Dupont valide la demande sous 3,5 jours. "
    "Qu'en est-il des jours fériés ? Ils s'ajoutent aux congés."
)
CHINESE = (
    "员工每年享有二十五天带薪年假。申请应至少提前两周提交给直属主管，可以书面提交，也可以通过内部系统提交。"
    "主管会在三个工作日内答复。法定节假日不计入年假！病假需要医生证明吗？是的，超过三天的病假需要医生证明。"
)
GERMAN = (
    "Der Jahresurlaub beträgt fünfundzwanzig Arbeitstage. Der Antrag ist spätestens zwei Wochen vorher, z. B. "
    "schriftlich, zu stellen. Dr. Müller entscheidet in 3,5 Tagen über die Rechtsschutzversicherungsgesellschaften."
)
THAI = "พนักงานมีสิทธิลาพักร้อนปีละยี่สิบห้าวันทำการ ต้องยื่นคำขอล่วงหน้าอย่างน้อยสองสัปดาห์ ผู้จัดการจะตอบภายในสามวัน"
WRITTEN = {"en": "Sentences in English, short ones. E.g. this one costs $3.50! Is it so? It is.", "fr": FRENCH}
WRITTEN |= {"zh": CHINESE, "de": GERMAN, "th": THAI}


def handbook(text: str, repeats: int) -> list[parsing_pb2.Block]:
    """A document with every kind of block around one text."""
    blocks = [block(HEADING, "A", level=1, page=1)]
    for section in range(3):
        path = ["A", f"B{section}"]
        blocks.append(block(HEADING, f"B{section}", path[:1], level=2, page=section + 1))
        blocks += [block(PARAGRAPH, " ".join([text] * n), path, page=section + 1) for n in (1, repeats)]
        blocks += [block(ITEM, text[: 20 + 7 * n].strip(), path, page=section + 1) for n in range(4)]
        blocks.append(
            block(CODE, "x = 1\n  y = 2\n\nprint(x + y)  # " + text[:30].replace("\n", " "), path, page=section + 1)
        )
        for n in range(12):
            row = block(
                ROW,
                f"Name: {text[:12].strip()} {n}; Price: {n * 3}.50; Note: {text[:60].strip()}",
                path,
                page=section + 1,
            )
            row.table = section + 1
            blocks.append(row)
    return placed(blocks)


@pytest.mark.parametrize(
    ("strategy", "overlap", "size", "unit"),
    crossed(PLAIN, [0, 20, 50], [100, 300, 1000], [CHARACTERS, TOKENS], every=18),
)
def test_conformance_in_five_languages(strategy: S.ValueType, overlap: int, size: int, unit: int) -> None:
    chunking = settings(strategy=strategy, size=size, overlap_percent=overlap, unit=unit)
    for text in WRITTEN.values():
        blocks = handbook(text, 6)
        made = cut(blocks, strategy, chunking)
        check(blocks, made, chunking)
        assert [m.cut for m in cut(blocks, strategy, chunking, batch=1)] == [m.cut for m in made] or (
            strategy == S.CHUNKING_STRATEGY_SEMANTIC
        )


@pytest.mark.parametrize("strategy", PLAIN)
def test_parents_and_children(strategy: S.ValueType) -> None:
    chunking = settings(strategy=strategy, parent_child=True, parent_size=1200, child_size=300)
    for text in WRITTEN.values():
        blocks = handbook(text, 6)
        made = cut(blocks, strategy, chunking, batch=7)
        check(blocks, made, chunking)
        parents = {(m.cut.start, m.cut.end) for m in made if m.cut.parent is None}
        for item in made:
            if item.cut.parent is not None:
                assert item.cut.parent in parents
                assert item.cut.parent[0] <= item.cut.start < item.cut.end <= item.cut.parent[1]


WORD = st.text(st.sampled_from("abcdefgéàöß0123456789"), min_size=1, max_size=12)
ODD = st.sampled_from(
    ["e\u0301te\u0301", "👩‍👩‍👧‍👦", "👍🏽", "🇫🇷", "日本語の文章です。", "中文没有空格，", "ภาษาไทย", "\u00a0",
     "don't", "3.14",      "https://example.org/a/b?c=d", "a" * 150,
     "好" * 150, "«", "…", "\u200b", "U.S.", "e.g.", "\ud7ff", "\U0001f9d1\u200d\U0001f4bb"]
)  # fmt: skip
GAP = st.sampled_from([" ", "  ", ". ", "! ", ", ", "\n", "; ", " \t"])
TEXT = st.lists(st.tuples(st.one_of(WORD, WORD, ODD), GAP), min_size=1, max_size=60).map(
    lambda parts: "".join(word + gap for word, gap in parts).rstrip()
)


@st.composite
def documents(draw: st.DrawFn) -> list[parsing_pb2.Block]:
    """Documents of any blocks over text that is hard to cut."""
    kinds = st.sampled_from([HEADING, PARAGRAPH, PARAGRAPH, PARAGRAPH, ITEM, CODE, ROW])
    made = []
    page = 1
    for kind, text in draw(st.lists(st.tuples(kinds, TEXT), min_size=1, max_size=14)):
        if not text.strip():
            continue
        page += draw(st.integers(0, 1))
        if kind in (HEADING, ROW):
            text = " ".join(text.split()) or "x"
        one = block(kind, text, page=page)
        one.table = 1 if kind == ROW else 0
        made.append(one)
    return placed(made)


@pytest.mark.slow
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    blocks=documents(),
    strategy=st.sampled_from(PLAIN),
    size=st.sampled_from([100, 137, 400]),
    overlap=st.sampled_from([0, 20, 50]),
    unit=st.sampled_from([CHARACTERS, CHARACTERS, TOKENS]),
    levels=st.booleans(),
)
def test_properties_hold_for_text_that_is_hard_to_cut(
    blocks: list[parsing_pb2.Block], strategy: S.ValueType, size: int, overlap: int, unit: int, levels: bool
) -> None:
    chunking = settings(
        strategy=strategy, size=size, overlap_percent=overlap, unit=unit, parent_child=levels, parent_size=2 * size,
        child_size=size,
    )  # fmt: skip
    check(blocks, cut(blocks, strategy, chunking, batch=3), chunking)


def corpus(folder: Path, name: str) -> list[parsing_pb2.Block]:
    """A long real document made of a retrieval set's titles and passages."""
    blocks = []
    for line in (folder / name / "corpus.jsonl").read_text("utf-8").splitlines()[:150]:
        item = json.loads(line)
        blocks += heading_and_paragraph(item["title"], item["text"])
    return placed(blocks)


def heading_and_paragraph(title: str, text: str) -> Iterable[parsing_pb2.Block]:
    if title.strip():
        yield block(HEADING, title.strip(), level=1)
    if text.strip():
        yield block(PARAGRAPH, text.strip(), [title.strip()])


def chinese(folder: Path) -> list[parsing_pb2.Block]:
    blocks = []
    for line in (folder / "rejection-zh" / "zh_fact.jsonl").read_text("utf-8").splitlines()[:40]:
        item = json.loads(line)
        blocks += heading_and_paragraph(item["query"], "".join(item["positive"] + item["negative"]))
    return placed(blocks)


def hebrew(folder: Path) -> list[parsing_pb2.Block]:
    import base64

    raw = (folder / "files/office/unst__hebrew-text-base64-iso88598i.txt").read_bytes()
    text = raw.decode("iso-8859-8", "ignore") if b"\n" in raw[:2000] else base64.b64decode(raw).decode("iso-8859-8")
    return placed(block(PARAGRAPH, part.strip()) for part in text.splitlines() if part.strip())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", PLAIN)
@pytest.mark.parametrize("language", ["en", "fr", "zh", "he"])
def test_conformance_on_real_documents(language: str, strategy: S.ValueType) -> None:
    folder = shared_dir()
    if folder is None or not (folder / "data").is_dir():
        pytest.skip(NO_SHARED)
    data = folder / "data"
    read = {"en": lambda: corpus(data, "squad-13"), "fr": lambda: corpus(data, "piaf-fr")}
    blocks = (read | {"zh": lambda: chinese(data), "he": lambda: hebrew(data)})[language]()
    for values in ({}, {"size": 300}, {"unit": TOKENS, "size": 200}, {"parent_child": True}):
        chunking = settings(strategy=strategy, **values)
        made = cut(blocks, strategy, chunking)
        assert made
        check(blocks, made, chunking)


def test_headings_stay_with_what_follows_them() -> None:
    blocks = article(sections=12)
    for strategy in PLAIN:
        for made in cut(blocks, strategy, settings(strategy=strategy, size=500)):
            assert not made.passage.text.endswith("manual")


@pytest.mark.parametrize("path", [["Report"], ["Report", "Balance sheet"]], ids=["the same heading", "its own"])
def test_a_very_short_section_goes_with_the_next_under_the_same_heading(path: list[str]) -> None:
    blocks = placed(
        [
            block(HEADING, "Report", level=1),
            block(PARAGRAPH, "An introduction that is long enough to stand by itself. " * 4, ["Report"]),
            block(HEADING, "Balance sheet", ["Report"], level=2),
            block(PARAGRAPH, "In thousands, December 31.", ["Report", "Balance sheet"]),
            block(HEADING, "Assets", path, level=3),
            block(PARAGRAPH, "Cash and receivables, inventories and other current assets. " * 4, [*path, "Assets"]),
            block(HEADING, "Elsewhere", [], level=1),
            block(PARAGRAPH, "Nothing to do with it.", ["Elsewhere"]),
        ]
    )
    strategy = S.CHUNKING_STRATEGY_HEADING_SECTION
    texts = [made.passage.text for made in cut(blocks, strategy, settings(strategy=strategy, size=400))]
    assert [text.split("\n")[0] for text in texts] == ["Report", "Balance sheet", "Elsewhere"]
    assert "Cash and receivables" in texts[1]


def test_a_chunk_says_on_which_pages_and_under_which_headings_it_stands() -> None:
    blocks = placed(
        [
            block(HEADING, "Rules", level=1, page=1),
            block(PARAGRAPH, "First on page one.", ["Rules"], page=1),
            block(PARAGRAPH, "Second on page two.", ["Rules"], page=2),
            block(PARAGRAPH, "Third on page three.", ["Rules", "Deep"], page=3),
        ]
    )
    [made] = cut(blocks, S.CHUNKING_STRATEGY_PARAGRAPH, settings())
    locator = made.passage.locator
    assert (locator.page.page, locator.page.last_page) == (1, 3)
    assert list(locator.heading_path) == ["Rules"]
    quotes = {made.passage.text[a.span.start : a.span.end]: a.locator.page.page for a in made.passage.anchors}
    assert quotes["Third on page three."] == 3


def test_rows_keep_their_cells_and_their_range() -> None:
    rows = []
    for number in range(2, 40):
        row = block(ROW, f"Item: bolt {number}; Stock: {number * 10}")
        row.table = 1
        row.locator.sheet.sheet, row.locator.sheet.range = "Stocks", f"A{number}:B{number}"
        for cell, value in ((f"A{number}", f"Item: bolt {number}"), (f"B{number}", f"Stock: {number * 10}")):
            anchor = row.anchors.add()
            anchor.span.start = row.text.index(value)
            anchor.span.end = anchor.span.start + len(value)
            anchor.locator.sheet.sheet, anchor.locator.sheet.range = "Stocks", cell
        rows.append(row)
    blocks = placed(rows)
    made = cut(blocks, S.CHUNKING_STRATEGY_TABLE, settings(size=200))
    assert made[0].passage.locator.sheet.range.startswith("A2:B")
    assert made[-1].passage.locator.sheet.range.endswith("B39")
    for item in made:
        for anchor in item.passage.anchors:
            quote = item.passage.text[anchor.span.start : anchor.span.end]
            column, number = anchor.locator.sheet.range[0], int(anchor.locator.sheet.range[1:])
            assert quote == (f"Item: bolt {number}" if column == "A" else f"Stock: {number * 10}")


def test_a_heading_beside_tables_goes_with_rows_or_text_of_its_region() -> None:
    def sheet(kind: parsing_pb2.BlockKind.ValueType, text: str, name: str, table: int = 0) -> parsing_pb2.Block:
        made = block(kind, text)
        made.locator.sheet.sheet = name
        made.table = table
        return made

    blocks = placed(
        [
            sheet(HEADING, "One", "One"),
            *(sheet(ROW, f"Land: {n}; Price: {n}", "One", 1) for n in range(30)),
            sheet(HEADING, "Two", "Two"),
            *(sheet(ROW, f"Land: {n}; Price: {n}", "Two", 2) for n in range(3)),
            sheet(HEADING, "Sources", "Two"),
            sheet(PARAGRAPH, "From the census.", "Two"),
            sheet(ROW, "Land: 9; Price: 9", "Two", 3),
            sheet(HEADING, "See also", "Two"),
        ]
    )
    texts = [one.passage.text for one in cut(blocks, S.CHUNKING_STRATEGY_TABLE, settings(size=200))]
    assert not {"One", "Two", "Sources", "See also"} & set(texts)
    assert texts[0].startswith("One\nLand: 0")
    assert texts[-3:] == [
        "Two\nLand: 0; Price: 0\nLand: 1; Price: 1\nLand: 2; Price: 2",
        "Sources\nFrom the census.",
        "Land: 9; Price: 9\nSee also",
    ]


def test_no_chunk_crosses_sheets_or_slides() -> None:
    first, second = block(ROW, "A: 1"), block(ROW, "A: 2")
    first.locator.sheet.sheet, first.locator.sheet.range = "One", "A2"
    second.locator.sheet.sheet, second.locator.sheet.range = "Two", "A2"
    third, fourth = block(PARAGRAPH, "On slide one."), block(PARAGRAPH, "On slide two.")
    third.locator.slide.slide, fourth.locator.slide.slide = 1, 2
    for blocks in (placed([first, second]), placed([third, fourth])):
        for strategy in PLAIN:
            assert len(cut(blocks, strategy, settings())) == 2


def test_a_paragraph_cut_in_two_says_its_own_lines() -> None:
    text = "\n".join(f"Line number {n} of the file is here to be found." for n in range(1, 41))
    blocks = placed([block(CODE, text, lines=(1, 40))])
    for item in cut(blocks, S.CHUNKING_STRATEGY_FIXED_WINDOW, settings(size=300, overlap_percent=0)):
        lines = item.passage.locator.lines
        assert f"Line number {lines.first_line} of" in item.passage.text.splitlines()[0]
        assert f"Line number {lines.last_line} of" in item.passage.text.splitlines()[-1]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([ROW] * 5 + [PARAGRAPH], (S.CHUNKING_STRATEGY_TABLE, Why.CHUNKING_CHOICE_TABLE_FOUND)),
        (
            [HEADING, PARAGRAPH, HEADING, PARAGRAPH],
            (S.CHUNKING_STRATEGY_HEADING_SECTION, Why.CHUNKING_CHOICE_HEADINGS_FOUND),
        ),
        (
            [HEADING, PARAGRAPH, PARAGRAPH, ITEM],
            (S.CHUNKING_STRATEGY_PARAGRAPH, Why.CHUNKING_CHOICE_PARAGRAPHS_FOUND),
        ),
        ([PARAGRAPH], (S.CHUNKING_STRATEGY_FIXED_WINDOW, Why.CHUNKING_CHOICE_NO_STRUCTURE)),
    ],
)
def test_auto_says_what_it_chose_and_why(kinds: list[parsing_pb2.BlockKind.ValueType], expected: Chosen) -> None:
    window = TextWindow()
    blocks = window.place(placed([block(kind, "Some words here.") for kind in kinds]))
    assert drafts.choose(blocks) == expected


def test_semantic_cuts_where_the_subject_changes() -> None:
    cats = " ".join(f"The cat number {n} likes cats and cat food with other cats." for n in range(8))
    tax = " ".join(f"Income tax return {n} of the tax office is due with tax form {n}." for n in range(8))
    blocks = placed([block(PARAGRAPH, f"{cats} {tax}")])
    made = cut(blocks, S.CHUNKING_STRATEGY_SEMANTIC, settings(size=2000, breakpoint_percentile=93))
    assert len(made) == 2
    assert made[0].passage.text == cats


@pytest.mark.parametrize("overlap", [0, 50])
@pytest.mark.parametrize("strategy", PLAIN)
def test_numbers_far_apart_keep_to_a_size_in_tokens(strategy: S.ValueType, overlap: int) -> None:
    """White space before a number is a token of its own, unlike the space before a word."""
    draw = random.Random(5)
    words = ["12", "3.5", "crane.", "Alpha", "1,200.", "(5)", "x2", "7.", "0.001", "kg", "12.5%"]
    gaps = [" ", " ", "  ", "\n", "\n ", "\t", "   "]
    chunking = settings(strategy=strategy, size=100, overlap_percent=overlap, unit=TOKENS)
    for _ in range(8):
        texts = ["".join(draw.choice(words) + draw.choice(gaps) for _ in range(200)).strip() for _ in range(3)]
        blocks = placed([block(PARAGRAPH, text, page=1) for text in texts])
        check(blocks, cut(blocks, strategy, chunking, batch=3), chunking)
