"""What a service keeps: it says so itself, for those who look after a deployment from outside of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url

from footnote_database.migrations import Migrations
from footnote_database.parts import Part
from footnote_database.traits import Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library that keeps tables of its own: `migrate` makes them, or brings them up to date, at a SQLAlchemy URL.

    In PostgreSQL they are in `schema`; their version is in `version_table`.
    """

    schema: str
    version_table: str
    migrate: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDatabase:
    """A database: either `traits` or `library` says whose tables are in it, `witness` is what is not there without it.

    `variable` is the setting that holds its URL, and the URLs of those databases that have no setting of their own;
    `holds` is what is lost with a library's.
    """

    name: str
    url: URL
    traits: Traits | None = None
    library: Library | None = None
    witness: Path | None = None
    variable: str = ""
    holds: str = ""

    @property
    def part(self) -> Part:
        """What it is to the installation."""
        return self.traits.part if self.traits is not None else Part(self.name, self.holds)

    @property
    def migrations(self) -> Migrations | None:
        """What brings its schema up to date, None where a library does."""
        return self.traits.migrations if self.traits is not None else None

    @property
    def file(self) -> Path | None:
        """Its file, None for one on a server."""
        sqlite = self.url.get_backend_name() == "sqlite" and self.url.database
        return Path(self.url.database) if sqlite and self.url.database else None

    @property
    def place(self) -> tuple[str, int, str]:
        """Where it is: host, port and name, or none and its file; the same for services that share a database."""
        return (self.url.host or "", self.url.port or 0, self.url.database or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOnly:
    """A table to which is only appended, of the database named: `guards` are the triggers that keep it so, by dialect.

    `time_column` holds milliseconds since 1970; rows are deleted when they are `days` old.
    """

    database: str
    table: str
    guards: Mapping[str, frozenset[str]]
    time_column: str
    days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Values that a database stores as bytes, the newest first by `query`, a statement of SQLite without a limit.

    `read` takes the columns of a row; ValueError where they cannot be read, which has `effect`, a sentence.
    """

    database: str
    name: str
    query: str
    read: Callable[..., object]
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredData:
    """What one service keeps.

    `files` is its folder of files, None where they are at `files_url` or it has none; `named` is a statement that its
    database answers with the names, below that folder, of those it cannot do without; `servers` are addresses of
    further servers that it cannot do without, by what they are for; `collections` is a statement that its database
    answers with the ids of the collections that rows of the vector store are of; `log` is its log, if it keeps one;
    `samples` are of all that it stores as bytes.
    """

    databases: tuple[StoredDatabase, ...] = ()
    files: Path | None = None
    files_url: str = ""
    named: str = ""
    servers: tuple[tuple[str, str], ...] = ()
    collections: str = ""
    log: AppendOnly | None = None
    samples: tuple[Sample, ...] = ()


def database(
    name: str,
    url: str,
    file: Path,
    traits: Traits | None = None,
    witness: Path | None = None,
    *,
    library: Library | None = None,
    variable: str = "",
    holds: str = "",
) -> StoredDatabase:
    """Return the database that a setting names; without one it is that SQLite file."""
    found = make_url(url) if url else URL.create("sqlite", database=str(file))
    return StoredDatabase(
        name=name, url=found, traits=traits, library=library, witness=witness, variable=variable, holds=holds
    )
