"""Claims on vectors that are owed: they end by themselves, also when the clock was put back while they were held."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from footnote_database.transactions import now_ms
from footnote_indexing.adapters import vector_claims
from footnote_indexing.adapters.database import Database
from footnote_indexing.adapters.tables import revisions
from footnote_indexing.adapters.vector_claims import VectorClaimTable
from footnote_indexing.model import CURRENT, WRITING

SECONDS = 300.0
DAY = 86_400


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database with one document that lacks a vector."""
    opened = Database("", tmp_path)
    await opened.migrate()
    async with opened.write() as connection:
        await connection.execute(
            sa.insert(revisions).values(
                collection_id="c", index_version=1, document_id="d", revision=1, state=CURRENT,
                fingerprint="", contextual_header=False, chunks_expected=1, chunks_stored=1,
                vectors_owed=1, updated_at=0,
            )
        )  # fmt: skip
    yield opened
    await opened.close()


@pytest.mark.parametrize("ahead", [-DAY, -3600, -1, 0, 1, 299, 301, 3600, DAY])
async def test_a_claim_holds_for_its_time_and_not_beyond_a_clock_that_was_put_back(
    database: Database, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    held = VectorClaimTable(database)
    assert await held.claim((), SECONDS) is not None
    monkeypatch.setattr(vector_claims, "now_ms", lambda: now_ms() + ahead * 1000)
    again = await held.claim((), SECONDS)
    assert (again is None) is (-SECONDS < ahead < SECONDS)


async def test_small_documents_pass_large_ones_until_those_have_waited_as_long(database: Database) -> None:
    def row(document_id: str, owed: int, since: int) -> dict[str, object]:
        return {
            "collection_id": "c", "index_version": 1, "document_id": document_id, "revision": 1, "state": CURRENT,
            "fingerprint": "", "contextual_header": False, "chunks_expected": owed, "chunks_stored": owed,
            "vectors_owed": owed, "updated_at": since,
        }  # fmt: skip

    large = 1000 * vector_claims._PER_VECTOR
    rows = [row("large", 1000, 0), row("small", 2, large - 200), row("late", 2, large), row("smaller", 1, large - 200)]
    async with database.write() as connection:
        await connection.execute(sa.delete(revisions))
        await connection.execute(sa.insert(revisions), rows)
    held = VectorClaimTable(database)
    claims = [await held.claim((), SECONDS) for _ in rows]
    assert [claim[0].document_id for claim in claims if claim] == ["smaller", "small", "large", "late"]


async def test_the_number_owed_is_that_of_searched_revisions(database: Database) -> None:
    claims = VectorClaimTable(database)
    async with database.write() as connection:
        for revision, state, owed in ((2, CURRENT, 41), (3, CURRENT, 0), (4, WRITING, 7)):
            await connection.execute(
                sa.insert(revisions).values(
                    collection_id="other", index_version=1, document_id="d", revision=revision, state=state,
                    fingerprint="", contextual_header=False, chunks_expected=1, chunks_stored=1,
                    vectors_owed=owed, updated_at=0,
                )
            )  # fmt: skip
    assert await claims.owed() == 42
    async with database.write() as connection:
        await connection.execute(sa.delete(revisions))
    assert await claims.owed() == 0
