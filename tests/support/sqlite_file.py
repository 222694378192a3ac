"""Changes a SQLite file beside the service that writes to it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path


async def change(file: Path, *statements: str) -> None:
    """Run statements in one transaction, on a thread: a service with the lock needs the event loop to give it back."""

    def run() -> None:
        with closing(sqlite3.connect(file, timeout=240)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    await asyncio.to_thread(run)
