"""Our own chunkers through the suite that we hand out, and broken ones that it finds."""

from collections.abc import Iterable
from typing import Any

import pytest
from footnote_indexing.chunking.model import Cut, PlacedBlock, Sizes
from footnote_indexing.chunking.registry import make_chunker
from footnote_indexing.chunking.strategies.window import Paragraph
from footnote_indexing.chunking.testing import CHUNKER
from footnote_providers.builtin import embed
from support.chunking import PLAIN, S, settings


@pytest.mark.parametrize("check", CHUNKER)
@pytest.mark.parametrize("nested", [False, True], ids=["plain", "parent and child"])
@pytest.mark.parametrize("strategy", PLAIN)
def test_our_chunkers_conform(check: Any, strategy: S.ValueType, nested: bool) -> None:
    wanted = settings(size=300, parent_child=nested, parent_size=900, child_size=200, overlap_percent=10)
    check(lambda: make_chunker(strategy, wanted, lambda texts: embed(texts, 64)))


class LosesTheEnd(Paragraph):
    def finish(self) -> list[Cut]:
        super().finish()
        return []


class GoesByBatches(Paragraph):
    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        return [*super().feed(blocks), *self.finish()]


class TurnsThemRound(Paragraph):
    def feed(self, blocks: Iterable[PlacedBlock]) -> list[Cut]:
        return super().feed(blocks)[::-1]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (LosesTheEnd, "loses_no_text"),
        (GoesByBatches, "does_not_depend_on_the_batches"),
        (TurnsThemRound, "cuts_in_reading_order"),
    ],
)
def test_a_broken_chunker_fails_the_check(kind: Any, name: str) -> None:
    (check,) = [one for one in CHUNKER if one.__name__ == name]
    with pytest.raises(AssertionError):
        check(lambda: kind(Sizes(300, 30)))
