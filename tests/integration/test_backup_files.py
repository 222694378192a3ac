"""A backup has the files of the documents that its database has, and no others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.admin import backup as admin_backup
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.restore import restore
from footnote_ingestion.app import build
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

SHEET = b"Land,Price\nGaul,102\nIberia,99\n"


def stored(folder: Path) -> set[str]:
    """Return the paths of all files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


async def test_files_of_documents_deleted_or_added_during_a_backup_are_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, saved, back = tmp_path / "data", tmp_path / "saved", tmp_path / "back"
    files = data / "ingestion" / "blobs"
    loop = asyncio.get_running_loop()
    async with serve_app(build, data_dir=data) as served:
        client = Client(served)
        stays = (await client.upload(SHEET, "stays.csv")).document.id
        await client.parse(stays)
        deleted = (await client.upload(b"To be deleted.", "deleted.txt")).document.id
        await client.parse(deleted)
        copy, passes = admin_backup._files, []

        def between(*given: Any) -> None:
            passes.append(given)
            if len(passes) == 2:
                asyncio.run_coroutine_threadsafe(client.upload(b"Added late.", "added.txt"), loop).result(60)
            copy(*given)
            if len(passes) == 1:
                asyncio.run_coroutine_threadsafe(client.delete(deleted), loop).result(60)

        monkeypatch.setattr(admin_backup, "_files", between)
        await admin_backup.backup(deployment_of(data), saved)
        [added] = [one.id for one in (await client.list()).documents if one.id != stays]
        await client.delete(added)
        kept = stored(files)
        assert {name.partition("/")[0] for name in kept} == {"uploads", "parsed", "tables"}
    assert stored(saved / "files" / "ingestion") == kept
    await restore(saved, back)
    async with serve_app(build, data_dir=back) as served:
        client = Client(served)
        assert (await client.download(stays))[1] == SHEET
        assert [block.text for block in (await client.parse(stays))[0]]
    assert stored(back / "ingestion" / "blobs") == kept


async def test_files_of_a_folder_are_restored_into_an_object_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, saved, back, bucket = (tmp_path / name for name in ("data", "saved", "back", "bucket"))
    async with serve_app(build, data_dir=data) as served:
        document_id = (await Client(served).upload(SHEET, "sheet.csv")).document.id
    await admin_backup.backup(deployment_of(data), saved)
    bucket.mkdir()
    monkeypatch.setenv("FOOTNOTE_INGESTION_BLOB_URL", bucket.as_uri())
    await restore(saved, back)
    async with serve_app(build, data_dir=back) as served:
        assert (await Client(served).download(document_id))[1] == SHEET
