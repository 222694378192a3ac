"""The kinds of deployment that rounds run on, with the servers that each needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support import postgres, redis_server
from support.redis_server import RedisServer

STATES = ("INGESTION", "INDEXING", "EDGE")
Server = postgres.PostgresServer | RedisServer


@dataclass(frozen=True, slots=True)
class Mode:
    """A kind of deployment."""

    name: str
    separate: bool = False
    """One process per service instead of three for all."""
    servers: bool = False
    """PostgreSQL for all tables, and Redis for the vector cache."""

    def why_not(self) -> str | None:
        """Why it cannot run here; None if it can."""
        if self.servers:
            return postgres.why_not() or redis_server.why_not()
        return None


MODES = {
    one.name: one
    for one in (
        Mode("all"), Mode("separate", separate=True), Mode("postgres", separate=True, servers=True),
    )
}  # fmt: skip


@dataclass(slots=True)
class Ground:
    """The servers that a deployment needs."""

    env: dict[str, str] = field(default_factory=dict)
    """Environment variables for its processes."""
    servers: Mapping[str, Server] = field(default_factory=dict)
    database: str = ""
    """URL of the PostgreSQL database; empty for SQLite."""


@contextmanager
def ground(mode: Mode, folder: Path) -> Iterator[Ground]:
    """Start the servers of a deployment in `folder`."""
    folder.mkdir(parents=True)
    made = Ground()
    with ExitStack() as stack:
        if mode.servers:
            database = stack.enter_context(postgres.postgres_server())
            cache = stack.enter_context(redis_server.redis_server())
            made.servers = {"postgres": database, "redis": cache}
            made.database = asyncio.run(postgres.new_database(database.url))
            made.env = {f"FOOTNOTE_{stage}_DATABASE_URL": made.database for stage in STATES}
            made.env["FOOTNOTE_INDEXING_CACHE_URL"] = cache.url
        yield made
