"""Kubernetes' own API server with an etcd in the same process, built by `make apiserver`: manifests are applied to it.

Nothing schedules and no pod starts: what is shown is that the server takes the objects, with all its own checks.
"""

import json
import os
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

BINARY = Path(__file__).resolve().parents[2] / "build" / "apiserver" / "apiserver"
_START_SECONDS = 120.0


def why_not() -> str | None:
    """Why no API server can be started here; None when one can."""
    return None if BINARY.exists() else "the API server is not built (`make apiserver`, where there is Go)"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running API server: its address, and the file by which helm and kubectl reach it as administrator."""

    url: str
    token: str
    kubeconfig: Path

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """Make a call and return the object that it answers with; Refused with the server's words."""
        request = urllib.request.Request(
            f"{self.url}{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json", **headers},
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, context=_unchecked(), timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            said = json.load(error)
            raise Refused(error.code, str(said.get("message", ""))) from error


class Refused(Exception):
    """The server does not take an object; the message has its code and words."""


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run an API server of its own on loopback."""
    with tempfile.TemporaryDirectory(prefix="footnote-apiserver-") as name:
        folder = Path(name)
        token, port = secrets.token_hex(16), _free_port()
        (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
        key = rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "accounts.key").write_bytes(key)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    BINARY, folder / "etcd", "--bind-address=127.0.0.1", f"--secure-port={port}",
                    f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={folder / 'tokens.csv'}",
                    "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
                    f"--service-account-key-file={folder / 'accounts.key'}", "--service-cluster-ip-range=10.0.0.0/24",
                    f"--service-account-signing-key-file={folder / 'accounts.key'}",
                ],
                stdout=log, stderr=subprocess.STDOUT, cwd=folder,
            )  # fmt: skip
        try:
            running = Cluster(f"https://127.0.0.1:{port}", token, folder / "kubeconfig")
            _wait(running, process, folder / "log")
            _write_kubeconfig(running)
            yield running
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(running: Cluster, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:  # the last thing that is made at a start
            running.call("GET", "/api/v1/namespaces/default")
            return
        except (OSError, Refused):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the API server did not start: {log.read_text()[-3000:]}") from None
            time.sleep(0.2)


def _write_kubeconfig(running: Cluster) -> None:
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": running.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "test", "user": {"token": running.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }  # fmt: skip
    running.kubeconfig.write_text(json.dumps(config))
    os.chmod(running.kubeconfig, 0o600)  # noqa: PTH101


def _unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False  # a certificate of this start's own, on loopback
    context.verify_mode = ssl.CERT_NONE
    return context


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
