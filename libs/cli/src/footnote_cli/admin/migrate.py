"""Migrates the databases of a deployment to this release's schema, before services run."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from footnote_database import integrity
from footnote_database.migrations import Migrations, Newer
from footnote_database.storage import StoredDatabase
from footnote_database.transactions import Database
from footnote_kit import private

from footnote_cli.admin.deployment import Deployment, deployment_of
from footnote_cli.errors import CommandError
from footnote_cli.folder import FolderInUse, locked
from footnote_cli.targets import STATEFUL


@dataclass(frozen=True, slots=True)
class Step:
    """The migration of a database: its schema before ("" for none yet) and after."""

    name: str
    where: str
    before: str
    after: str

    def as_dict(self) -> dict[str, str]:
        """Return it as JSON-ready values."""
        return {"name": self.name, "where": self.where, "before": self.before, "after": self.after}


async def migrate(folder: Path, *, look_only: bool = False) -> list[Step]:
    """Migrate every database that has migrations, and return the steps; `look_only` changes nothing.

    All databases are checked before the first is changed. Raises CommandError while services serve from the folder.
    Raises FailedPrecondition for a damaged database or one of a later release, Unavailable for one that does not
    answer.
    """
    private.keep()
    deployment = deployment_of(folder)
    # The server's start and the doctor explain what to do about a lost one; an empty one in its place would hide that.
    there = [one for one in deployment.databases if not await asyncio.to_thread(_is_lost, deployment, one)]
    steps = [await _step(one, one.migrations) for one in there if one.migrations is not None]
    if look_only:
        return steps
    try:
        await asyncio.to_thread(deployment.folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        with locked(deployment.folder, STATEFUL):
            await _upgrade(deployment, [step.name for step in steps if step.before != step.after])
    except FolderInUse as error:
        raise CommandError(str(error), "Migrating needs the services to be stopped.") from error
    return steps


def _is_lost(deployment: Deployment, one: StoredDatabase) -> bool:
    return one.file is not None and not one.file.exists() and deployment.parts.was_begun(one.part)


async def _upgrade(deployment: Deployment, names: list[str]) -> None:
    for name in names:
        one = deployment.database(name)
        assert one.traits is not None
        database = Database(one.url, one.traits)
        try:
            await database.migrate(parts=deployment.parts)
        finally:
            await database.close()


async def _step(one: StoredDatabase, migrations: Migrations) -> Step:
    assert one.traits is not None
    shown, newest = one.url.render_as_string(hide_password=True), migrations.known()[-1]
    if one.file is not None:
        if not await asyncio.to_thread(one.file.exists):
            return Step(one.name, shown, "", newest)
        await asyncio.to_thread(integrity.check_file, one.file, one.name)
    database = Database(one.url, one.traits)
    try:
        async with database.read() as connection:
            before = await connection.run_sync(migrations.current)
    except Newer as error:
        raise integrity.newer(shown, one.name, str(error)) from error
    finally:
        await database.close()
    return Step(one.name, shown, before, newest)
