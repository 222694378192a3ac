"""A backup holds what there was, says so with checksums, and is refused where it is damaged or of a later release."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from footnote_cli.admin import manifest
from footnote_cli.admin.backup import backup, files_below, settings
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.restore import restore
from footnote_cli.errors import CommandError
from footnote_kit.errors import FailedPrecondition


def deployed(folder: Path) -> Path:
    """Make a data folder with a database of jobs and a file."""
    (folder / "edge").mkdir(parents=True)
    with closing(sqlite3.connect(folder / "edge" / "jobs.db")) as connection, connection:
        connection.execute("CREATE TABLE jobs (id TEXT)")
        connection.execute("INSERT INTO jobs VALUES ('one')")
    with closing(sqlite3.connect(folder / "edge" / "edge.db")) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    (folder / "ingestion" / "blobs" / "parsed").mkdir(parents=True)
    (folder / "ingestion" / "blobs" / "parsed" / "d1").write_bytes(b"heron")
    return folder


def left(folder: Path) -> list[Path]:
    """What refused restorings have left."""
    return [*folder.glob("new/*"), *folder.glob(".new*")]


async def test_what_is_damaged_missing_or_newer_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    made = await backup(deployment_of(deployed(tmp_path / "data")), saved)
    assert set(made.databases) == {"edge", "jobs"}
    assert "files/ingestion/parsed/d1" in made.files
    with pytest.raises(FailedPrecondition, match="later release"):
        await restore(saved, tmp_path / "new")
    copy = saved / "files" / "ingestion" / "parsed" / "d1"
    copy.write_bytes(b"crane")
    with pytest.raises(CommandError, match="is damaged"):
        await restore(saved, tmp_path / "new")
    copy.unlink()
    with pytest.raises(CommandError, match="is missing"):
        await restore(saved, tmp_path / "new")
    told = json.loads((saved / manifest.FILE).read_text())
    (saved / manifest.FILE).write_text(json.dumps({**told, "format": 2}))
    with pytest.raises(CommandError, match="later release"):
        await restore(saved, tmp_path / "new")
    (saved / manifest.FILE).unlink()
    with pytest.raises(CommandError, match="not a complete backup"):
        await restore(saved, tmp_path / "new")
    assert left(tmp_path) == []


def test_files_that_vanish_are_left_out_and_unreadable_folders_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gone", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "d1").write_bytes(b"heron")
    scandir, errors = os.scandir, {"gone": FileNotFoundError}

    def failing(path: str) -> Iterator[os.DirEntry[str]]:
        if error := errors.get(Path(path).name):
            raise error
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)  # root reads every folder
    assert list(files_below(tmp_path)) == [tmp_path / "here" / "d1"]
    errors["here"] = PermissionError
    with pytest.raises(PermissionError):
        list(files_below(tmp_path))


async def test_a_folder_with_something_in_it_is_filled_by_nobody(tmp_path: Path) -> None:
    folder = deployed(tmp_path / "data")
    with pytest.raises(CommandError, match="is not empty"):
        await backup(deployment_of(folder), folder)


def test_secrets_are_named_and_not_written() -> None:
    shown, hidden = settings(
        {
            "FOOTNOTE_LOG_LEVEL": "info",
            "FOOTNOTE_SERVICE_TOKEN": "s",
            "FOOTNOTE_INDEXING_DATABASE_URL": "postgresql://u:p@db/x",
            "FOOTNOTE_EDGE_DATABASE_URL": "postgresql://u:pa/ss+x==@db/x",
            "FOOTNOTE_VECTOR_STORE_URI": "http://milvus:19530",
            "HOME": "/root",
        }
    )
    assert shown == {"FOOTNOTE_LOG_LEVEL": "info", "FOOTNOTE_VECTOR_STORE_URI": "http://milvus:19530"}
    assert hidden == ["FOOTNOTE_EDGE_DATABASE_URL", "FOOTNOTE_INDEXING_DATABASE_URL", "FOOTNOTE_SERVICE_TOKEN"]
