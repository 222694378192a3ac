"""What is a service's own about its database; everything else is the same in all of them."""

from dataclasses import dataclass
from enum import Enum

from footnote_database.migrations import Migrations
from footnote_database.parts import Part
from footnote_database.sqlite import Synchronous


class Writers(Enum):
    """How writers of one SQLite file keep apart; PostgreSQL sees to that itself."""

    DRIVER = "driver"
    """The driver begins a transaction before the first change: who comes second waits for the file, and fails if it
    has read before. Changes of the schema are outside of transactions, but for those of a migration."""

    TURNS = "turns"
    """As DRIVER, and those of this process take turns, so that they do not find it locked."""

    IMMEDIATE = "immediate"
    """A writing transaction takes the file when it begins, a reading one sees one state of it; changes of the schema
    are inside."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Connections: `size` are kept, `overflow` more may be open for a while; who finds none waits `seconds`."""

    size: int = 5
    overflow: int = 10
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """A service's own ways with its database.

    `name` is what messages call it, `holds` what is lost with it. On SQLite: `synchronous` is what a commit outlives,
    `busy_seconds` how long a lock of others is waited for, `foreign_keys` whether they are enforced, `sqlite_pool`
    its connections (None: what SQLAlchemy takes, also for one in memory). On PostgreSQL: `schema` is that of the
    tables, None for the database's default; `connect_seconds` and `command_seconds` are how long a connection and a
    statement may take, migrations apart. With `refused`, what the server refuses for now is raised as `Unavailable`
    with that message.
    """

    name: str
    migrations: Migrations
    synchronous: Synchronous
    busy_seconds: float
    writers: Writers
    foreign_keys: bool = False
    schema: str | None = None
    sqlite_pool: Pool | None = None
    postgres_pool: Pool = Pool(seconds=10.0)
    connect_seconds: float = 10.0
    command_seconds: float = 60.0
    refused: str = ""
    holds: str = ""

    @property
    def part(self) -> Part:
        """What it is to the installation."""
        return Part(self.name, self.holds)
