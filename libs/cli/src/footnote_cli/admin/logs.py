"""Examines the logs of services: whether they are still append-only, and whether old rows are removed."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from footnote_database import integrity
from footnote_database.engine import server
from footnote_database.storage import AppendOnly, StoredDatabase
from sqlalchemy import text

from footnote_cli.admin.deployment import Deployment
from footnote_cli.admin.findings import Finding, broken, ok, warning

_SECONDS = 5.0
_DAY_MS = 86_400_000
_LATE_DAYS = 1.0
"""How long after its expiry a row may remain: the sweeper runs every hour."""
_TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table",
    "postgresql": "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = :schema AND c.relname = :table AND NOT t.tgisinternal AND t.tgenabled <> 'D'",
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """The contents of a database: its triggers, its number of rows, and the oldest row's time."""

    triggers: frozenset[str]
    rows: int
    oldest_ms: int | None


async def examine(deployment: Deployment) -> AsyncIterator[Finding]:
    """Examine the log of each service that keeps one, if its readable database already has one."""
    for stored in deployment.services.values():
        if stored.log is None:
            continue
        one = next(database for database in stored.databases if database.name == stored.log.database)
        with contextlib.suppress(Exception):  # an unreadable or older database has a finding of its own
            if one.file is None:
                yield _judged(stored.log, "postgresql", await _on_server(one, stored.log))
            elif one.file.exists():
                yield _judged(stored.log, "sqlite", await asyncio.to_thread(_in_file, one.file, stored.log))


def _judged(log: AppendOnly, dialect: str, seen: _Seen) -> Finding:
    check = f"{log.table.replace('_', ' ')}"
    if missing := sorted(log.guards[dialect] - seen.triggers):
        return broken(
            check,
            f"the table {log.table} has lost its triggers {', '.join(missing)}: its rows can be changed",
            "Find out who removed them, export the log (footnote audit export), and restore a copy of the database.",
        )
    late = 0.0 if seen.oldest_ms is None else (time.time() * 1000 - seen.oldest_ms) / _DAY_MS - log.days
    if late > _LATE_DAYS:
        return warning(
            check,
            f"the oldest of {seen.rows} rows is {late:.0f} days older than the {log.days:g} days that they are kept",
            "The service deletes them within an hour of its next start; if it runs, see its log.",
        )
    return ok(check, f"{seen.rows} rows, append-only, kept {log.days:g} days")


def _in_file(file: Path, log: AppendOnly) -> _Seen:
    with integrity.read_only(file) as connection:
        found = connection.execute(_TRIGGERS["sqlite"], {"table": log.table})
        triggers = frozenset(str(name) for (name,) in found)
        rows, oldest = connection.execute(_counts(log)).fetchone()
    return _Seen(triggers, rows, oldest)


async def _on_server(one: StoredDatabase, log: AppendOnly) -> _Seen:
    schema = (one.traits.schema if one.traits is not None else None) or "public"
    engine = server(one.url, {"timeout": _SECONDS, "server_settings": {"search_path": schema}})
    try:
        async with asyncio.timeout(2 * _SECONDS), engine.connect() as connection:
            named = {"table": log.table, "schema": schema}
            triggers = frozenset((await connection.execute(text(_TRIGGERS["postgresql"]), named)).scalars())
            rows, oldest = (await connection.execute(text(_counts(log)))).one()
    finally:
        await engine.dispose()
    return _Seen(triggers, rows, oldest)


def _counts(log: AppendOnly) -> str:
    # Names from a service's own contract, not from a caller.
    return f"SELECT count(*), min({log.time_column}) FROM {log.table}"
