"""Compares ledger, vector store, files, spool and jobs with the catalogue, in both directions, without any service."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from footnote_store.ids import parse_chunk_id
from footnote_store.rows import space_name
from footnote_store.transfer import Transfer

from support.deployment import Deployment
from support.harness.audit import Shown
from support.harness.reference_model import ReferenceModel
from support.harness.tables import Rows, Tables

ACTIVE = ("ENQUEUED", "PENDING", "DELAYED")


async def jobs(tables: Tables, world: ReferenceModel) -> list[str]:
    """Return the unfinished and the failed jobs."""
    query = "SELECT workflow_uuid, status, name FROM workflow_status"
    rows = await tables.read("jobs", query)
    world.counts["jobs"] = len(rows)
    broken = ("ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
    active = [f"unfinished: job {job} ({name}) is {status}" for job, status, name in rows if status in ACTIVE]
    return active + [f"failed: job {job} ({name}) is {status}" for job, status, name in rows if status in broken]


async def ledger(tables: Tables, listed: Shown) -> list[str]:
    """Compare the ledger's searched revisions with the catalogue's, and its collections with those listed."""
    searched = await tables.read(
        "indexing",
        "SELECT r.document_id, r.revision, r.chunks_stored, r.chunks_expected, r.collection_id"
        " FROM indexing_revisions r"
        " JOIN indexing_generations g ON g.collection_id = r.collection_id AND g.number = r.generation"
        " WHERE r.state = 'CURRENT' AND g.state = 'CURRENT'",
    )  # fmt: skip
    found = [f"half: the ledger has {row[2]} of {row[3]} chunks of {row[0]}" for row in searched if row[2] != row[3]]
    # Rows of own vectors are not documents; `vector_steps.audit` compares them.
    has = Counter((row[0], row[1]) for row in searched if not row[0].startswith(f"{row[4]}/"))
    wanted = Counter((one.id, one.indexed_revision) for one in listed.indexed.values())
    found += _both_ways("the ledger's revisions", has, wanted)
    rows = await tables.read("indexing", "SELECT id FROM indexing_collections")
    found += _both_ways(
        "the ledger's collections", Counter(row[0] for row in rows), Counter(one.id for one in listed.collections)
    )
    return found


async def store(running: Deployment, tables: Tables, world: ReferenceModel) -> list[str]:
    """Compare the store's rows with the ledger: each searched row exists once, and no row is unknown."""
    query = "SELECT collection_id, generation, document_id, revision, state, chunks_stored FROM indexing_revisions"
    before = await tables.read("indexing", query)
    rows = await _rows(running, "chunks_", ["id", "collection_key", "revision_key"])
    ids = Counter((space, one["id"], one["collection_key"]) for space, one in rows)
    found = [f"doubled: row {key} is in the store {count} times" for key, count in ids.items() if count > 1]
    known = {(f"{row[0]}:{row[1]}", f"{row[2]}:{row[3]}"): row for row in before}
    has = Counter((one["collection_key"], one["revision_key"]) for _, one in rows)
    wanted = Counter({key: row[5] for key, row in known.items() if row[4] == "CURRENT"})
    for key, count in wanted.items():
        if has[key] != count:
            found.append(f"lost: the ledger has {count} rows of {key}, the store {has[key]}")
    found += [
        f"ghost: {count} rows of {key} that the ledger does not know"
        for key, count in has.items()
        if key not in known and not (key[0] in world.lost_index_versions and _is_own(*key))
    ]
    found += [f"differs: row {one['id']} is no chunk's" for _, one in rows if parse_chunk_id(one["id"]) is None]
    spaces = {space for space, _ in rows}
    found += [
        f"ghost: space {one}"
        for one in spaces
        if one not in {space_name(384), space_name(64), space_name(4), space_name(2)} | _variants(spaces)
    ]
    world.counts["rows in the store"] = len(rows)
    return found


def _is_own(collection_key: str, revision_key: str) -> bool:
    """Return whether a row has an own vector, which stays if the ledger has lost its collection."""
    return revision_key.startswith(f"{collection_key.rpartition(':')[0]}/")


def _variants(spaces: set[str]) -> set[str]:
    """Return those that keep generations of one collection apart."""
    return {one for one in spaces if "_v" in one}


async def memory_rows(running: Deployment) -> list[dict[str, Any]]:
    """Return the rows of memory: id and conversation."""
    return [one for _, one in await _rows(running, "messages_", ["id", "conversation_id"])]


async def _rows(running: Deployment, prefix: str, columns: list[str]) -> list[tuple[str, dict[str, Any]]]:
    source = Transfer(running.store_uri())
    try:
        return [
            (space, {name: row[name] for name in columns})
            for space in await source.spaces()
            if space.startswith(prefix)
            async for page in source.pages(space)
            for row in page
        ]
    finally:
        await source.close()


async def files(folder: Path, tables: Tables, world: ReferenceModel) -> list[str]:
    """Compare the files with the catalogue: each file that it names exists, and it names each file that exists."""
    rows = await tables.read("documents", "SELECT id, blob_key, parsed_key, searched_key FROM documents")
    doomed = {key for (key,) in await tables.read("documents", "SELECT key FROM doomed_blobs")}
    deleting = await tables.read("documents", "SELECT count(*) FROM documents WHERE delete_time IS NOT NULL")
    found = [f"unfinished: {deleting[0][0]} deletions"] if deleting != [(0,)] else []
    return found + await asyncio.to_thread(_files, folder / "ingestion", rows, doomed, world)


def _files(folder: Path, rows: Rows, doomed: set[str], world: ReferenceModel) -> list[str]:
    root = folder / "blobs"
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    named = {key for _, *keys in rows for key in keys if key}
    found = [f"lost: file {key} of a document" for key in named - there - world.loose_files]
    # A partial write of a killed process has a numbered name beside the file, and is deleted with it.
    known = doomed | world.loose_files
    ghosts = {key for key in there - named if key.partition("#")[0] not in known}
    found += [f"ghost: file {key} that the catalogue does not name" for key in ghosts]
    # A killed process leaves its folder for a day; a running one has an empty folder when idle.
    folders = sorted((folder / "spool").iterdir(), key=lambda one: one.stat().st_ctime)
    left = [path for path in folders[-1].rglob("*") if path.is_file()] if folders else []
    found += [f"ghost: {len(left)} unowned files in the spool"] if left else []
    world.counts["files doomed by grace"] = len(doomed & there)
    world.counts["spool folders of the dead"] = max(0, len(folders) - 1)
    return found


def _both_ways(what: str, has: Counter[Any], wanted: Counter[Any]) -> list[str]:
    found = [f"lost: {what} lack {key}" for key in (wanted - has)]
    return found + [f"ghost: {what} have {key}" for key in (has - wanted)]
