"""Migrates database schemas: one alembic environment for all services, with each service's own versions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import ColumnClause, Connection, MetaData, column, select, table

if TYPE_CHECKING:  # imported only when there is something to migrate: 10 MB and a fifth of a second
    from alembic.config import Config

_FILE = re.compile(r"v?(\d{4})_\w+\.py")
_ENVIRONMENT = Path(__file__).parent / "environment"


class Newer(Exception):
    """The schema has a version unknown to this release; the message is its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrations:
    """A service's migrations: the folder of its versions, the resulting tables, and the lock between replicas.

    `lock` is the number of PostgreSQL's advisory lock under which one replica migrates while the others wait.
    `version_table` stores the version; it is named after the service where services share a schema.
    """

    versions: Path
    metadata: MetaData
    lock: int
    version_table: str = "alembic_version"

    def upgrade(self, connection: Connection, revision: str = "head") -> None:
        """Apply the missing migrations up to a revision, in the connection's transaction."""
        if revision == "head" and self.is_newest(connection):
            return
        from alembic import command

        config = self._config()
        config.attributes.update(connection=connection, metadata=self.metadata, version_table=self.version_table)
        if self.is_there(connection):  # else there is no version to check, and all their files are read but once
            self.current(connection)
        command.upgrade(config, revision)

    def is_newest(self, connection: Connection) -> bool:
        """Return whether the schema has the newest version here; the file names of versions begin with their names."""
        if not self.is_there(connection):
            return False
        newest = max(found[1] for file in self.versions.iterdir() if (found := _FILE.fullmatch(file.name)))
        version: ColumnClause[str] = column("version_num")
        there = connection.scalars(select(version).select_from(table(self.version_table)))
        return there.all() == [newest]

    def is_there(self, connection: Connection) -> bool:
        """Return whether the schema was ever created."""
        return connection.dialect.has_table(connection, self.version_table)

    def current(self, connection: Connection) -> str:
        """Return the schema's version; "" when there is none yet. Raises Newer when this release does not know it."""
        from alembic.runtime.migration import MigrationContext

        context = MigrationContext.configure(connection, opts={"version_table": self.version_table})
        known = self.known()
        for version in context.get_current_heads():
            if version not in known:
                raise Newer(version)
        return max(context.get_current_heads(), key=known.index, default="")

    def known(self) -> list[str]:
        """Return the versions that this release knows, the oldest first."""
        from alembic.script import ScriptDirectory

        return [one.revision for one in ScriptDirectory.from_config(self._config()).walk_revisions()][::-1]

    def _config(self) -> Config:
        from alembic.config import Config

        config = Config()
        # One folder per line, so that a path may contain spaces and colons; alembic interprets percent signs.
        config.set_main_option("path_separator", "newline")
        config.set_main_option("script_location", _plain(_ENVIRONMENT))
        config.set_main_option("version_locations", _plain(self.versions))
        return config


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")
