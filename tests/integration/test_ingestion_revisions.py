"""The file that searches see stays until another revision is searched: its bytes, its digest, its size, its name."""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from footnote.stages.v1.parsing_pb2 import ParsedMetadata
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import FAILURE_REASON_CANCELLED, FAILURE_REASON_CORRUPT, DocumentState, Failure
from footnote_ingestion.app import build
from footnote_kit.document_files import newest
from footnote_kit.errors import Aborted, InvalidArgument, NotFound, ResourceExhausted
from footnote_kit.testing import serve_app
from support.ingestion_client import Client

PROCESSING = DocumentState.DOCUMENT_STATE_PROCESSING
INDEXED = DocumentState.DOCUMENT_STATE_INDEXED
ERROR = DocumentState.DOCUMENT_STATE_ERROR
OLD, NEW, THIRD = b"The old words.", b"New words, and more of them.", b"<p>A third file</p>"
CANCELLED = Failure(reason=FAILURE_REASON_CANCELLED, message="cancelled")
CORRUPT = Failure(reason=FAILURE_REASON_CORRUPT, message="corrupt")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of ingestion."""
    async with serve_app(build, data_dir=tmp_path) as served:
        yield Client(served)


def files(client: Client) -> list[Path]:
    return [path for path in (client.data_dir / "ingestion" / "blobs").rglob("*") if path.is_file()]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def index(client: Client, document_id: str, **more: Any) -> Document:
    await client.move(document_id, PROCESSING)
    return await client.move(document_id, INDEXED, chunks_expected=1, chunks_stored=1, **more)


async def searched(client: Client) -> str:
    document_id: str = (await client.upload(OLD, "old.txt")).document.id
    await index(client, document_id, parsed=ParsedMetadata(title="Old", word_count=3))
    return document_id


async def shows(client: Client, document_id: str, data: bytes, filename: str) -> Document:
    """Compare all fields of the searched file."""
    document, file, got = await client.download_file(document_id)
    assert document == await client.get(document_id)
    assert got == data
    for one in (document, file):
        assert (one.sha256, one.size_bytes, one.filename) == (sha256(data), len(data), filename)
    return document


@pytest.mark.parametrize("end", ["processed", "cancelled", "failed", "failed without text"])
async def test_a_replacement_that_is_not_searched_takes_nothing_away(client: Client, end: str) -> None:
    document_id = await searched(client)
    await client.replace(document_id, NEW, "new.md")
    await shows(client, document_id, OLD, "old.txt")
    await client.move(document_id, PROCESSING)
    if end == "cancelled":
        await client.move(document_id, ERROR, failure=CANCELLED)
    elif end != "processed":
        parsed = ParsedMetadata(title="New", word_count=9) if end == "failed without text" else None
        await client.move(document_id, ERROR, failure=CORRUPT, parsed=parsed)
    document = await shows(client, document_id, OLD, "old.txt")
    assert (document.title, document.word_count, document.document_type) == ("Old", 3, "txt")
    assert (document.revision, document.indexed_revision) == (2, 1)
    waiting = document.replacement
    assert (waiting.first_revision, waiting.last_revision, waiting.filename) == (2, 2, "new.md")
    assert (waiting.sha256, waiting.size_bytes, waiting.document_type) == (sha256(NEW), len(NEW), "md")
    assert (await client.download(document_id, 1))[1] == OLD
    assert (await client.download(document_id, 2))[1] == NEW
    assert [block.text for block in (await client.parse(document_id))[0]] == [NEW.decode()]
    listed = await client.list(order_by="filename", filename_contains="old.txt", document_types=["txt"])
    assert list(listed.documents) == [document]


async def test_an_indexed_replacement_takes_the_old_file_away_and_says_so(client: Client) -> None:
    document_id = await searched(client)
    await client.replace(document_id, NEW, "new.md")
    await index(client, document_id)
    document = await shows(client, document_id, NEW, "new.md")
    assert not document.HasField("replacement")
    assert len(files(client)) == 1
    for revision in (1, 3):
        with pytest.raises(NotFound) as caught:
            await client.download(document_id, revision)
        assert caught.value.reason == "REVISION_NOT_FOUND"
        assert caught.value.metadata["indexed_revision"] == caught.value.metadata["newest_revision"] == "2"
        assert caught.value.metadata["revision"] == str(revision)
    for wrong in (0, -1):
        with pytest.raises(InvalidArgument):
            await client.download(document_id, wrong)


async def test_revisions_that_were_only_indexed_again_share_their_file(client: Client) -> None:
    document_id = await searched(client)
    await client.move(document_id, PROCESSING, new_revision=True)
    await client.move(document_id, INDEXED, chunks_expected=1, chunks_stored=1)
    await client.replace(document_id, NEW)  # 3
    await client.move(document_id, PROCESSING)
    await client.move(document_id, ERROR, failure=CANCELLED)
    await client.replace(document_id, THIRD)  # 4
    await client.move(document_id, PROCESSING)
    await client.move(document_id, ERROR, failure=CANCELLED)
    await client.move(document_id, PROCESSING, new_revision=True)  # 5
    assert [(await client.download(document_id, one))[1] for one in (1, 2, 4, 5)] == [OLD, OLD, THIRD, THIRD]
    with pytest.raises(NotFound, match="revision 3"):
        await client.download(document_id, 3)
    assert len(files(client)) == 2
    await client.move(document_id, INDEXED, chunks_expected=1, chunks_stored=1)
    _, file, data = await client.download_file(document_id)
    assert (file.first_revision, file.last_revision, data) == (4, 5, THIRD)
    assert len(files(client)) == 1


@pytest.mark.parametrize("end", ["cancelled", "indexed"])
async def test_a_revision_that_became_searchable_late_is_recorded(client: Client, end: str) -> None:
    """Indexing commits a revision; its end reaches ingestion when a replacement has begun already."""
    document_id = await searched(client)
    await client.move(document_id, PROCESSING, new_revision=True)  # 2
    await client.replace(document_id, NEW)  # 3
    late = {"revision": 2, "chunks_expected": 1, "chunks_stored": 1, "parsed": ParsedMetadata(title="Again")}
    if end == "cancelled":
        await client.move(document_id, PROCESSING)
        await client.move(document_id, ERROR, failure=CANCELLED)
    before = await client.get(document_id)
    document = await client.move(document_id, INDEXED, **late)
    assert (document.revision, document.indexed_revision, document.title) == (3, 2, "Again")
    assert (document.state, document.failure) == (before.state, before.failure)
    assert [(await client.download(document_id, one))[1] for one in (1, 2, 3)] == [OLD, OLD, NEW]
    await shows(client, document_id, OLD, "old.txt")
    with pytest.raises(Aborted):
        await client.move(document_id, INDEXED, **late)
    if end == "indexed":
        document = await index(client, document_id)
        assert (document.indexed_revision, len(files(client))) == (3, 1)


async def test_a_late_end_of_a_file_that_is_not_kept_is_refused(client: Client) -> None:
    document_id = await searched(client)
    await client.replace(document_id, NEW)  # 2
    await client.move(document_id, PROCESSING)
    await client.replace(document_id, THIRD)  # 3
    with pytest.raises(Aborted):
        await client.move(document_id, INDEXED, revision=2, chunks_expected=1, chunks_stored=1)
    assert (await client.get(document_id)).indexed_revision == 1


async def test_the_file_that_searches_see_can_be_put_back(client: Client) -> None:
    document_id = await searched(client)
    await client.replace(document_id, NEW)
    assert (await client.replace(document_id, NEW)).unchanged
    assert not (await client.replace(document_id, OLD)).unchanged
    await index(client, document_id)
    assert (await shows(client, document_id, OLD, "old.txt")).indexed_revision == 3
    assert len(files(client)) == 1


async def test_a_file_that_was_never_searched_is_not_kept(client: Client) -> None:
    document_id = (await client.upload(OLD, "old.txt")).document.id
    await client.replace(document_id, NEW, "new.md")
    await shows(client, document_id, NEW, "new.md")
    assert len(files(client)) == 1
    with pytest.raises(NotFound):
        await client.download(document_id, 1)


async def test_both_files_count_and_go_with_their_document(client: Client) -> None:
    document_id = await searched(client)
    await client.replace(document_id, NEW, max_tenant_bytes=len(NEW))
    with pytest.raises(ResourceExhausted):
        await client.upload(b"x", "x.txt", max_tenant_bytes=len(NEW) + len(OLD))
    await client.upload(b"x", "x.txt", max_tenant_bytes=len(NEW) + len(OLD) + 1)
    assert (await client.upload(NEW, "again.txt")).duplicate
    assert len(files(client)) == 3
    await client.delete(document_id)
    assert len(files(client)) == 1


async def test_rows_from_before_claim_nothing_of_earlier_revisions(tmp_path: Path) -> None:
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        document_id = await searched(client)
        await client.move(document_id, PROCESSING, new_revision=True)
        await client.move(document_id, INDEXED, chunks_expected=1, chunks_stored=1)
    (path,) = (tmp_path / "ingestion").glob("*.db")
    added = (
        "replacement",
        "replacement_sha256",
        "replacement_bytes",
        "searched_key",
        "first_revision",
        "last_revision",
        "settings_digest",  # these four are of later states of the schema
        "waiting_message",
        "waiting_attempts",
        "next_attempt_time",
    )
    with sqlite3.connect(path) as raw:
        for index in ("documents_by_replacement", "documents_counted", "documents_alive"):
            raw.execute(f"DROP INDEX {index}")
        for column in added:
            raw.execute(f"ALTER TABLE documents DROP COLUMN {column}")
        raw.execute("UPDATE alembic_version SET version_num = '0007'")
    raw.close()
    async with serve_app(build, data_dir=tmp_path) as served:
        client = Client(served)
        await shows(client, document_id, OLD, "old.txt")
        assert (await client.download(document_id, 2))[1] == OLD
        with pytest.raises(NotFound, match="revision 1"):
            await client.download(document_id, 1)
        await client.replace(document_id, NEW)
        await shows(client, document_id, OLD, "old.txt")


_STEPS = list(itertools.product(("replace", "index", "cancel", "reindex"), repeat=4))[::7]


async def test_whatever_happens_the_searched_bytes_are_there(client: Client) -> None:
    for steps in _STEPS:
        await _compared(client, steps)


async def _compared(client: Client, steps: tuple[str, ...]) -> None:
    """Compare with a model of three lines: which bytes each revision has, and which revision is searched."""
    document_id = await searched(client)
    bytes_of, at, state = {1: OLD}, 1, "ended"
    for number, step in enumerate(steps):
        revision = max(bytes_of)
        if step == "replace":
            data = b"file %d" % number
            await client.replace(document_id, data)
            bytes_of[revision + 1], state = data, "waits"
        elif step == "index" and state == "waits":
            await client.move(document_id, PROCESSING)
            await client.move(document_id, INDEXED, chunks_expected=1, chunks_stored=1)
            at, state = revision, "ended"
        elif step == "cancel" and state == "waits":
            await client.move(document_id, ERROR, failure=CANCELLED)
            state = "ended"
        elif step == "reindex" and state == "ended":
            await client.move(document_id, DocumentState.DOCUMENT_STATE_UPLOADED, new_revision=True)
            bytes_of[revision + 1], state = bytes_of[revision], "waits"
        document, data = await client.download(document_id)
        assert data == bytes_of[at], steps
        assert (document.sha256, newest(document).sha256) == (sha256(data), sha256(bytes_of[max(bytes_of)]))
        for one in {at, max(bytes_of)}:
            assert (await client.download(document_id, one))[1] == bytes_of[one]
        assert len(files(client)) == len({bytes_of[at], bytes_of[max(bytes_of)]})
    await client.delete(document_id)
    assert not files(client)
