"""The sweeper deletes the files that it can, whatever keeps it from deleting others."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from footnote_ingestion.adapters.blobs import Blobs
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.documents.stored_files import Sweeper
from footnote_kit.errors import Unavailable


class NoChanges:
    """Changes of which none is old."""

    async def forget(self) -> None:
        return None


@pytest.fixture
async def documents(tmp_path: Path) -> AsyncIterator[DocumentTable]:
    """A table of documents in a database of its own."""
    database = await Database.open("", tmp_path / "database")
    yield DocumentTable(database)
    await database.close()


async def test_a_file_that_cannot_be_deleted_keeps_no_other_one(documents: DocumentTable, tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "blobs"
    source.write_bytes(b"a file")
    files = Blobs.open("", {}, folder, tmp_path)
    keys = [f"uploads/a/{number}" for number in range(5)]
    for key in keys:
        await files.put(key, source)
    (folder / keys[2]).unlink()
    (folder / keys[2] / "inside").mkdir(parents=True)  # the store deletes no folder
    await documents.doom(keys, 1)
    sweeper = Sweeper(documents, NoChanges(), files)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(Unavailable):
            await sweeper.sweep()
        assert [path.name for path in (folder / "uploads" / "a").iterdir()] == ["2"]
        assert list(await documents.doomed()) == [keys[2]]
    (folder / keys[2] / "inside").rmdir()
    (folder / keys[2]).rmdir()
    assert await sweeper.sweep() == 1
    assert list(await documents.doomed()) == []
