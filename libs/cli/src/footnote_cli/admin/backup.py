"""Backs up a deployment, served or not: its databases, files and vector store, and its settings.

Its parts are copied one after the other while uploads go on. Later parts may know more than earlier ones; the services
repair that after a restore, as after a power cut. A document whose job is missing is processed again, orphaned rows are
removed, and missing ones are written again. Own vectors are listed as the copied vector store holds them.
"""

import asyncio
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from footnote_database import integrity, snapshots
from footnote_database.storage import StoredDatabase
from footnote_kit import private

from footnote_cli.admin import manifest
from footnote_cli.admin.deployment import Deployment, empty_folder, open_store
from footnote_cli.admin.manifest import Database, Manifest
from footnote_cli.errors import CommandError

FILES, DATABASES, ROWS, SETTINGS = "files", "databases", "store", "settings.json"
LEDGER = "indexing"
"""The database that says which rows of the vector store are searched."""
_BEFORE_STORE = ("jobs", "edge", LEDGER)
_SECRET = re.compile(r"(?i)key|token|secret|passw|credential")


async def backup(deployment: Deployment, target: Path) -> Manifest:
    """Back up a deployment into an empty folder and return its manifest. Raises CommandError, FootnoteError."""
    private.keep()
    if not deployment.folder.is_dir():
        raise CommandError(f"There is no data folder {deployment.folder}.", "Name the deployment's with --data-dir.")
    folder = empty_folder(target)
    made = Manifest(version=metadata.version("footnote"), create_time=datetime.now(UTC).isoformat(timespec="seconds"))
    (folder / DATABASES).mkdir()
    first = [one for name in _BEFORE_STORE for one in deployment.databases if one.name == name]
    late = {one.place for one in deployment.databases if one not in first}
    first = [one for one in first if one.place not in late]  # services that share a database get one snapshot
    for one in first:
        await asyncio.to_thread(_database, one, deployment, folder, made)
    await _rows(deployment, folder, made)
    # Copy files before their database, so that none deleted later is missing; then copy the files added meanwhile.
    await asyncio.to_thread(_files, deployment, folder, made)
    for one in deployment.databases:
        if one not in first:
            await asyncio.to_thread(_database, one, deployment, folder, made)
    await asyncio.to_thread(_files, deployment, folder, made)
    await asyncio.to_thread(_drop_files, deployment, folder, made)
    made.left_out = sorted({*made.left_out, *_settings(folder)})
    await asyncio.to_thread(manifest.write, folder, made)
    return made


def _database(one: StoredDatabase, deployment: Deployment, folder: Path, made: Manifest) -> None:
    if one.name in made.databases:
        return
    if one.file is None:
        target = f"{DATABASES}/{one.name}.dump"
        snapshots.dump(one.url, folder / target)
        for other in deployment.databases:
            if other.place == one.place:
                made.databases[other.name] = Database(file=target, postgresql=True)
        return
    if not one.file.exists():
        if one.witness is not None and one.witness.is_dir() and any(one.witness.iterdir()):
            raise integrity.missing(one.file, one.name, one.witness)
        made.left_out.append(f"the {one.name} database: there is none yet")
        return
    target = f"{DATABASES}/{one.name}.db"
    integrity.check_log(one.file, one.name)
    try:
        snapshots.copy_file(one.file, folder / target)
        integrity.check_file(folder / target, one.name)
    except sqlite3.DatabaseError as error:
        raise CommandError(f"{one.file} cannot be copied: {error}.", "Ask `footnote admin doctor`.") from error
    made.databases[one.name] = Database(file=target, schema_version=schema_of(folder / target, one))


def schema_of(file: Path, one: StoredDatabase) -> str:
    """Return the schema version of a SQLite file; empty if it has none."""
    if one.migrations is None:
        return ""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        try:
            row = connection.execute(f'SELECT version_num FROM "{one.migrations.version_table}"').fetchone()
        except sqlite3.OperationalError:
            return ""
    return str(row[0]) if row else ""


async def _rows(deployment: Deployment, folder: Path, made: Manifest) -> None:
    from footnote_store.transfer import as_line

    async with open_store(deployment) as store:
        if store is None:
            made.left_out.append("the vector store: there is none yet")
            return
        (folder / ROWS).mkdir()
        for space in await store.spaces():
            count = 0
            with (folder / ROWS / f"{space}.jsonl").open("w", encoding="utf-8") as handle:
                async for rows in store.pages(space):
                    lines = [as_line(row) for row in rows]
                    await asyncio.to_thread(handle.writelines, (f"{line}\n" for line in lines))
                    count += len(lines)
            made.spaces[space] = count


def _files(deployment: Deployment, folder: Path, made: Manifest) -> None:
    """Copy the files that are missing in the backup; they never change."""
    for service, stored in deployment.services.items():
        if stored.files_url:
            made.left_out.append(f"the files of {service}, which are in an object store: keep its versions")
        if stored.files is None:
            continue
        for path in files_below(stored.files):
            target = folder / FILES / service / path.relative_to(stored.files)
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # just deleted
                shutil.copyfile(path, target.with_name(f"{target.name}.part"))
                target.with_name(f"{target.name}.part").replace(target)


def _drop_files(deployment: Deployment, folder: Path, made: Manifest) -> None:
    """Remove the files that no document of the copied database has: deleted before it was copied, or added after.

    Nothing would ever delete them once they are restored. Dumps of PostgreSQL are not read, so theirs stay.
    """
    for service, stored in deployment.services.items():
        copy = made.databases.get(stored.databases[0].name) if stored.databases else None
        if copy is None or copy.postgresql or not stored.kept:
            continue
        with closing(sqlite3.connect(f"file:{folder / copy.file}?mode=ro", uri=True)) as connection:
            try:
                kept = {str(name) for (name,) in connection.execute(stored.kept)}
            except sqlite3.OperationalError:
                continue  # of a release that had other columns
        for path in list(files_below(folder / FILES / service)):
            if path.relative_to(folder / FILES / service).as_posix() not in kept:
                path.unlink()


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; what vanishes meanwhile is left out, what cannot be read raises OSError."""

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for parent, _, names in os.walk(folder, onerror=failed):
        yield from (Path(parent, name) for name in names)


def _settings(folder: Path) -> list[str]:
    """Write the settings of this environment, without secrets; return the names left out."""
    shown, hidden = settings(os.environ)
    (folder / SETTINGS).write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [f"the setting {name}, a secret" for name in hidden]


def settings(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return an environment's settings without secrets, and the names of those that may be secret."""
    ours = {name: value for name, value in sorted(environment.items()) if name.startswith("FOOTNOTE_")}
    hidden = [name for name, value in ours.items() if _SECRET.search(f"{name} {value}") or _has_login(value)]
    return {name: value for name, value in ours.items() if name not in hidden}, hidden


def _has_login(value: str) -> bool:
    """Return whether an address has a user or password, which may contain any character, "/" too."""
    return "@" in value.partition("://")[2]
