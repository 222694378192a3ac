"""Brings a database's schema up to date: one alembic environment for all services, versions in each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import ColumnClause, Connection, MetaData, column, select, table

if TYPE_CHECKING:  # loaded where there is something to migrate: 10 MB and a fifth of a second
    from alembic.config import Config

_FILE = re.compile(r"v?(\d{4})_\w+\.py")
_ENVIRONMENT = Path(__file__).parent / "environment"


class Newer(Exception):
    """The schema is of a version that is not known here; the message is its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrations:
    """A service's migrations: the folder of its versions, the tables that they lead to, and what keeps replicas apart.

    `lock` is the number of the advisory lock of PostgreSQL under which one replica migrates while the others wait;
    `version_table` is where the version is noted, named after the service where it shares a schema with others.
    """

    versions: Path
    metadata: MetaData
    lock: int
    version_table: str = "alembic_version"

    def upgrade(self, connection: Connection, revision: str = "head") -> None:
        """Apply what is missing up to a revision, in the transaction of the connection."""
        if revision == "head" and self.is_newest(connection):
            return
        from alembic import command

        config = self._config()
        config.attributes.update(connection=connection, metadata=self.metadata, version_table=self.version_table)
        self.current(connection)
        command.upgrade(config, revision)

    def is_newest(self, connection: Connection) -> bool:
        """Tell whether a schema's version is the last of those here, whose files begin with their versions' names."""
        if not self.is_there(connection):
            return False
        newest = max(found[1] for file in self.versions.iterdir() if (found := _FILE.fullmatch(file.name)))
        version: ColumnClause[str] = column("version_num")
        there = connection.scalars(select(version).select_from(table(self.version_table)))
        return there.all() == [newest]

    def is_there(self, connection: Connection) -> bool:
        """Tell whether a schema was ever begun."""
        return connection.dialect.has_table(connection, self.version_table)

    def current(self, connection: Connection) -> str:
        """Return the version of a schema, "" where there is none yet; Newer where it is not known here."""
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
        # One folder a line, so that a path may hold spaces and colons; a percent sign is alembic's own.
        config.set_main_option("path_separator", "newline")
        config.set_main_option("script_location", _plain(_ENVIRONMENT))
        config.set_main_option("version_locations", _plain(self.versions))
        return config


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")
