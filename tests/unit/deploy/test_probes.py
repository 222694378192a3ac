"""The probes of the manifests, run verbatim against a real health service."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
import yaml
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from support.certificates import Authority

ROOT = Path(__file__).resolve().parents[3]
MANIFESTS = [one for one in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "footnote.yaml").read_text()) if one]
PROBE = shutil.which("grpc_health_probe") or shutil.which("grpc-health-probe")
pytestmark = pytest.mark.skipif(
    PROBE is None,
    reason="grpc-health-probe is missing (.ci/run has its `go install` line)",
)
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def command(probe: str) -> str:
    (pod,) = [
        one for one in MANIFESTS if one["kind"] == "Deployment" and one["metadata"]["name"] == "footnote-retrieval"
    ]
    return str(pod["spec"]["template"]["spec"]["containers"][0][probe]["exec"]["command"][-1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the probe where manifests look for it."""
    assert PROBE is not None
    (tmp_path / "grpc_health_probe").symlink_to(PROBE)
    return tmp_path


def code(probe: str, port: int, folder: Path, more: str = "") -> int:
    asked = re.sub(r"-addr=127\.0\.0\.1:\d+", f"-addr=127.0.0.1:{port} {more}", command(probe))
    run = subprocess.run(["sh", "-c", asked], env={"PATH": f"{folder}:/usr/bin:/bin"}, check=False, capture_output=True)
    return run.returncode


@pytest.fixture
def served() -> Iterator[tuple[health.HealthServicer, grpc.Server]]:
    """A real health service, and what sets its state."""
    servicer = health.HealthServicer()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    yield servicer, server
    server.stop(0).wait()


@pytest.mark.parametrize(("status", "started", "alive"), [(SERVING, 0, 0), (NOT_SERVING, 4, 0)])
def test_degraded_is_alive_and_ready_and_not_yet_started(
    folder: Path, served: tuple[health.HealthServicer, grpc.Server], status: int, started: int, alive: int
) -> None:
    servicer, server = served
    servicer.set("", status)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    assert (code("startupProbe", port, folder), code("livenessProbe", port, folder)) == (started, alive)
    assert code("readinessProbe", port, folder) == alive


@pytest.mark.slow
def test_who_listens_and_never_answers_is_not_alive(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        began = time.monotonic()
        assert code("livenessProbe", hung.getsockname()[1], folder) != 0
        assert time.monotonic() - began < 10  # the probe's own time, before the kubelet's


@pytest.mark.slow
def test_it_shows_its_certificate_where_the_service_asks_for_one(
    folder: Path, served: tuple[health.HealthServicer, grpc.Server]
) -> None:
    servicer, server = served
    servicer.set("", SERVING)
    authority, foreign = Authority(folder, "authority"), Authority(folder, "foreign")
    own, other = authority.issue("service"), foreign.issue("stranger")
    pair = (own["tls_key_file"].read_bytes(), own["tls_cert_file"].read_bytes())
    credentials = grpc.ssl_server_credentials([pair], authority.file.read_bytes(), require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()

    def flags(shown: dict[str, Path]) -> str:
        cert, key = shown["tls_cert_file"], shown["tls_key_file"]
        return f"-tls -tls-ca-cert={authority.file} -tls-client-cert={cert} -tls-client-key={key}"

    assert code("livenessProbe", port, folder, flags(own)) == 0
    assert code("livenessProbe", port, folder, flags(other)) != 0
    assert code("livenessProbe", port, folder) != 0


_SERVER = """
import asyncio, signal, sys, time
import grpc
from grpc_health.v1 import health, health_pb2_grpc

async def main():
    server = grpc.aio.server()
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await servicer.set("", 1)
    # What blocks the loop: a call in it that does not come back.
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, 600)
    print(port, flush=True)
    await server.wait_for_termination()

asyncio.run(main())
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """Run a service of its own process, whose event loop can be blocked."""
    running = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    yield running
    running.kill()
    running.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [pytest.param(signal.SIGUSR1, marks=pytest.mark.full), signal.SIGSTOP],
    ids=["a blocked loop", "a stopped process"],
)
def test_a_service_that_hangs_is_neither_ready_nor_alive_though_its_port_takes_connections(
    folder: Path, process: subprocess.Popen[str], how: signal.Signals
) -> None:
    assert process.stdout is not None
    port = int(process.stdout.readline())
    assert code("readinessProbe", port, folder) == 0
    process.send_signal(how)
    assert code("readinessProbe", port, folder) != 0
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        pass  # which is all that a probe of the port would ask
    assert code("livenessProbe", port, folder) != 0
    if how is signal.SIGSTOP:
        process.send_signal(signal.SIGCONT)
        assert code("readinessProbe", port, folder) == 0


def test_no_probe_asks_only_whether_the_port_is_open() -> None:
    found = [one for one in MANIFESTS if one["kind"] in ("Deployment", "StatefulSet")]
    assert len(found) == 6
    for one in found:
        (container,) = one["spec"]["template"]["spec"]["containers"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["exec"]["command"][-1].startswith("grpc_health_probe ")
            # The program gives up before the kubelet kills it.
            assert container[probe]["timeoutSeconds"] > 6
