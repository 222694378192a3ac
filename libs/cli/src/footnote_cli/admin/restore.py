"""Restores a backup into an empty folder, or into the empty databases and store that the settings name."""

import asyncio
import itertools
import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from footnote_database import integrity, snapshots
from footnote_database.storage import StoredDatabase
from footnote_kit import private
from footnote_store import folder_check
from footnote_store.engine import EmbeddedEngine
from footnote_store.transfer import PAGE, Transfer, of_line

from footnote_cli.admin import manifest
from footnote_cli.admin.backup import FILES, LEDGER, ROWS
from footnote_cli.admin.deployment import STORE, Deployment, deployment_of, empty_folder
from footnote_cli.admin.manifest import Database, Manifest
from footnote_cli.errors import CommandError, usage_error


async def restore(source: Path, target: Path) -> Manifest:
    """Restore a backup and return its manifest; a failed restore leaves no folder that could be served.

    Raises CommandError, FootnoteError.
    """
    private.keep()
    saved = await asyncio.to_thread(manifest.read, source)
    wanted = empty_folder(target)
    # Filled beside its final place: no database contains a path, and half a folder is never served.
    folder = wanted.with_name(f".{wanted.name}.restoring")
    if folder.exists():
        raise usage_error(f"{folder} was left by an interrupted restore.", "Delete it and try again.")
    folder.mkdir(mode=0o700)
    try:
        deployment = deployment_of(folder)
        for name, one in saved.databases.items():
            check(deployment, name, one)
        await _files(deployment, source)  # first: files may be stored again, a database on a server is filled once
        copies = {(deployment.database(name).place, one.file): name for name, one in saved.databases.items()}
        for (_, file), name in copies.items():  # a shared database is filled once
            await asyncio.to_thread(_database, deployment.database(name), source / file)
        await asyncio.to_thread(_note_parts, deployment, saved)
        if saved.spaces:
            await _rows(deployment, source, saved)
            if deployment.vectors.exists():
                await asyncio.to_thread(deployment.parts.note, folder_check.PART)
        wanted.rmdir()
        folder.rename(wanted)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return saved


def check(deployment: Deployment, name: str, one: Database) -> None:
    """Raise CommandError if a database of a backup cannot be restored here."""
    try:
        place = deployment.database(name)
    except KeyError:
        problem = f"No service here keeps a database '{name}'."
        raise CommandError(problem, "Restore with the release that made it.") from None
    if one.postgresql != (place.file is None):
        kind = "PostgreSQL" if one.postgresql else "SQLite"
        raise usage_error(f"The {name} database of this backup is of {kind}.", "Set its address to one of that kind.")
    if one.schema_version and one.schema_version not in known(place):
        raise integrity.newer(one.file, name, one.schema_version)


def known(place: StoredDatabase) -> set[str]:
    """Return the schema versions of a database that this release knows."""
    if place.migrations is None:
        return set()
    return set(place.migrations.known())


def _database(place: StoredDatabase, copy: Path) -> None:
    if place.file is None:
        snapshots.load(place.url, copy)
        return
    place.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copyfile(copy, place.file)


def _note_parts(deployment: Deployment, made: Manifest) -> None:
    """Record which databases were restored; those missing in the backup begin empty.

    The vector store's rows were copied after the ledger, so the ledger lacks the changes in between.
    """
    for one in deployment.databases:
        deployment.parts.begin(one.part)
        if one.name in made.databases:
            deployment.parts.note(one.part, one.file)
            if one.name == LEDGER and made.spaces:
                deployment.parts.note_loss(one.part)
    deployment.parts.begin(folder_check.PART)


async def _files(deployment: Deployment, source: Path) -> None:
    """Copy the files to where the settings keep them, whether they were in a folder or are."""
    for service, stored in deployment.services.items():
        saved = source / FILES / service
        if not saved.is_dir():
            continue
        if stored.put_files is not None:
            await stored.put_files(saved)
        elif stored.files is not None:
            copy = partial(shutil.copytree, copy_function=shutil.copyfile, dirs_exist_ok=True)
            await asyncio.to_thread(copy, saved, stored.files)


async def _rows(deployment: Deployment, source: Path, saved: Manifest) -> None:
    uri = deployment.settings.vector_store_uri
    engine = None if uri else EmbeddedEngine(deployment.folder / STORE, compact_after=float("inf"))
    if engine is not None:
        (deployment.folder / STORE).mkdir(exist_ok=True, mode=0o700)
        uri = await engine.start()
    store = Transfer(uri, "" if engine is not None else deployment.settings.vector_store_token)
    try:
        for space in saved.spaces:
            if engine is None and await store.total(space):
                raise usage_error(f"The vector store already holds rows in {space}.", "Give an empty one.")
        for space, count in saved.spaces.items():
            with (source / ROWS / f"{space}.jsonl").open(encoding="utf-8") as lines:
                for batch in _batched(lines):
                    await store.fill(space, [of_line(line) for line in batch])
            there = await store.total(space) if count else 0
            if there != count:
                raise CommandError(f"{there} of {count} rows of {space} are in the store.", "Restore again.")
    finally:
        await store.close()
        if engine is not None:
            await engine.stop()


def _batched(lines: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(lines)
    while batch := list(itertools.islice(rest, PAGE)):
        yield batch
