"""Database settings that differ between services."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from footnote_database.migrations import Migrations
from footnote_database.parts import Part
from footnote_database.sqlite import Synchronous


class Writers(Enum):
    """How writers of one SQLite file are serialised; PostgreSQL does this itself."""

    DRIVER = "driver"
    """The driver begins a transaction before the first change. A second writer waits for the file, and fails if it
    has read before. Schema changes are outside transactions, except in migrations."""

    TURNS = "turns"
    """As DRIVER, and the writers of this process take turns, so that they do not find the file locked."""

    IMMEDIATE = "immediate"
    """A writing transaction locks the file when it begins; a reading one sees a single snapshot. Schema changes are
    inside the transaction."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A connection pool: `size` are kept, `overflow` more may open temporarily; a request waits at most `seconds`."""

    size: int = 5
    overflow: int = 10
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The database settings of one service.

    `name` identifies the database in messages; `holds` describes what is lost with it. `named` are SQLite queries of
    one column, by kind: the ids and times of what commits of a damaged log held. With `refused`, temporary refusals by
    the server are raised as `Unavailable` with that message.

    For SQLite, `synchronous` is the durability of a commit, `busy_seconds` the wait for a foreign lock, and
    `foreign_keys` whether they are enforced. `sqlite_pool` is the pool; None means SQLAlchemy's default, also for a
    database in memory.

    For PostgreSQL, `schema` is the schema of the tables, None for the database's default. `connect_seconds` and
    `command_seconds` are the time limits of a connection attempt and of a statement, except in migrations.
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
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> Part:
        """The database as a part of the installation."""
        return Part(self.name, self.holds)
