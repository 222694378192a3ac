"""What searches ask of large collections while they are written: they are not counted each time."""

from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_indexing.adapters import ledger_reading
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.ledger_reading import LedgerReading
from footnote_indexing.adapters.tables import revisions
from footnote_indexing.model import CURRENT, Contents, Totals
from support.doubles.clock import Clock

PAIRS = [("large", 1), ("small", 1)]


async def add(opened: Database, collection_id: str, number: int, language: str = "en", owed: int = 0) -> None:
    async with opened.write_documents() as connection:
        await connection.execute(
            sa.insert(revisions).values(
                collection_id=collection_id, index_version=1, document_id=f"{collection_id}-{number}", revision=1,
                state=CURRENT, fingerprint="", contextual_header=False, language=language, chunks_expected=2,
                chunks_stored=2, characters=9, vectors_owed=owed, updated_at=0,
            )
        )  # fmt: skip


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often which pair was counted."""
    asked: Counter[tuple[str, int]] = Counter()
    totals = LedgerReading.totals

    async def count(self: LedgerReading, pairs: list[tuple[str, int]]) -> dict[str, Totals]:
        asked.update(pairs)
        return await totals(self, pairs)

    monkeypatch.setattr(LedgerReading, "totals", count)
    monkeypatch.setattr(ledger_reading, "_LARGE", 3)
    return asked


async def test_only_small_collections_are_counted_for_each_search(
    tmp_path: Path, counted: Counter[tuple[str, int]]
) -> None:
    opened, clock = Database("", tmp_path), Clock()
    await opened.migrate()
    reading = LedgerReading(opened, clock)
    for number in range(3):
        await add(opened, "large", number)
    assert await reading.contents(PAIRS) == {
        "large": Contents(["en"], Totals(3, 6, 27)),
        "small": Contents([], Totals(0, 0, 0)),
    }
    await add(opened, "large", 3, "de", owed=2)
    await add(opened, "small", 3, "de", owed=2)
    assert await reading.contents(PAIRS) == {
        "large": Contents(["en"], Totals(3, 6, 27, 2), exact=False),
        "small": Contents(["de"], Totals(1, 2, 9, 2)),
    }
    assert counted == {PAIRS[0]: 1, PAIRS[1]: 2}
    clock.now += ledger_reading._KEPT_SECONDS
    assert (await reading.contents(PAIRS))["large"] == Contents(["en", "de"], Totals(4, 8, 36, 2))
    assert counted == {PAIRS[0]: 2, PAIRS[1]: 3}
    await opened.close()
