"""Describes what a service stores, for the tools that administer a deployment."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError, Message
from sqlalchemy import URL, make_url

from footnote_database.migrations import Migrations
from footnote_database.parts import Part
from footnote_database.traits import Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library with its own tables: `migrate` creates or updates them at a SQLAlchemy URL.

    In PostgreSQL they are in `schema`; `version_table` holds their version.
    """

    schema: str
    version_table: str
    migrate: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDatabase:
    """A database whose tables belong to either `traits` or `library`; `witness` is data that exists only with it.

    `variable` is the setting that holds its URL, and the URL of databases without a setting of their own. `holds`
    describes what is lost with a library's database.
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
        """The database as a part of the installation."""
        return self.traits.part if self.traits is not None else Part(self.name, self.holds)

    @property
    def migrations(self) -> Migrations | None:
        """The migrations of its schema; None when a library migrates it."""
        return self.traits.migrations if self.traits is not None else None

    @property
    def file(self) -> Path | None:
        """Its file; None for a database on a server."""
        sqlite = self.url.get_backend_name() == "sqlite" and self.url.database
        return Path(self.url.database) if sqlite and self.url.database else None

    @property
    def place(self) -> tuple[str, int, str]:
        """Its host, port and name, or its file alone; equal for services that share a database."""
        return (self.url.host or "", self.url.port or 0, self.url.database or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOnly:
    """An append-only table of the named database; `guards` are the triggers that enforce this, by dialect.

    `time_column` holds milliseconds since 1970; rows are deleted when they are `days` old.
    """

    database: str
    table: str
    guards: Mapping[str, frozenset[str]]
    time_column: str
    days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Values that a database stores as bytes; `query` is an SQLite statement without a limit, the newest first.

    `read` parses a row's columns. It raises ValueError when that fails; `effect` is a sentence about the consequence.
    """

    database: str
    name: str
    query: str
    read: Callable[..., object]
    effect: str


def readable(kind: type[Message]) -> Callable[[bytes], None]:
    """Return a `read` for samples of one message; it raises ValueError with the message's name."""

    def read(data: bytes) -> None:
        try:
            kind.FromString(data)
        except DecodeError as error:
            raise ValueError(kind.__name__) from error

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredData:
    """What one service stores.

    `files` is its folder of files; None when they are at `files_url`, where `put_files` stores those of a folder (it
    raises FootnoteError), or there are none. `named` is an SQL statement
    for its database that returns the required files, relative to that folder, and `kept` one that returns all that
    documents have; no other file is needed after a restore. `servers` are the addresses of further
    required servers, by purpose. `collections` is an SQL statement for the ids of the collections with rows in the
    vector store. `log` is its append-only log, if any. `samples` cover all values that it stores as bytes.
    """

    databases: tuple[StoredDatabase, ...] = ()
    files: Path | None = None
    files_url: str = ""
    put_files: Callable[[Path], Awaitable[None]] | None = None
    named: str = ""
    kept: str = ""
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
    """Return the database that a setting names; if the setting is empty, the SQLite file."""
    found = make_url(url) if url else URL.create("sqlite", database=str(file))
    return StoredDatabase(
        name=name, url=found, traits=traits, library=library, witness=witness, variable=variable, holds=holds
    )
