"""The ledger of jobs on a PostgreSQL whose host is gone without a word: connections to it are given up in time."""

import asyncio
import os
import socket
from pathlib import Path

import psycopg
import pytest
from footnote_edge.adapters.job_ledger import JobLedger
from support import postgres

pytestmark = pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))


@pytest.mark.parametrize(("query", "seconds"), [("", 30), ("?tcp_user_timeout=7000", 7)])
@pytest.mark.slow
def test_connections_are_given_up_where_nobody_acknowledges_anything(query: str, seconds: int) -> None:
    with postgres.server() as server:
        url = asyncio.run(postgres.new_database(server)) + query
        with (
            psycopg.connect(url, **JobLedger(url, Path()).engine_options()["connect_args"]) as connection,
            socket.socket(fileno=os.dup(connection.fileno())) as same,
        ):
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == seconds * 1000
            assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            idle, pause, count = (
                same.getsockopt(socket.IPPROTO_TCP, option)
                for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            )
    assert idle + pause * count == 30
