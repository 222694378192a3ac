"""An edge in this process whose PostgreSQL is killed right before its jobs are launched; says what became of it.

`python launching_edge.py SECONDS PATIENCE`: after how many seconds the server is back (0: never), and how long it is
waited for. A process of its own, because an edge that cannot start leaves what it had opened to the end of its process.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footnote_edge.adapters.job_ledger import JobLedger
from footnote_edge.app import build
from footnote_kit.testing import serve_app
from sqlalchemy.exc import DBAPIError

from support import postgres
from support.doubles.stages import World, serve_doubles
from support.edge_client import EdgeClient


async def launch(server: postgres.PostgresServer, back: float, wait_seconds: float) -> str:
    """Return the answer that edge gives in the end, or what it ended with."""
    os.environ["FOOTNOTE_EDGE_DATABASE_URL"] = str(await postgres.new_database(server.url))
    os.environ["FOOTNOTE_EDGE_EXECUTOR_ID"] = "edge-0"
    prepare, timer = JobLedger._prepare, threading.Timer(back, server.start)

    def lost(ledger: JobLedger) -> None:
        prepare(ledger)
        server.kill()
        if back:
            timer.start()

    JobLedger._prepare = lost  # type: ignore[method-assign]
    JobLedger.wait_seconds = wait_seconds
    async with serve_doubles(World()) as addresses:
        try:
            async with serve_app(build, addresses=addresses) as served:
                timer.join()
                client = EdgeClient(served.channel)
                await client.put(b"Tea is brewed at 80 degrees.", "tea.txt")
                return (await client.answer("tea ?")).answer.text
        except DBAPIError as error:
            return type(error).__name__


if __name__ == "__main__":
    with postgres.postgres_server() as running:
        print(asyncio.run(launch(running, float(sys.argv[1]), float(sys.argv[2]))))
