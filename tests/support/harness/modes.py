"""What deployments the rounds run on, with the servers that each stands on."""

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
    """A process per service, not all in three."""
    servers: bool = False
    """PostgreSQL for all that is kept in tables, and Redis for the cache of vectors."""

    def why_not(self) -> str | None:
        """Why there can be none here; None when there can."""
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
    """What a deployment stands on."""

    env: dict[str, str] = field(default_factory=dict)
    """Settings that its processes need for it."""
    servers: Mapping[str, Server] = field(default_factory=dict)
    database: str = ""
    """URL of the PostgreSQL database; empty where there are SQLite files."""


@contextmanager
def ground(mode: Mode, folder: Path) -> Iterator[Ground]:
    """Make what a deployment in `folder` stands on."""
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
