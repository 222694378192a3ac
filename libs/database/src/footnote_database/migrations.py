"""Brings a database's schema up to date: one alembic environment for all services, versions in each of them."""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData

_ENVIRONMENT = Path(__file__).parent / "environment"


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
        config = Config()
        # One folder a line, so that a path may hold spaces and colons; a percent sign is alembic's own.
        config.set_main_option("path_separator", "newline")
        config.set_main_option("script_location", _plain(_ENVIRONMENT))
        config.set_main_option("version_locations", _plain(self.versions))
        config.attributes.update(connection=connection, metadata=self.metadata, version_table=self.version_table)
        command.upgrade(config, revision)


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")
