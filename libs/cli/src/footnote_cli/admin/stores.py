"""Examines a deployment's data: each database, samples of what it holds as bytes, and the vector store."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from footnote_database import integrity
from footnote_database.storage import Sample, StoredDatabase
from footnote_kit.errors import FootnoteError
from footnote_store import folder_check
from footnote_store.engine import engine_folder
from footnote_store.transfer import Transfer

from footnote_cli.admin import servers
from footnote_cli.admin.backup import schema_of
from footnote_cli.admin.deployment import Deployment, engine_answers, open_store
from footnote_cli.admin.findings import Finding, broken, ok, older, refused, warning
from footnote_cli.admin.restore import known
from footnote_cli.errors import CommandError

STORE = "vector store"


async def databases(deployment: Deployment) -> AsyncIterator[Finding]:
    """Examine every database."""
    for one in deployment.databases:
        if one.file is None:
            yield await servers.examine(one)
        else:
            yield await asyncio.to_thread(_file, deployment, one, one.file)


def _file(deployment: Deployment, one: StoredDatabase, file: Path) -> Finding:
    check = f"{one.name} database"
    if not file.exists():
        if one.witness is not None and one.witness.is_dir() and any(one.witness.iterdir()):
            return refused(check, integrity.missing(file, one.name, one.witness))
        try:
            deployment.parts.check_file(one.part, file)
        except FootnoteError as error:
            return refused(check, error)
        return warning(check, f"{file} is not there yet", "The first start creates it.")
    try:
        integrity.check_file(file, one.name)
        deployment.parts.check_file(one.part, file)
        version = schema_of(file, one)
    except FootnoteError as error:
        return refused(check, error)
    except sqlite3.Error as error:
        return broken(check, f"{file} cannot be read: {error}", "Give this user the right to it, or put back a copy.")
    if version and version not in known(one):
        return refused(check, integrity.newer(str(file), one.name, version))
    if one.migrations is not None and version and version != (newest := one.migrations.known()[-1]):
        return older(check, str(file), version, newest)
    return ok(check, f"{file} is whole{f', schema {version}' if version else ''}")


def files(deployment: Deployment) -> Iterator[Finding]:
    """Examine whether the documents' files exist, if they and the database are on this machine."""
    for service, stored in deployment.services.items():
        file = stored.databases[0].file if stored.databases else None
        if stored.files is None or not stored.named or file is None or not file.exists():
            continue
        check, gone, total = f"files of {service}", 0, 0
        try:
            with integrity.read_only(file) as connection:
                for (name,) in connection.execute(stored.named):
                    total += 1
                    gone += not (stored.files / str(name)).is_file()
        except sqlite3.Error:
            continue  # the database has a finding of its own
        if gone:
            yield broken(
                check,
                f"{gone} of {total} documents lack their file in {stored.files}",
                "Put back a copy of that folder. Until then, searches find these documents, but they can be neither "
                "downloaded nor reindexed.",
            )
        elif total:
            yield ok(check, f"{total} documents have theirs")


def engine(deployment: Deployment) -> Iterator[Finding]:
    """Examine whether a needed embedded engine is installed, and its file intact while it is not in use."""
    if deployment.settings.vector_store_uri or deployment.settings.vector_store:
        return
    if engine_folder() is None:
        yield broken(
            STORE,
            "the embedded engine is not installed here",
            "Install it (pip install milvus-lite), or set FOOTNOTE_VECTOR_STORE_URI to a Milvus server.",
        )
    elif not deployment.vectors.exists():
        try:
            deployment.parts.check(
                folder_check.PART, f"store's file {deployment.vectors}", there=False, restore=folder_check.RESTORE
            )
        except FootnoteError as error:
            yield refused(STORE, error)
    elif not folder_check.is_of(deployment.vectors.parent):
        yield refused(STORE, folder_check.foreign(deployment.vectors.parent))
    elif not engine_answers(deployment.folder):
        # While the engine runs, no other process may even read its file.
        try:
            with integrity.read_only(deployment.vectors) as connection:
                whole = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        except sqlite3.Error:
            whole = False
        if not whole:
            yield broken(
                STORE,
                f"{deployment.vectors} is damaged",
                "Stop the services and run `footnote admin doctor --repair`: the file is put aside, and documents are "
                "indexed again at the next start. Own vectors and remembered messages come back from a backup only.",
            )


async def rows(deployment: Deployment) -> AsyncIterator[Finding]:
    """Examine whether the store answers, and whether its content belongs to this deployment."""
    try:
        async with open_store(deployment) as store:
            if store is None:
                yield warning(STORE, "there is none yet", "The first document creates it.")
                return
            total, keys = 0, set()
            for space in await store.spaces():
                total += await store.total(space)
                keys |= await _collections(store, space)
    except (FootnoteError, CommandError, OSError) as error:
        yield broken(STORE, f"it does not answer: {error}", "Start it, or set FOOTNOTE_VECTOR_STORE_URI right.")
        return
    ours = await asyncio.to_thread(_known_collections, deployment)
    if keys and ours is not None and not keys & ours:
        yield broken(
            STORE,
            f"it holds rows of {len(keys)} collections, none of which this deployment knows: it belongs to another "
            "installation",
            "Stop the services, put back this deployment's own store folder, or run `footnote admin doctor --repair`: "
            "the folder is put aside, and documents are indexed again at the next start.",
        )
    else:
        yield ok(STORE, f"{total} rows of {len(keys)} collections")


async def _collections(store: Transfer, space: str) -> set[str]:
    """Return the ids of collections that have rows in a space of chunks."""
    if not space.startswith("chunks_"):
        return set()
    return {str(row["collection_key"]).rpartition(":")[0] async for page in store.pages(space) for row in page}


def _known_collections(deployment: Deployment) -> set[str] | None:
    """Return the ids of the collections that may have rows; None if that cannot be read here."""
    for stored in deployment.services.values():
        for one in stored.databases if stored.collections else ():
            if one.file is None:
                return None
            if not one.file.exists():
                return set()
            try:
                with integrity.read_only(one.file) as connection:
                    return {str(row[0]) for row in connection.execute(stored.collections)}
            except sqlite3.Error:
                return None
    return None


MOST = 500
"""Values of each kind that are decoded."""


def samples(deployment: Deployment) -> Iterator[Finding]:
    """Decode samples of the databases that are local files; a schema of another release has a finding of its own."""
    for service, data in deployment.services.items():
        for sample in data.samples:
            file = deployment.database(sample.database).file
            if file is not None and file.exists():
                with contextlib.suppress(sqlite3.Error):
                    yield from _examine(service, sample, file)


def _examine(service: str, sample: Sample, file: Path) -> Iterator[Finding]:
    check, unread, total = f"{sample.name} of {service}", 0, 0
    with integrity.read_only(file) as connection:
        for row in connection.execute(f"{sample.query} LIMIT {MOST}"):
            total += 1
            try:
                sample.read(*row)
            except ValueError:
                unread += 1
    if unread:
        yield warning(
            check,
            f"{unread} of the {total} newest cannot be read: damaged, or written by an unknown release",
            f"{sample.effect} Put back a copy of {file} from before, if there is one.",
        )
    elif total:
        yield ok(check, f"the {total} newest can be read")
