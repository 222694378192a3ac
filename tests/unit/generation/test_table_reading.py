"""What vectors say of a question over tables: operations, and likeness to names of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from footnote.types.v1.table_pb2 import ColumnDescription, TableDescription
from footnote_generation.extractive import table_reading
from footnote_generation.extractive.provider import Extractive
from footnote_generation.ports import Compared
from footnote_providers.base import Cosines

TABLES = [
    TableDescription(filename="stock.csv", columns=[ColumnDescription(name="Units"), ColumnDescription(name="City")]),
    TableDescription(filename="2.csv", columns=[ColumnDescription(name="City"), ColumnDescription(name="x" * 200)]),
]


class Likeness:
    """Gives each text a vector of its own length; keeps what it was asked."""

    knows_meaning = True

    def __init__(self, provider: str, *, late: bool = False) -> None:
        self.provider, self._late = provider, late
        self.asked: list[tuple[str, list[str]]] = []

    async def of(self, question: str, texts: Sequence[str]) -> list[float] | None:
        return None

    async def vectors(self, question: str, texts: Sequence[str], seconds: float = 0.0) -> Compared | None:
        self.asked.append((question, list(texts)))
        made = np.zeros((len(texts), 384), np.float32)
        for row, text in zip(made, texts, strict=True):
            row[len(text)] = 1.0
        one = np.zeros(384, np.float32)
        one[len("City")] = 1.0
        return None if self._late else Compared(self.provider, one, made, Cosines(0.5, 1.0))


@pytest.mark.parametrize(("question", "words"), [
    ("Which city sold the most units?", ["city", "sold", "units"]),
    ("Quelle ville a vendu le plus ?", ["ville", "vendu"]),
    ("哪个城市卖得最多", ["城市"]),
    ("Lyon有多少失业者？", ["Lyon", "失业者"]),
    ("12 000 34", []),
])  # fmt: skip
def test_words_of_meaning_are_compared(question: str, words: list[str]) -> None:
    assert table_reading.words_of(question) == words


def test_each_name_of_a_column_is_compared_once_and_no_long_ones() -> None:
    assert table_reading.headers_of(TABLES) == ["Units", "City"]


def test_a_word_is_as_alike_a_column_as_to_the_header_in_it_that_it_is_most_alike() -> None:
    headers, one, two = ["Units", "Sales › City"], np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert table_reading.parts_of(headers) == ["Sales", "City"]
    vectors = np.stack([one, (one + two) / 2])
    for parts, likeness in ((None, 0.5), ({"City": two}, 1.0)):
        read = table_reading.reading(one, ["Ort"], two[None], headers, vectors, Cosines(0.0, 1.0), parts)
        assert [list(column.words) for column in read.columns] == [[0.0], [likeness]]


async def test_a_question_is_read_by_e5_without_the_names_of_files() -> None:
    likeness = Likeness("e5")
    read = await Extractive(0.5, likeness).read_tables("Which city is the largest in stock.csv?", TABLES)
    assert read is not None
    assert likeness.asked == [("Which city is the largest in  ?", ["city", "largest", "Units", "City"])]
    assert sum(one.chance for one in read.operations) == pytest.approx(1)
    assert {one.operation for one in read.operations} == {
        "total",
        "average",
        "count",
        "highest",
        "lowest",
        "compare",
        "other",
    }
    assert [(one.name, one.question) for one in read.columns] == [("Units", -1.0), ("City", 1.0)]
    assert list(read.words) == ["city", "largest"]
    assert list(read.columns[1].words) == [1.0, -1.0]


@pytest.mark.parametrize("likeness", [None, Likeness("other"), Likeness("e5", late=True)])
async def test_without_vectors_of_e5_nothing_is_said(likeness: Likeness | None) -> None:
    provider = Extractive(0.5, likeness)
    assert provider.reads_tables == (likeness is not None and likeness.provider == "e5")
    assert await provider.read_tables("Which city is the largest?", TABLES) is None
