"""Examines a database on a PostgreSQL server: reachable, accessible, permitted, of this release, clocks in step."""

import asyncio
import time
from collections.abc import Iterator

from footnote_database import integrity
from footnote_database.engine import server
from footnote_database.failures import NotReached
from footnote_database.migrations import Newer
from footnote_database.storage import StoredDatabase
from footnote_database.transactions import NO_WRITES, READ_ONLY
from footnote_kit.errors import FootnoteError
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_cli.admin.findings import Finding, broken, ok, older, refused, warning

_SECONDS = 5.0
_APART_SECONDS = 30.0
_PASSWORD = ("28P01", "28000")
_NO_DATABASE = "3D000"
_NO_RIGHT = "42501"
_RIGHTS = "SELECT, INSERT, UPDATE, DELETE"
# Tables of a schema on which this user lacks a right that a service needs; a list of rights would ask for any one.
_FORBIDDEN = text(
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = :schema AND c.relkind = 'r' AND NOT (has_table_privilege(c.oid, 'SELECT') "
    "AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') "
    "AND has_table_privilege(c.oid, 'DELETE')) ORDER BY 1"
)


async def examine(one: StoredDatabase) -> Finding:
    """Return the findings for a database on a server."""
    check = f"{one.name} database"
    schema = one.traits.schema if one.traits is not None else None
    settings = {"search_path": schema} if schema is not None else {}
    try:
        engine = server(one.url, {"timeout": _SECONDS, "server_settings": settings})
    except FootnoteError as error:
        return broken(check, error.message, f"Set {one.variable or 'its URL'} right.")
    try:
        async with asyncio.timeout(2 * _SECONDS), engine.connect() as connection:
            return await _connected(check, one, schema or "public", connection)
    except Exception as error:  # the errors of driver and network have no common base
        return _unreached(check, one, error)
    finally:
        await engine.dispose()


def _unreached(check: str, one: StoredDatabase, error: BaseException) -> Finding:
    """Return why the database could not be asked; the driver's own words are left out, since they may quote."""
    where = f"{one.url.host}:{one.url.port or 5432}"
    variable = one.variable or "its URL"
    if isinstance(error, FootnoteError) and not isinstance(error, NotReached):
        return broken(check, error.message, f"Put a good certificate in its place, or set {variable} right.")
    state = next((found for found in map(_sqlstate, _chain(error)) if found), "")
    if state in _PASSWORD:
        return broken(
            check, f"{where} refuses the user {one.url.username} or the password", f"Set both right in {variable}."
        )
    if state == _NO_DATABASE:
        name = one.url.database
        return broken(
            check, f"{where} has no database {name}", f"Make it: CREATE DATABASE {name}; or name another one."
        )
    if state == _NO_RIGHT:
        advice = f"GRANT CONNECT ON DATABASE {one.url.database} TO {one.url.username}, and USAGE on its schema."
        return broken(check, f"{one.url.username} may not look into {_shown(one)}", advice)
    kind = type(list(_chain(error))[-1]).__name__
    return broken(check, f"no server answers at {where} ({kind})", f"Start it, or set its address right ({variable}).")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, the first cause last."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def _shown(one: StoredDatabase) -> str:
    return one.url.render_as_string(hide_password=True)


async def _connected(check: str, one: StoredDatabase, schema: str, connection: AsyncConnection) -> Finding:
    shown = _shown(one)
    theirs = (await connection.execute(text("SELECT extract(epoch FROM clock_timestamp())"))).scalar_one()
    apart = abs(float(theirs) - time.time())
    if apart > _APART_SECONDS:
        return broken(check, f"the clock of {shown} is {round(apart)} s off this one", "Set both clocks with NTP.")
    if await connection.scalar(READ_ONLY) == "on":
        return broken(check, f"{shown}: {NO_WRITES}", "Name the primary; at one, see whether its disk is full.")
    if one.migrations is None:
        return ok(check, f"{shown} answers")
    if (lacking := await _lacking(check, one, schema, connection)) is not None:
        return lacking
    try:
        version = await connection.run_sync(one.migrations.current)
    except Newer as error:
        return refused(check, integrity.newer(shown.replace(": ", ":"), one.name, str(error)))
    if not version:
        return warning(check, f"{shown} has no tables yet", "The first start creates them.")
    if version != (newest := one.migrations.known()[-1]):
        return older(check, shown, version, newest)
    return ok(check, f"{shown} answers, schema {version}")


async def _lacking(check: str, one: StoredDatabase, schema: str, connection: AsyncConnection) -> Finding | None:
    """Return the right that a service needs and the user lacks."""
    named = {"schema": schema}
    user = (await connection.execute(text("SELECT current_user"))).scalar_one()
    there = text("SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE') FROM pg_namespace "
                 "WHERE nspname = :schema")  # fmt: skip
    may_use = (await connection.execute(there, named)).scalar_one_or_none()
    if may_use is None:
        make = text("SELECT has_database_privilege(current_database(), 'CREATE')")
        if not (await connection.execute(make)).scalar_one():
            advice = f"GRANT CREATE ON DATABASE {one.url.database} TO {user}; or make the schema for it."
            return broken(check, f"{user} may not make the schema {schema} in {_shown(one)}", advice)
        return None
    if not may_use:
        advice = f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}."
        return broken(check, f"{user} may not make tables in the schema {schema} of {_shown(one)}", advice)
    if forbidden := list((await connection.execute(_FORBIDDEN, named)).scalars()):
        advice = f"GRANT {_RIGHTS} ON ALL TABLES IN SCHEMA {schema} TO {user}; or let it own them."
        return broken(
            check, f"{user} may not change {len(forbidden)} tables of {_shown(one)}, as {forbidden[0]}", advice
        )
    return None
