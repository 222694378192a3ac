"""What idle indexing asks every second is read from indexes, not from all revisions, also of a database of before."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_indexing.adapters.database import FILE, MIGRATIONS, Database
from footnote_indexing.adapters.inventory import InventoryTable
from footnote_indexing.adapters.ledger_reading import LedgerReading
from footnote_indexing.adapters.purge_list import PurgeTable
from footnote_indexing.adapters.vector_claims import VectorClaimTable
from footnote_indexing.model import CURRENT, RETIRED, WRITING

DOCUMENTS = 300


async def filled(folder: Path) -> Database:
    """Return a database that an earlier version filled: of each ten documents one is unsearched, and one is owed."""
    engine = sa.create_engine(f"sqlite:///{folder / FILE}")
    with engine.begin() as connection:
        MIGRATIONS.upgrade(connection, "0008")
        revisions = sa.Table("indexing_revisions", sa.MetaData(), autoload_with=connection)
        rows = [
            {
                "collection_id": "c", "generation": 1, "document_id": f"d{number:03}", "revision": 1,
                "state": WRITING if number % 10 == 1 else CURRENT, "fingerprint": "", "contextual_header": False,
                "chunks_expected": 2, "chunks_stored": 2, "vectors_owed": 2 * (number % 10 == 2), "updated_at": 5,
            }
            for number in range(DOCUMENTS)
        ]  # fmt: skip
        connection.execute(sa.insert(revisions), rows)
    engine.dispose()
    opened = Database("", folder)
    await opened.migrate()
    return opened


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda opened: LedgerReading(opened).hidden([("c", 1)]), {"c": [f"d{n:03}:1" for n in range(1, 300, 10)]}),
        (lambda opened: VectorClaimTable(opened).owed(), 60),
        (lambda opened: VectorClaimTable(opened).missing("c", 1, "", "d280", 5), [("d282", 2), ("d292", 2)]),
        (lambda opened: VectorClaimTable(opened).claim((), 1.0), None),
        (lambda opened: PurgeTable(opened).retire_stale(4, 4), 0),
        (lambda opened: PurgeTable(opened).retire_stale(4, 5), 30),
    ],
)
async def test_what_is_asked_again_and_again_scans_no_table(
    tmp_path: Path, ask: Callable[[Database], Awaitable[object]], expected: object
) -> None:
    opened = await filled(tmp_path)
    said: list[tuple[str, tuple[object, ...]]] = []
    sa.event.listen(opened.engine.sync_engine, "before_cursor_execute", lambda *told: said.append(told[2:4]))
    answer = await ask(opened)
    await opened.close()
    assert expected is None or answer == expected
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        plans = [
            " | ".join(row[-1] for row in connection.execute(f"explain query plan {statement}", parameters))
            for statement, parameters in said
            if "indexing_revisions" in statement
        ]
    assert plans
    for plan in plans:
        for step in plan.split(" | "):
            assert not step.startswith("SCAN indexing_revisions") or "USING INDEX" in step, plans
            assert "by_state" not in step, plans


async def test_a_comparison_reads_its_pages_in_the_order_of_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await filled(tmp_path)
    inventory = InventoryTable(opened)
    monkeypatch.setattr("footnote_indexing.adapters.inventory._PAGE", 100)
    assert await inventory.counted("c", 1) == 2 * 270
    assert sum(one.counted for one in await inventory.searched("c", 1)) == 2 * 270
    assert len(await inventory.known("c", 1)) == DOCUMENTS
    assert (await inventory.counted("c", 2), await inventory.searched("c", 2)) == (0, [])
    async with opened.write() as connection:
        await connection.execute(sa.text(f"UPDATE indexing_revisions SET state = '{RETIRED}'"))
    assert (await inventory.counted("c", 1), len(await inventory.known("c", 1))) == (0, DOCUMENTS)
    await opened.close()
