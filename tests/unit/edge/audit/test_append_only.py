"""Nothing but the sweeper takes an event out of the log, and nothing changes one: in the code, and in the database."""

import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import footnote_edge
import pytest
from footnote.types.v1.role_pb2 import ROLE_READER
from footnote_edge.adapters.audit import BATCH, AuditTable
from footnote_edge.adapters.audit_table import AuditEventRow
from footnote_edge.adapters.database import Database
from footnote_edge.audit.events import ALL_TENANTS, CallOrigin, Event, Filters, Principal
from footnote_edge.offline import keys as offline_keys
from footnote_edge.offline import limits as offline_limits
from footnote_kit.paging import Page
from sqlalchemy import delete, text, update
from sqlalchemy.exc import DBAPIError
from support import postgres

SOURCES = Path(str(footnote_edge.__file__)).parent
DAY_MS = 86_400_000
BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.skipif(
    postgres.why_not() is not None, reason=str(postgres.why_not())))]  # fmt: skip


@pytest.fixture(params=BACKENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of edge on each backend."""
    if request.param == "postgresql":
        url = await postgres.new_database(request.getfixturevalue("postgres_url"))
    else:
        url = f"sqlite+aiosqlite:///{tmp_path / 'edge.db'}"
    found = Database(url)
    await found.migrate()
    yield found
    await found.close()


def event(age_days: float = 0.0, **more: object) -> Event:
    made = int(time.time() * 1000 - age_days * DAY_MS)
    return Event(Principal("acme", "ann"), CallOrigin(), "DeleteDocument", "documents/1", time_ms=made, **more)  # type: ignore[arg-type]


async def left(book: AuditTable) -> list[Event]:
    return (await book.page(Filters(ALL_TENANTS), Page.first(1000)))[0]


def test_no_code_but_the_sweeper_deletes_and_none_changes() -> None:
    users: dict[str, list[str]] = {}
    for file in SOURCES.rglob("*.py"):
        source = file.read_text()
        if re.search(r"AuditEventRow|\baudit_events\b", source):
            name = file.relative_to(SOURCES).as_posix()
            if not name.startswith("adapters/migrations/"):
                users[name] = re.findall(r"\b(?:delete|update|on_conflict_do_\w+|merge)\(", source)
    assert users == {
        "adapters/audit_table.py": [],
        "app.py": [],
        "adapters/database.py": [],
        "adapters/audit.py": ["on_conflict_do_nothing(", "delete("],
    }


async def test_the_database_itself_refuses_to_change_or_to_delete(database: Database) -> None:
    book = AuditTable(database)
    await book.append([event(), event(0.9)])
    changes = (
        update(AuditEventRow).values(user_id="bob"),
        update(AuditEventRow).where(AuditEventRow.time_ms > 0).values(outcome=1),
        delete(AuditEventRow),
        text("DELETE FROM audit_events"),
        text("UPDATE audit_events SET time_ms = 0"),
    )
    for change in changes:
        with pytest.raises(DBAPIError):
            async with database.sessions.begin() as session:
                await session.execute(change)
    assert len(await left(book)) == 2


async def test_the_sweeper_deletes_what_is_older_and_no_more(database: Database) -> None:
    book = AuditTable(database)
    await book.append([event(30.1) for _ in range(BATCH + 5)])
    young = [event(29.9), event()]
    await book.append(young)
    assert await AuditTable(database).sweep(days=30) == BATCH + 5
    assert {one.id for one in await left(book)} == {one.id for one in young}
    assert await AuditTable(database).sweep(days=30) == 0


async def test_an_event_that_is_written_twice_is_there_once(database: Database) -> None:
    book, one = AuditTable(database), event()
    await book.append([one])
    await book.append([one, event()])
    assert len(await left(book)) == 2


async def test_an_event_comes_back_as_it_was_written(database: Database) -> None:
    one = event(changed_fields=("grants",), providers=("a=b",), status="NOT_FOUND", reason="R", trace_id="t",
                request_id="r", count=7, last_ms=9, mixed=True)  # fmt: skip
    await AuditTable(database).append([one])
    assert await left(AuditTable(database)) == [one]


async def test_filters_mean_the_same_everywhere(database: Database) -> None:
    book = AuditTable(database)
    who = Principal("acme", "ann", key_id="k1")
    mine = Event(who, CallOrigin(), "DeleteDocument", "documents/a_b", time_ms=1000)
    other = Event(who, CallOrigin(), "RevokeKey", "keys/axb", time_ms=2000, status="PERMISSION_DENIED")
    foreign = Event(Principal("beta", "bob"), CallOrigin(), "DeleteDocument", "documents/a_b", time_ms=3000)
    await book.append([mine, other, foreign])

    async def found(tenant: str = "acme", **more: Any) -> list[Event]:
        return (await book.page(Filters(tenant, **more), Page.first(10)))[0]

    assert await found() == [other, mine]
    assert await found(ALL_TENANTS) == [foreign, other, mine]
    assert await found("none") == []
    for wanted in (
        {"action": "DeleteDocument"}, {"resource": "documents/"}, {"resource": "documents/a_b"}, {"end_ms": 2000},
        {"outcome": mine.outcome}, {"start_ms": 1000, "end_ms": 1001},
    ):  # fmt: skip
        assert await found(**wanted) == [mine], wanted
    assert await found(start_ms=2000) == [other]
    assert await found(user_id="bob") == await found(key_id="k2") == await found(resource="a_b") == []
    assert await found(resource="documents/a%/") == await found(resource="_eys/") == []


async def test_what_the_operator_does_without_a_server_is_in_the_log(tmp_path: Path) -> None:
    database, keys = await offline_keys(tmp_path)
    key, _ = await keys.create("ci", "acme", "ann", ROLE_READER)
    await keys.revoke(key.id)
    await keys.revoke(key.id)
    await database.close()
    database, allowances = await offline_limits(tmp_path)
    await allowances.set("acme", {"documents": 5})
    await allowances.clear("acme")
    found = await left(AuditTable(database))
    await database.close()
    assert [(one.action, one.resource, one.principal.tenant_id) for one in reversed(found)] == [
        ("CreateKey", f"keys/{key.id}", "acme"),
        ("RevokeKey", f"keys/{key.id}", "acme"),
        ("UpdateTenantLimits", "limits/acme", "acme"),
        ("UpdateTenantLimits", "limits/acme", "acme"),
    ]
    assert found[1].changed_fields == ("documents",)
