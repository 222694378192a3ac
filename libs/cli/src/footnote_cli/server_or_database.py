"""Where `footnote keys`, `limits` and `audit` work: at a server, or on a deployment's own database."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer
from footnote_kit import private
from footnote_kit.errors import FootnoteError

from footnote_cli.addresses import edge_address
from footnote_cli.credentials import key_of_file
from footnote_cli.errors import explain_failure, usage_error
from footnote_cli.installed import OFFLINE, found
from footnote_cli.session import Connection, Session, open_session

T = TypeVar("T")
Open = Callable[[typer.Context, Path, str | None, str, float | None], AbstractAsyncContextManager[T]]
"""Opens what a command works on, by its context, --data-dir, --address, --api-key and --timeout."""


def opener(name: str, served: Callable[[Session], T], offline: Callable[[Any], T]) -> Open[T]:
    """Return how `footnote <name>` opens what it works on.

    It uses the folder given in the call, else the server of a key or an address, else the usual folder. `offline` wraps
    the offline tool of that name. Opening raises CommandError.
    """

    @asynccontextmanager
    async def opened(
        context: typer.Context, data_dir: Path, address: str | None, api_key: str, timeout: float | None
    ) -> AsyncIterator[T]:
        connection = _connection(context, address, api_key, timeout)
        if connection is not None:
            async with open_session(connection, f"footnote {name} {context.info_name}") as session:
                yield served(session)
            return
        private.keep()  # this command may be the first to create the database
        database, tool = await found(OFFLINE, name)(data_dir)
        try:
            yield offline(tool)
        except FootnoteError as error:
            raise explain_failure(error) from error
        finally:
            await database.close()

    return opened


def _connection(context: typer.Context, address: str | None, api_key: str, timeout: float | None) -> Connection | None:
    """Return the server to work at; None for the deployment's own database."""
    source = context.get_parameter_source("data_dir")
    if source is not None and source.name == "COMMANDLINE":
        if address:
            raise usage_error("--data-dir and --address exclude each other.", "Give one of them.")
        return None
    secret = api_key or key_of_file()
    return Connection(edge_address(address), api_key=secret, timeout=timeout) if secret or address else None
