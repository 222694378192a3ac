"""The doctor finds what is wrong with broken installations, says what to do, and repairs without losing anything."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from footnote.stages.v1.passage_pb2 import Chunk
from footnote_cli.admin import machine
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.doctor import examine, repair
from footnote_cli.admin.findings import Finding
from footnote_database.parts import Parts
from footnote_database.transactions import Database
from footnote_edge.adapters import database as edge
from footnote_edge.adapters.earlier_payloads import VERSION
from footnote_indexing.adapters import database as indexing
from footnote_ingestion.adapters import database as ingestion
from footnote_kit.settings import KitSettings
from footnote_store.rows import Row
from footnote_store.store import VectorStore
from support.engine import running_engine

pytestmark = pytest.mark.slow


async def install(folder: Path) -> Path:
    """Make the data folder of a deployment that was started once."""
    os.mkdir(folder, 0o700)  # noqa: PTH102
    made: list[Database] = [
        edge.Database(f"sqlite+aiosqlite:///{folder / 'edge' / 'edge.db'}"),
        indexing.Database("", folder / "indexing"),
        await ingestion.Database.open("", folder / "ingestion", parts=Parts(folder)),
    ]
    for one in made:
        await one.migrate(parts=Parts(folder))
        await one.close()
    (folder / "ingestion" / "blobs" / "uploads").mkdir(parents=True, mode=0o700)
    (folder / "ingestion" / "blobs" / "uploads" / "d1").write_bytes(b"The heron eats frogs.")
    with closing(sqlite3.connect(folder / "edge" / "jobs.db")) as jobs:
        jobs.execute("CREATE TABLE jobs (id TEXT)")
    return folder


def put_document(folder: Path, name: str, file: str, deleted: bool = False) -> None:
    """Write a document into the catalogue of a folder, uploaded as a file below that of files."""
    with closing(sqlite3.connect(folder / "ingestion" / "documents.db")) as connection, connection:
        columns = connection.execute("PRAGMA table_info(documents)").fetchall()
        row = {
            column: "" if "CHAR" in kind or kind in ("TEXT", "JSON") else 0
            for _, column, kind, needed, default, _ in columns
            if needed and default is None
        }
        row |= {"id": name, "blob_key": file} | ({"delete_time": 1} if deleted else {})
        places = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO documents ({', '.join(row)}) VALUES ({places})", list(row.values()))


async def put_row(folder: Path, collection: str) -> None:
    """Write a row of a collection into the store of a folder."""
    (folder / "store").mkdir(exist_ok=True, mode=0o700)
    with running_engine(folder / "store") as uri:
        store = VectorStore(uri)
        space = await store.ensure_space(4)
        chunk = Chunk(id="d1:000001:0000000", document_id="d1", revision=1, text="The heron eats frogs.", tenant_id="t")
        await store.upsert(space, [Row(chunk, f"{collection}:1", [1.0, 0.0, 0.0, 0.0], "heron frogs")])
        await store.close()


def schema_of_later(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "edge" / "edge.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


def cut(folder: Path) -> None:
    path = folder / "indexing" / "indexing.db"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * 8192 + data[12288:])


def vectors_cut(folder: Path) -> None:
    (folder / "store").mkdir(mode=0o700)
    (folder / "store" / "vectors.db").write_bytes(b"no database at all" * 500)


def in_future(folder: Path) -> None:
    later = datetime.now(UTC).timestamp() + 90_000
    os.utime(folder / "edge" / "edge.db", (later, later))


BROKEN: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "a folder that is not there": (shutil.rmtree, "data folder", "is not there", "--data-dir"),
    "a damaged ledger": (cut, "indexing database", "is damaged", "put back a copy"),
    "documents without their database": (
        lambda folder: (folder / "ingestion" / "documents.db").unlink(),
        "documents database",
        "is missing",
        "put back a copy",
    ),
    "a database of a later release": (schema_of_later, "edge database", "later release", "start that one"),
    "a damaged vector file": (vectors_cut, "vector store", "is damaged", "--repair"),
    "a document without its file": (
        lambda folder: put_document(folder, "d2", "uploads/d2"),
        "files of ingestion",
        "1 of 1 documents lack their file",
        "put back a copy",
    ),
    "a clock that went back": (in_future, "clock", "later than that", "ntp"),
}


def finding(found: list[Finding], check: str) -> Finding:
    return next(one for one in found if one.check == check)


@pytest.mark.parametrize("what", BROKEN)
async def test_what_is_broken_is_told_with_what_to_do(tmp_path: Path, what: str) -> None:
    folder = await install(tmp_path / "data")
    assert [one for one in await examine(folder) if one.state == "broken"] == []
    damage, check, said, advice = BROKEN[what]
    damage(folder)
    [one] = [one for one in await examine(folder) if one.state == "broken"]
    assert one.check == check
    assert said in one.found
    assert advice in one.advice.lower()


async def test_files_that_are_there_and_those_of_deleted_documents_are_no_damage(tmp_path: Path) -> None:
    folder = await install(tmp_path / "data")
    put_document(folder, "d1", "uploads/d1")
    put_document(folder, "d2", "uploads/d2", deleted=True)
    found = finding(await examine(folder), "files of ingestion")
    assert (found.state, found.found) == ("ok", "1 documents have theirs")
    shutil.rmtree(folder / "ingestion" / "blobs")
    (folder / "ingestion" / "blobs").touch()
    assert finding(await examine(folder), "files of ingestion").state == "broken"


async def test_messages_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = await install(tmp_path / "data")
    rows = [(VERSION, b"\x0a\x01a"), (VERSION, b"\xff\xff"), (0, b"\x0a\x01a")]
    with closing(sqlite3.connect(folder / "edge" / "edge.db")) as connection, connection:
        connection.executemany(
            "INSERT INTO messages (id, tenant_id, user_id, role, text, payload_version, payload, create_time) "
            "VALUES (hex(randomblob(8)), 't', 'u', 3, '', ?, ?, '2026-11-27')",
            rows,
        )
    found = finding(await examine(folder), "messages of edge")
    assert (found.state, found.found.partition(" cannot")[0]) == ("warning", "2 of the 3 newest")
    assert "their text alone" in found.advice


async def test_a_wrong_setting_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = await install(tmp_path / "data")
    monkeypatch.setenv("FOOTNOTE_EDGE_OPERATION_HOURS", "never")
    [one] = [one for one in await examine(folder) if one.state == "broken"]
    assert "operation_hours" in one.found


async def test_a_server_that_is_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = await install(tmp_path / "data")
    monkeypatch.setenv("FOOTNOTE_INDEXING_CACHE_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("FOOTNOTE_INDEXING_DATABASE_URL", "postgresql://someone:secret@127.0.0.1:1/none")
    found = [one for one in await examine(folder) if one.state == "broken"]
    assert [one.check for one in found] == ["the cache of embeddings", "indexing database"]
    assert all("secret" not in one.found for one in found)


async def test_the_store_of_another_installation_is_told_and_put_aside(tmp_path: Path) -> None:
    folder = await install(tmp_path / "data")
    await put_row(folder, "somebody-elses")
    found = await examine(folder)
    one = finding(found, "vector store")
    assert one.state == "broken"
    assert "another installation" in one.found
    [done] = repair(folder, found)
    assert "put the store aside" in done
    [aside] = folder.glob("store.aside-*")
    assert (aside / "vectors.db").is_file()
    assert finding(await examine(folder), "vector store").state == "warning"


async def test_nothing_is_rebuilt_from_a_database_that_is_damaged(tmp_path: Path) -> None:
    folder = await install(tmp_path / "data")
    vectors_cut(folder)
    cut(folder)
    assert repair(folder, await examine(folder)) == []
    assert (folder / "store" / "vectors.db").is_file()


async def test_an_open_folder_and_what_ended_services_left_are_repaired(tmp_path: Path) -> None:
    folder = await install(tmp_path / "data")
    folder.chmod(0o755)
    (folder / "addresses.json").write_text('{"edge": "127.0.0.1:1"}')
    found = await examine(folder)
    for check in ("data folder", "services"):
        one = finding(found, check)
        assert one.state == "warning"
    assert len(repair(folder, found)) == 2
    after = await examine(folder)
    assert {finding(after, check).state for check in ("data folder", "services")} == {"ok"}


@pytest.mark.parametrize(("free", "state"), [(10**6, "broken"), (10**9, "warning"), (10**12, "ok")])
def test_the_room_on_the_disk(tmp_path: Path, free: int, state: str) -> None:
    [one] = machine.space(tmp_path, free)
    assert one.state == state


def test_a_certificate_that_cannot_be_read(tmp_path: Path) -> None:
    settings = KitSettings(tls_ca_file=tmp_path / "none.pem")
    [one] = machine.certificates(settings)
    assert one.state == "broken"
    assert "FOOTNOTE_TLS_CA_FILE" in one.advice


def test_every_service_says_what_it_keeps(tmp_path: Path) -> None:
    where = deployment_of(tmp_path)
    assert {one.name for one in where.databases} == {"edge", "jobs", "indexing", "documents"}
