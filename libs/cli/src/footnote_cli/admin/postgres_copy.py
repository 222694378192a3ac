"""Copies the databases of a deployment from SQLite to PostgreSQL: all services' rows, in one transaction."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from footnote_database import postgres_copy
from footnote_database.engine import server
from footnote_database.postgres_copy import Copied, SourceDatabase
from footnote_database.storage import StoredDatabase
from footnote_database.transactions import Database
from footnote_kit import private
from footnote_kit.errors import FailedPrecondition
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from footnote_cli.admin.deployment import Deployment, deployment_of
from footnote_cli.admin.migrate import migrate
from footnote_cli.admin.servers import examine
from footnote_cli.errors import CommandError, usage_error
from footnote_cli.folder import FolderInUse, locked
from footnote_cli.targets import STATEFUL

_CONNECT_SECONDS = 10.0
_STATEMENT_SECONDS = 6 * 3600.0
"""A large table, or waiting for the lock of another copy, may take long."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What was copied, and the settings for the services to use it."""

    tables: list[Copied]
    variables: list[str]

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON-ready values."""
        return {"tables": [asdict(one) for one in self.tables], "set": self.variables, "done": True}


async def copy_to_postgres(folder: Path, to: str, progress: Callable[[Copied], None]) -> CopyResult:
    """Update the files' schema, then copy every database of a folder to an empty PostgreSQL database.

    The files are not deleted. Raises CommandError while services serve from the folder or when there is nothing to
    copy. Raises FailedPrecondition for a target that holds rows or cannot take them, Unavailable for one that does not
    answer.
    """
    target = _target(to)
    private.keep()
    deployment = deployment_of(folder)
    ours = [one for one in deployment.databases if one.file is not None]
    if not any(one.file is not None and one.file.exists() for one in ours):
        raise CommandError(
            f"{deployment.folder} has no SQLite database.", "Name the folder of the deployment with --data-dir."
        )
    # Checked before any change: most refusals are about the target.
    await _check(ours, target)
    await migrate(folder)
    try:
        with locked(deployment.folder, STATEFUL):
            await _prepare(ours, target)
            tables = await _copy([_source(one) for one in ours], target, progress)
    except FolderInUse as error:
        raise CommandError(str(error), "Copying needs the services to be stopped.") from error
    return CopyResult(tables, _variables(deployment, ours))


def _target(to: str) -> URL:
    try:
        url = make_url(to)
    except ArgumentError:
        url = URL.create("none")
    if url.get_backend_name() not in ("postgresql", "postgres") or not url.database:
        raise usage_error("The target is no PostgreSQL database.", "Name it as postgresql://user@host:5432/database.")
    return url.set(drivername="postgresql")


async def _check(ours: list[StoredDatabase], target: URL) -> None:
    for one in ours:
        found = await examine(replace(one, url=target, variable="--to"))
        if found.state == "broken":
            raise CommandError(f"{found.check}: {found.found}.", found.advice)


async def _prepare(ours: list[StoredDatabase], target: URL) -> None:
    """Create the tables in PostgreSQL, and update those of libraries in their files."""
    for one in ours:
        assert one.file is not None
        if one.traits is not None:
            database = Database(target, one.traits)
            try:
                await database.migrate()
            finally:
                await database.close()
        elif one.library is not None:
            if one.file.exists():
                await asyncio.to_thread(one.library.migrate, f"sqlite:///{one.file}")
            await asyncio.to_thread(one.library.migrate, target.render_as_string(hide_password=False))


def _source(one: StoredDatabase) -> SourceDatabase:
    assert one.file is not None
    if one.traits is not None:
        tables, migrations = frozenset(one.traits.migrations.metadata.tables), one.traits.migrations
        schema, version = one.traits.schema, migrations.version_table
        return SourceDatabase(name=one.name, file=one.file, schema=schema, tables=tables, version_table=version)
    if one.library is None:
        raise FailedPrecondition(
            f"The {one.name} database cannot be copied: it has neither migrations nor a library that migrates it."
        )
    library = one.library
    return SourceDatabase(
        name=one.name, file=one.file, schema=library.schema, tables=None, version_table=library.version_table
    )


async def _copy(databases: list[SourceDatabase], target: URL, progress: Callable[[Copied], None]) -> list[Copied]:
    engine = server(target, {"timeout": _CONNECT_SECONDS, "command_timeout": _STATEMENT_SECONDS})
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(lambda sync: postgres_copy.copy(databases, sync, progress))
    finally:
        await engine.dispose()


def _variables(deployment: Deployment, ours: list[StoredDatabase]) -> list[str]:
    return [one.variable for one in deployment.databases if one in ours and one.variable]
