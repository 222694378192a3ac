"""The arithmetic of the bench, its page and its files: what it says of a run must be what was measured."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from bench.page import growth, installed
from bench.page.bare import Query
from bench.page.double import TOKENS, parts
from bench.page.figures import Row, Section, exponents, median, quantile, verdict
from bench.page.files import LARGE, SMALL, mixed_files, plain_files
from bench.page.picture import draw
from bench.page.report import Surroundings, number, page
from bench.page.texts import Texts, made_texts
from bench.page.world import queries
from bench.peers.__main__ import Line, table

AROUND = Surroundings("2026-11-23 12:00 UTC", "2 cores", 0.2, 0.9, "made texts", "quick", 80.0)


@pytest.fixture(scope="module")
def texts() -> Texts:
    """The texts that the bench makes."""
    return made_texts()


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert quantile(values, 0.5) == 50
    assert quantile(values, 0.95) == 95
    assert quantile([7.0], 0.95) == 7
    assert quantile(values, 1) == 100
    assert math.isnan(quantile([], 0.5))
    assert math.isnan(median([]))


def test_a_ratio_is_footnotes_figure_by_the_other() -> None:
    assert Row("search", "ms", 6.0, 3.0).ratio == 2
    assert Row("search", "ms", 6.0).ratio is None
    assert Row("search", "ms", 6.0, 0.0).ratio is None


@pytest.mark.parametrize(
    ("costs", "word"),
    [([5.0, 5.1, 5.0], "flat"), ([1.0, 10.0, 100.0], "linear at most"), ([1.0, 10.0, 200.0], "WORSE THAN LINEAR"),
     ([0.0, 0.0, 0.0], "too little")],
)  # fmt: skip
def test_growth_is_judged_by_its_steepest_step(costs: list[float], word: str) -> None:
    assert verdict([10, 100, 1000], costs).startswith(word)


def test_exponents_are_powers_of_the_size() -> None:
    assert exponents([10, 100, 1000], [1, 10, 1000]) == pytest.approx([1.0, 2.0])
    assert math.isnan(exponents([1, 2], [0, 3])[0])


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (math.nan, "–"), (0.0, "0"), (0.012345, "0.0123"), (1.234, "1.23"), (12.34, "12.3"), (99.5, "99.5"),
     (123.4, "123"), (12345.0, "12 345"), (-2.5, "-2.50")],
)  # fmt: skip
def test_numbers_have_three_digits(value: float | None, said: str) -> None:
    assert number(value) == said


def test_a_page_holds_every_row_its_ratio_and_what_is_left_out() -> None:
    section = Section("Search", "bare engine")
    section.add("alone", "ms", 6.0, 3.0, "40 rows put there by the bench")
    section.add("a|b", "ms", math.nan)
    text = page([section], AROUND, "page.png")
    assert "| alone | 6.00 ms | 3.00 | 2.00 × | 40 rows put there by the bench |" in text
    assert "| a/b | – ms | – | – |  |" in text
    assert "made texts" in text
    assert "](page.png)" in text
    assert "other work" not in text


def test_a_page_from_a_busy_machine_says_so() -> None:
    assert "The machine had other work to do (load 9.5)" in page(
        [], Surroundings(*["x"] * 2, 9.5, 9.0, "", "full", 1.0)
    )


def test_figures_are_json_also_where_there_are_none() -> None:
    section = Section("Ask", "")
    section.add("first word", "ms", math.nan, None)
    [row] = json.loads(json.dumps(section.told(), allow_nan=False))["rows"]
    assert row["value"] is None
    assert row["ratio"] is None


def test_made_texts_are_the_same_again_and_have_frequent_words(texts: Texts) -> None:
    assert made_texts() == texts
    assert made_texts(2) != texts
    words = " ".join(texts.passages).lower().split()
    assert len(set(words)) > 2_000
    assert words.count("the") > 20 * words.count(sorted(set(words))[len(set(words)) // 2])
    assert all(question.endswith("?") and len(question.split()) > 5 for question in texts.questions)


def test_files_have_their_size_and_differ(texts: Texts) -> None:
    for size in (SMALL, LARGE):
        files = plain_files(texts, 20, size, 0)
        assert len({content for _, content in files}) == 20
        assert all(size - 4 <= len(content) <= size for _, content in files)
    first, second = ({content for _, content in plain_files(texts, 20, SMALL, start)} for start in (0, 20))
    assert not first & second


def test_mixed_files_are_of_six_formats(texts: Texts) -> None:
    files = dict(mixed_files(texts, 6, 0))
    begin = {name.rsplit(".", 1)[1]: content[:4] for name, content in files.items()}
    assert begin == {
        "md": b"## P", "html": b"<!do", "csv": b"part", "docx": b"PK\x03\x04", "xlsx": b"PK\x03\x04", "pdf": b"%PDF"
    }  # fmt: skip


def test_questions_go_to_the_bare_engine_with_vector_and_terms() -> None:
    [query] = queries(["How heavy is the laser?"])
    assert isinstance(query, Query)
    assert query.vector.shape == (384,)
    assert "laser" in query.terms


def test_the_double_says_as_many_tokens_as_is_written() -> None:
    assert len(parts()) == TOKENS
    assert "[1]" in "".join(parts())


def test_what_an_installation_weighs_is_what_it_needs() -> None:
    engine = installed.needed("pymilvus")
    assert "grpcio" in engine
    assert "pytest" not in engine
    assert "pytest" in installed.needed("footnote", ("dev",))
    assert "pytest" not in installed.needed("footnote", ("server",))
    assert 0 < installed.megabytes({"grpcio"}) < installed.megabytes(engine)


def test_a_picture_is_drawn_where_it_can_be(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    section = Section("Search", "bare engine")
    section.add("alone", "ms", 6.0, 3.0)
    section.add("lonely", "ms", 6.0)
    assert draw([section, Section("Nothing", "")], tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


def test_the_growth_table_judges_every_curve() -> None:
    curves = growth.Curves()
    for size, cost in ((100, 2.0), (1000, 2.0)):
        curves.add("search", "ms", size, cost)
        curves.add("start", "ms", size, cost * size**2, "put there by the bench")
    text = growth.table(curves, 0.5)
    assert "| search | 100: 2.00 ms, 1 000: 2.00 ms | flat (power 0.00) |  |" in text
    assert "WORSE THAN LINEAR (power 2.00) | put there by the bench |" in text


def test_peers_stand_as_multiples_of_footnote() -> None:
    lines = [Line("Footnote", 0.2, 10.0, 20.0, 100.0), Line("Other", 2.0, 5.0, 40.0, 50.0)]
    text = table(lines, 480, 0.1, 0.2)
    assert "| Footnote | 0.200 (1.00 ×) | 10.0 (1.00 ×) | 20.0 (1.00 ×) | 100 (1.00 ×) |" in text
    assert "| Other | 2.00 (10.0 ×) | 5.00 (0.500 ×) | 40.0 (2.00 ×) | 50.0 (0.500 ×) |" in text
