"""What the doctor says of the audit log: append-only still, and swept."""

import os
import sqlite3
import time
from pathlib import Path

import asyncpg
import pytest
from footnote_cli.admin import logs
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.findings import Finding
from footnote_edge.adapters.audit import AuditTable
from footnote_edge.adapters.database import Database
from footnote_edge.audit.events import CallOrigin, Event, Principal
from support import postgres

VARIABLE = "FOOTNOTE_EDGE_DATABASE_URL"


async def said(folder: Path) -> list[Finding]:
    return [one async for one in logs.examine(deployment_of(folder))]


async def put(url: str, *ages_days: float) -> None:
    database = Database(url)
    await database.migrate()
    now = time.time() * 1000
    events = [
        Event(Principal("acme"), CallOrigin(), "DeleteDocument", time_ms=int(now - age * 86_400_000))
        for age in ages_days
    ]
    await AuditTable(database).append(events)
    await database.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with edge's own inside."""
    monkeypatch.delenv(VARIABLE, raising=False)
    os.makedirs(tmp_path / "data" / "edge", 0o700)  # noqa: PTH103
    return tmp_path / "data"


def file_url(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder / 'edge' / 'edge.db'}"


async def test_a_log_as_it_should_be(folder: Path) -> None:
    assert await said(folder) == [], "there is none before the first start"
    await put(file_url(folder), 0, 100)
    (found,) = await said(folder)
    assert (found.check, found.state) == ("audit events", "ok")
    assert found.found == "2 rows, append-only, kept 180 days"


async def test_events_that_should_be_gone(folder: Path) -> None:
    await put(file_url(folder), 0, 190)
    (found,) = await said(folder)
    assert found.state == "warning"
    assert "10 days older than the 180 days" in found.found


async def test_a_log_that_can_be_changed(folder: Path) -> None:
    await put(file_url(folder), 0)
    connection = sqlite3.connect(folder / "edge" / "edge.db")
    connection.execute("DROP TRIGGER audit_events_unchanged")
    connection.close()
    (found,) = await said(folder)
    assert found.state == "broken"
    assert "audit_events_unchanged" in found.found


@pytest.mark.full
async def test_the_same_on_postgresql(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await postgres.new_database(postgres_url)
    monkeypatch.setenv(VARIABLE, url)
    assert await said(folder) == []
    await put(url, 0)
    assert [one.state for one in await said(folder)] == ["ok"]
    connection = await asyncpg.connect(url)
    await connection.execute("ALTER TABLE edge.audit_events DISABLE TRIGGER audit_events_retained")
    await connection.close()
    assert [one.state for one in await said(folder)] == ["broken"]
