"""The real services in processes of their own: all in one, or six and the vector engine."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from footnote_kit.settings import STAGES

COMMAND = [sys.executable, "-m", "footnote_cli.main"]
START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """Running services. `addresses` are host:port by stage; `processes` are by target, "all" or a stage's name."""

    addresses: Mapping[str, str]
    processes: Mapping[str, subprocess.Popen[str]]

    @property
    def address(self) -> str:
        """The edge's."""
        return self.addresses["edge"]

    def footnote(self, *arguments: str, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the command line as a process of its own, 100 columns wide, against this deployment."""
        variables = environment({"FOOTNOTE_EDGE_ADDRESS": self.address, "COLUMNS": "100", **env})
        return subprocess.run(
            [*COMMAND, *arguments], env=variables, capture_output=True, text=True, timeout=timeout, check=False
        )


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return our environment without its FOOTNOTE_ variables, with what is given."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FOOTNOTE_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **extra}


@contextmanager
def one_process(folder: Path, **env: str) -> Iterator[Deployment]:
    """Run `footnote serve all` in a folder on free ports."""
    command = ["serve", "all", "--data-dir", str(folder), "--port-base", "0"]
    with _process(command, env, "footnote is ready") as process:
        addresses = json.loads((folder / "addresses.json").read_text())
        yield Deployment(addresses, {"all": process})


@contextmanager
def six_processes(folder: Path, **env: str) -> Iterator[Deployment]:
    """Run each service, and the vector engine, in a process of its own; ready when edge says that all are healthy."""
    ports = dict(zip((*STAGES, "store"), _free_ports(len(STAGES) + 1), strict=True))
    addresses = {stage: f"127.0.0.1:{ports[stage]}" for stage in STAGES}
    known = {f"FOOTNOTE_{stage.upper()}_ADDRESS": address for stage, address in addresses.items()} | env
    known = {"FOOTNOTE_EDGE_HTTP_PORT": "0", **known}
    store = {"FOOTNOTE_VECTOR_STORE_URI": f"http://127.0.0.1:{ports['store']}"}
    with ExitStack() as stack:
        processes = {}
        for target in ("store", *STAGES):
            # A folder of its own each, as in containers: nothing but the network is shared.
            command = ["serve", target, "--data-dir", str(folder / target), "--port", str(ports[target])]
            variables = known if target == "store" else known | store
            processes[target] = stack.enter_context(_process(command, variables, "footnote is "))
        deployment = Deployment(addresses, processes)
        _wait_healthy(deployment)
        yield deployment


@contextmanager
def _process(arguments: list[str], env: Mapping[str, str], ready: str) -> Iterator[subprocess.Popen[str]]:
    # Errors go to a file: nobody reads a pipe meanwhile, and a full one would stop the server.
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*COMMAND, *arguments], env=environment(env), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith(ready):
                process.kill()
                process.wait()
                errors.seek(0)
                raise AssertionError(f"{' '.join(arguments)}: {line}\n{errors.read()[-4000:]}")
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.communicate()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def _wait_healthy(deployment: Deployment) -> None:
    deadline = time.monotonic() + START_SECONDS
    while (result := deployment.footnote("health", "--json")).returncode != 0:
        assert time.monotonic() < deadline, result.stdout + result.stderr
