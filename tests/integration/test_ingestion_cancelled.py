"""Uploads, replacements and deletions that are cancelled at any moment leave no unowned file and lose none."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.role_pb2 import ROLE_SYSTEM
from footnote_ingestion.adapters.blobs import Blobs
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.documents import DocumentTable
from footnote_ingestion.adapters.requests import RequestTable
from footnote_ingestion.documents.catalog import Catalog
from footnote_ingestion.documents.permissions import Permissions
from footnote_ingestion.documents.stored_files import StoredFiles, Sweeper
from footnote_ingestion.documents.uploads import NewFile, Replacement, Uploads
from footnote_ingestion.model.lifecycle import INDEXED, PROCESSING, Move
from footnote_ingestion.model.quota import Quota
from footnote_ingestion.model.values import GRACE_MICROS, now_micros
from footnote_ingestion.parsers.base import Limits
from footnote_kit.access import Access
from footnote_kit.errors import Unavailable
from google.protobuf.struct_pb2 import Struct
from sqlalchemy import text
from support import postgres

pytestmark = pytest.mark.full

MOMENTS = 40
SCOPE = Scope(tenant_id="t", user_id="u", roles=[ROLE_SYSTEM])


class Inspectors:
    """Takes every file for a text."""

    async def last(self, job: Any, tenant: str, user: str = "") -> bytes:
        await asyncio.sleep(0)
        return json.dumps({"mime_type": "text/plain", "document_type": "txt"}).encode()

    async def run_many(self, jobs: Any, tenant: str, user: str = "") -> AsyncIterator[list[tuple[bytes, bytes]]]:
        for job in jobs:
            yield [(b"D", await self.last(job, tenant, user))]


class NoChangeCache:
    """A change cache that ignores invalidations."""

    async def forget(self) -> None:
        return


class Collections:
    """Knows every collection, and lets everybody do anything there."""

    silent = False

    async def exists(self, scope: Scope, collection_id: str) -> bool:
        return True

    async def access(self, scope: Scope, collection_id: str, exact: bool = False) -> Access:
        return Access.WRITE


class CancellingTable(DocumentTable):
    """The document table; on request it cancels the caller right after its change was committed."""

    cancelling = False

    async def add(self, *given: Any, **more: Any) -> Any:
        done = await super().add(*given, **more)
        return await self._cancelled(done)

    async def change(self, *given: Any, **more: Any) -> Any:
        done = await super().change(*given, **more)
        return await self._cancelled(done)

    async def _cancelled(self, done: Any) -> Any:
        if self.cancelling and (task := asyncio.current_task()) is not None:
            task.cancel()
            await asyncio.sleep(0)
        return done


class Place:
    """A catalogue over a database and a folder of files, and what is in both."""

    def __init__(self, database: Database, folder: Path) -> None:
        scratch = folder / "scratch"
        scratch.mkdir()
        self.database, self.blobs = database, folder / "blobs"
        self.documents = documents = CancellingTable(database)
        permissions = Permissions(documents, Collections())  # type: ignore[arg-type]
        self.files = Blobs.open("", {}, self.blobs, scratch)
        stored_files = StoredFiles(documents, self.files)
        self.catalog = Catalog(documents, permissions, self.files, stored_files)
        self.uploads = Uploads(
            documents, permissions, RequestTable(database),
            stored_files, Inspectors(), scratch, 2**20, 10**6, Limits(),  # type: ignore[arg-type]
        )  # fmt: skip
        self._sent = 0

    async def upload(self) -> str:
        """Upload new bytes, and return the document's id."""
        self._sent += 1
        new = NewFile("c", f"{self._sent}.txt", (), Struct(), "", None, False, Quota(), request_id=f"r{self._sent}")
        return (await self.uploads.upload(SCOPE, new, self._parts())).document.id

    async def replace(self, document_id: str) -> None:
        """Replace a document's file by new bytes."""
        self._sent += 1
        await self.uploads.replace(SCOPE, Replacement(document_id, "", "", Quota()), self._parts())

    async def index(self, document_id: str) -> None:
        """Let searches see a document's newest revision."""
        await self.catalog.move(SCOPE, document_id, Move(state=PROCESSING))
        await self.catalog.move(SCOPE, document_id, Move(state=INDEXED, chunks_expected=1, chunks_stored=1))

    async def _parts(self) -> AsyncIterator[bytes]:
        yield f"Sentence number {self._sent} is nobody else's.".encode()

    async def kept(self) -> int:
        """Return how many documents there are."""
        async with self.database.read() as connection:
            return int((await connection.execute(text("SELECT count(*) FROM documents"))).scalar_one())

    async def problems(self) -> list[str]:
        """Return the unowned files, and the documents whose file is missing."""
        async with self.database.read() as connection:
            rows = await connection.execute(text("SELECT blob_key, searched_key FROM documents"))
            named = {key for row in rows for key in row if key}
            doomed = {key for (key,) in await connection.execute(text("SELECT key FROM doomed_blobs"))}
        there = {one.relative_to(self.blobs).as_posix() for one in self.blobs.rglob("*") if one.is_file()}
        found = [f"ghost {one}" for one in there - named if one.partition("#")[0] not in doomed]
        return found + [f"lost {one}" for one in named - there] + [f"both {one}" for one in named & doomed]


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """Ingestion's database, SQLite then PostgreSQL, and its folder."""
    url = ""
    if request.param == "postgres":
        url = await postgres.migrated_database(request.getfixturevalue("postgres_url"), "ingestion")
    database = await Database.open(url, tmp_path)
    yield Place(database, tmp_path)
    await database.close()


async def given_up(what: Callable[[], Awaitable[Any]], seconds: float, times: int) -> None:
    """Begin something and cancel it so often after so many seconds; then let what it left behind come to rest."""
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(what())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end and not task.done():  # noqa: ASYNC110 - moments, not events
        await asyncio.sleep(0)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.gather(*(asyncio.all_tasks() - before), return_exceptions=True)


async def duration(what: Callable[[], Awaitable[Any]]) -> float:
    """Return the most that something takes of three times, in seconds."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        await what()
        took.append(time.perf_counter() - began)
    return max(took)


async def test_who_gives_up_when_all_is_committed_loses_no_file(place: Place) -> None:
    document_id = await place.upload()
    place.documents.cancelling = True
    for what in (place.upload, lambda: place.replace(document_id)):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(what())
        assert not await place.problems()
    assert await place.kept() == 2


@pytest.mark.parametrize(("place", "times"), [("sqlite", 1), ("sqlite", 3), ("postgres", 3)], indirect=["place"])
@pytest.mark.parametrize("kind", ["upload", "replace", "delete", "replace searched", "index", "delete both"])
async def test_no_moment_of_giving_up_leaves_or_loses_a_file(place: Place, kind: str, times: int) -> None:
    document_id = await place.upload()

    async def once() -> None:
        if kind == "upload":
            await place.upload()
        elif kind.startswith("replace"):
            await place.replace(document_id)
        elif kind == "index":
            await place.index(ids.pop())
        else:
            await place.catalog.delete(SCOPE, ids.pop())

    if kind == "replace searched":
        await place.index(document_id)
    ids = [await place.upload() for _ in range(MOMENTS + 3)] if kind[:6] in ("delete", "index") else []
    if kind in ("delete both", "index"):
        for one in ids:
            await place.index(one)
            await place.replace(one)
    whole = await duration(once)
    for moment in range(MOMENTS):
        await given_up(once, whole * moment / MOMENTS, times)
        # The store's own threads may bring a file late.
        if found := await place.problems():
            await asyncio.sleep(0.2)
            assert not (found := await place.problems()), f"{found} after giving up at moment {moment}"
    await asyncio.sleep(0.2)
    assert not await place.problems()


@pytest.mark.parametrize("kind", ["upload", "replace"])
async def test_a_file_that_the_sweeper_has_taken_is_given_to_no_document(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is put on by an hour while a file is stored, and the sweeper comes before its document does."""
    document_id = await place.upload()
    files, put = place.files, place.files.put_all
    sweeper = Sweeper(place.documents, NoChangeCache(), files)  # type: ignore[arg-type]

    async def stored(given: Mapping[str, Path]) -> None:
        await put(given)
        an_hour_on = now_micros() + 2 * GRACE_MICROS
        with monkeypatch.context() as later:
            later.setattr("footnote_ingestion.adapters.documents.deletion_micros", lambda: an_hour_on)
            taken = await place.documents.doomed()
        assert set(given) <= set(taken)

    monkeypatch.setattr(files, "put_all", stored)
    with pytest.raises(Unavailable, match="send it again"):
        await (place.upload() if kind == "upload" else place.replace(document_id))
    monkeypatch.undo()
    assert not await place.problems()
    await sweeper.sweep()
    assert not await place.problems()
    assert await place.kept() == 1
