"""Replicas of every service as processes of their own, as pods are: they share PostgreSQL, Redis, S3 and the store.

Callers balance by themselves (`ipv4:` with every address, round robin), services among one another too. The vector
store is one embedded engine, which stands for a Milvus elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

from footnote_kit.clients import check_health, open_channel
from footnote_kit.credential import new_secret
from footnote_kit.settings import STAGES
from footnote_store.endpoint import socket_uri

from support import base_environment, object_store, postgres
from support.redis_server import redis_server

START_SECONDS = 300.0
STOP_SECONDS = 60.0
_COUNTED = re.compile(r"^rpc_server_call_duration_seconds_count\{(.*)\} (\S+)$", re.MULTILINE)
_METHOD = re.compile(r'rpc_method="([^"]+)"')

Replica = tuple[str, int]
"""A service and which of its replicas."""


class Cluster:
    """The processes; `replicas` is how many there are of each service."""

    def __init__(self, folder: Path, replicas: Mapping[str, int], shared: Mapping[str, str]) -> None:
        self.folder = folder
        self.replicas = dict(replicas)
        self.more: dict[str, str] = {}
        """Further variables of replicas that are started from now on."""
        self._processes: dict[Replica, subprocess.Popen[bytes]] = {}
        self._engine: subprocess.Popen[bytes] | None = None
        ports = iter(_free_ports(3 * sum(replicas.values())))
        self._ports = {one: (next(ports), next(ports), next(ports)) for one in self.all()}
        self._shared = {
            **shared,
            "FOOTNOTE_SERVICE_TOKEN": new_secret(),
            "FOOTNOTE_VECTOR_STORE_URI": socket_uri(folder / "store" / "store"),
            "FOOTNOTE_LOG_FORMAT": "json",
            **{f"FOOTNOTE_{stage.upper()}_ADDRESS": self.address(stage) for stage in STAGES},
        }

    def all(self) -> list[Replica]:
        """Return every planned replica."""
        return [(stage, number) for stage in STAGES for number in range(self.replicas[stage])]

    def of(self, stage: str) -> list[Replica]:
        """Return the replicas of a service."""
        return [(stage, number) for number in range(self.replicas[stage])]

    def one(self, replica: Replica) -> str:
        """Return the address of one replica."""
        return f"127.0.0.1:{self._ports[replica][0]}"

    def address(self, stage: str) -> str:
        """Return the addresses of a service's replicas, as gRPC takes them."""
        return "ipv4:" + ",".join(self.one(replica) for replica in self.of(stage))

    async def start(self) -> None:
        """Start engine and all replicas, and wait until they serve."""
        folder = self.folder / "store"
        folder.mkdir(mode=0o700)
        self._engine = self._spawn("store", ["store", "--data-dir", str(folder)], {})
        await asyncio.gather(*(self.begin(one) for one in self.all()))

    async def begin(self, replica: Replica) -> None:
        """Start a replica and wait until it serves."""
        stage, number = replica
        folder = self.folder / f"{stage}-{number}"
        folder.mkdir(mode=0o700, exist_ok=True)
        port, http, metrics = self._ports[replica]
        own = {
            "FOOTNOTE_EDGE_EXECUTOR_ID": f"{stage}-{number}-{uuid4().hex[:6]}",  # no pod's name comes again
            "FOOTNOTE_EDGE_HTTP_PORT": str(http),
            "FOOTNOTE_METRICS_PORT": str(metrics),
        }
        command = [stage, "--data-dir", str(folder), "--port", str(port)]
        process = self._processes[replica] = self._spawn(f"{stage}-{number}", command, own)
        async with asyncio.timeout(START_SECONDS), AsyncExitStack() as stack:
            channel = await stack.enter_async_context(open_channel(self.one(replica), peer=stage))
            while await check_health(channel, stage) is not None:
                if process.poll() is not None:
                    raise RuntimeError(f"{replica} ended with {process.returncode}: {self.log(replica)[-3000:]}")
                await asyncio.sleep(0.1)

    async def end(self, replica: Replica) -> None:
        """End a replica in order, as Kubernetes does."""
        process = self._processes.pop(replica)
        process.terminate()
        await asyncio.to_thread(process.wait, STOP_SECONDS)

    async def kill(self, replica: Replica) -> None:
        """End a replica as a lost machine does, whatever it began with it."""
        process = self._processes.pop(replica)
        os.killpg(process.pid, signal.SIGKILL)
        await asyncio.to_thread(process.wait, STOP_SECONDS)

    async def stop(self) -> None:
        """End everything."""
        processes = [*self._processes.values(), *([self._engine] if self._engine else [])]
        self._processes.clear()
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                await asyncio.to_thread(process.wait, STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def log(self, replica: Replica) -> str:
        """Return what a replica has logged."""
        return (self.folder / f"{replica[0]}-{replica[1]}.log").read_text(errors="replace")

    async def calls(self, replica: Replica) -> dict[str, int]:
        """Return how many calls of each method a replica has answered since it started."""

        def read() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[replica][2]}/metrics", timeout=10) as answer:
                return str(answer.read(), "utf-8")

        found: dict[str, int] = {}
        for labels, count in _COUNTED.findall(await asyncio.to_thread(read)):
            method = _METHOD.search(labels)
            name = method[1].rpartition("/")[2] if method else ""
            found[name] = found.get(name, 0) + int(float(count))
        return found

    def _spawn(self, name: str, command: list[str], own: Mapping[str, str]) -> subprocess.Popen[bytes]:
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        shared = {} if command[0] == "store" else {**self._shared, **self.more}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "footnote_cli.main", "serve", *command],
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                env={**base_environment.inherited(), **path, **shared, **own},
            )  # fmt: skip


def why_not() -> str | None:
    """Return why there can be no cluster here; None when there can."""
    return postgres.why_not() or (
        None if object_store.program() else "moto's S3 server is missing (pip install 'moto[server]')"
    )


@asynccontextmanager
async def cluster(
    folder: Path, replicas: Mapping[str, int], more: Mapping[str, str] | None = None
) -> AsyncIterator[Cluster]:
    """Run PostgreSQL, Redis, an S3 server, an engine and the replicas; `more` are variables of theirs."""
    with ExitStack() as stack:
        url = await postgres.new_database(stack.enter_context(postgres.server()))
        redis = stack.enter_context(redis_server())
        endpoint = stack.enter_context(object_store.server())
        await asyncio.to_thread(object_store.make_bucket, endpoint, "files")
        secret = {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}
        shared = {
            **{f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("INGESTION", "INDEXING", "EDGE")},
            "FOOTNOTE_INDEXING_CACHE_URL": redis.url,
            "FOOTNOTE_INGESTION_BLOB_URL": "s3://files/footnote",
            "FOOTNOTE_INGESTION_BLOB_OPTIONS": json.dumps({"endpoint": endpoint, **secret}),
        }
        running = Cluster(folder, replicas, {**shared, **(more or {})})
        try:
            await running.start()
            yield running
        finally:
            await running.stop()


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
