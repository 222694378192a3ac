"""An accepted loss of documents or files is not asked for again, whichever moment the accepting start was killed at."""

from pathlib import Path
from typing import Any

import pytest
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_database.parts import Parts
from footnote_ingestion.adapters.blobs import FILES, refuse_missing_files
from footnote_ingestion.adapters.database import FILE, TRAITS, Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.model.files import Addition
from footnote_ingestion.model.lifecycle import UPLOADED
from footnote_ingestion.model.quota import Quota
from footnote_ingestion.model.values import Stored, now_micros
from footnote_kit.errors import FailedPrecondition


async def opened(folder: Path, *accepted: str) -> None:
    database = await Database.open("", folder / "ingestion", parts=Parts(folder, accepted))
    await database.close()


async def test_a_lost_database_is_accepted_once(tmp_path: Path) -> None:
    await opened(tmp_path)
    (tmp_path / "ingestion" / "blobs" / "uploads" / "some").mkdir(parents=True)
    for file in (tmp_path / "ingestion").glob(f"{FILE}*"):
        file.unlink()
    with pytest.raises(FailedPrecondition, match="is missing, while"):
        await opened(tmp_path)
    # As far as the accepting start has come when it says so.
    accepting = Parts(tmp_path, [TRAITS.part.name])
    accepting.note_loss(TRAITS.part)
    accepting.check_file(TRAITS.part, tmp_path / "ingestion" / FILE)
    await opened(tmp_path)


class Files:
    """A catalogue that names one file, and a store that may have it."""

    def __init__(self) -> None:
        self.there = False

    async def newest_files(self, most: int) -> list[str]:
        return ["one"]

    async def added_since(self, micros: int) -> bool:
        return False

    async def has(self, key: str) -> bool:
        return self.there


async def test_lost_files_stay_accepted_until_one_is_there(tmp_path: Path) -> None:
    files: Any = Files()

    async def check(*accepted: str) -> None:
        await refuse_missing_files(files, files, "here", Parts(tmp_path, accepted))

    with pytest.raises(FailedPrecondition):
        await check()
    await check(FILES.name)
    await check()
    files.there = True
    await check()
    files.there = False
    with pytest.raises(FailedPrecondition):
        await check()


async def test_a_second_loss_is_not_accepted_with_the_first(tmp_path: Path) -> None:
    files: Any = Files()
    database = await Database.open("", tmp_path / "ingestion")
    documents = DocumentTable(database)

    async def upload(name: str) -> None:
        document = Document(id=name, collection_id="c", tenant_id="t", filename=name, sha256=name, state=UPLOADED)
        document.create_time.FromMicroseconds(now_micros())
        new = Stored(document, name, "", 1)
        await documents.add("t", "c", Quota(), [Addition(name, 1, False, lambda before: before, None, new)])

    async def check(*accepted: str) -> None:
        await refuse_missing_files(documents, files, "here", Parts(tmp_path, accepted))

    try:
        await upload("one")
        await check(FILES.name)
        await check()
        await upload("two")
        with pytest.raises(FailedPrecondition):
            await check()
        await check(FILES.name)
        await check()
    finally:
        await database.close()
