"""Examines a deployment's environment: folder, disk space, clock, versions, certificates, servers."""

import os
import platform
import shutil
import socket
import ssl
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from cryptography import x509
from footnote_kit.settings import KitSettings

from footnote_cli.admin.deployment import Deployment
from footnote_cli.admin.findings import Finding, broken, ok, warning

SCARCE, LITTLE = 200 * 1024 * 1024, 2 * 1024 * 1024 * 1024
"""Bytes of free space below which nothing works for long, and below which to take action."""
_AHEAD_SECONDS = 300.0
_SOON_SECONDS = 14 * 86400.0
_CONNECT_SECONDS = 3.0
_OTHERS = 0o077


def versions() -> Iterator[Finding]:
    """Examine the versions of Python and of the installed packages."""
    yield ok("version", f"Footnote {metadata.version('footnote')}, Python {platform.python_version()}")


def folder(path: Path) -> Iterator[Finding]:
    """Examine whether the data folder exists, is writable, and is closed to other users."""
    if not path.is_dir():
        yield broken(
            "data folder", f"{path} is not there", "Name the deployment's folder with --data-dir, or start it once."
        )
        return
    try:
        with tempfile.NamedTemporaryFile(dir=path, prefix=".doctor-"):
            pass
    except OSError as error:
        yield broken(
            "data folder",
            f"{path} cannot be written to: {error.strerror}",
            f"Run this as the user that serves it, or give it to this one: chown -R {os.geteuid()} {path}",
        )
        return
    found = path.stat()
    if found.st_uid != os.geteuid():
        yield warning(
            "data folder",
            f"{path} belongs to user {found.st_uid}, this is user {os.geteuid()}",
            "Run this as the user that serves it.",
        )
    elif found.st_mode & _OTHERS:
        yield warning(
            "data folder",
            f"others can enter {path} ({oct(stat.S_IMODE(found.st_mode))})",
            f"Close it: chmod -R go-rwx {path}, or footnote admin doctor --repair",
        )
    else:
        yield ok("data folder", f"{path} is writable, and closed to other users")


def space(path: Path, free: int | None = None) -> Iterator[Finding]:
    """Examine the disk space; `free` is in bytes, asked of the system if not given."""
    left = shutil.disk_usage(path).free if free is None else free
    said = f"{left // (1024 * 1024)} MiB are free on the disk of {path}"
    if left < SCARCE:
        yield broken("space", said, "Free some space, or move the folder to a larger disk: writes will be refused.")
    elif left < LITTLE:
        yield warning("space", said, "Free some space soon: a backup or a compaction needs as much as is stored.")
    else:
        yield ok("space", said)


def _written(path: Path) -> Iterator[float]:
    """Yield when each database below a folder was written, in Unix seconds; services may be running."""
    for file in path.glob("[!.]*/**/*.db"):
        with suppress(FileNotFoundError):
            yield file.stat().st_mtime


def clock(path: Path) -> Iterator[Finding]:
    """Examine whether the clock is behind times already written."""
    moment = time.time()
    newest = max(_written(path), default=0.0)
    said = f"it is {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if newest - moment > _AHEAD_SECONDS:
        yield broken(
            "clock",
            f"{said}, and a database was written {round(newest - moment)} s later than that",
            "Set the clock (with NTP): expiry, leases and keys depend on it.",
        )
    else:
        yield ok("clock", said)


def certificates(settings: KitSettings) -> Iterator[Finding]:
    """Examine whether the certificates are readable and valid."""
    moment = datetime.now(UTC)
    for variable, path in (
        ("FOOTNOTE_TLS_CERT_FILE", settings.tls_cert_file),
        ("FOOTNOTE_TLS_CA_FILE", settings.tls_ca_file),
    ):
        if path is None:
            continue
        try:
            found = x509.load_pem_x509_certificates(path.read_bytes())
        except (OSError, ValueError):
            yield broken("certificates", f"{path} holds no certificate that can be read", f"Set {variable} right.")
            continue
        ends = min(one.not_valid_after_utc for one in found)
        left = (ends - moment).total_seconds()
        said = f"{path} is good until {ends:%Y-%m-%d %H:%M} UTC"
        if left <= 0:
            yield broken("certificates", f"{path} expired on {ends:%Y-%m-%d %H:%M} UTC", "Put a new one in its place.")
        elif left < _SOON_SECONDS:
            yield warning("certificates", said, "Renew it.")
        else:
            yield ok("certificates", said)


def servers(deployment: Deployment) -> Iterator[Finding]:
    """Examine whether further servers in the settings accept connections."""
    named = [one for service in deployment.services.values() for one in service.servers]
    for purpose, url in named:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 6379
        try:
            with socket.create_connection((host, port), _CONNECT_SECONDS) as plain:
                if parts.scheme == "rediss":
                    _greet(plain, host, dict(parse_qsl(parts.query)))
        except ssl.SSLCertVerificationError as error:
            why = f"the certificate of {host}:{port} is not accepted: {error.verify_message}"
            yield broken(purpose, why, "Set ssl_ca_certs and the host in its URL right.")
        except ssl.SSLError as error:
            yield _unknown(purpose, f"{host}:{port}", error.reason or "it hangs up")
        except (ConnectionResetError, BrokenPipeError):  # the server's message is lost when it crosses ours
            yield _unknown(purpose, f"{host}:{port}", "it hangs up")
        except OSError as error:
            if error.filename:
                yield broken(purpose, f"{error.filename}: {error.strerror}", "Set its URL right.")
                continue
            yield broken(
                purpose,
                f"{host}:{port} does not answer: {error.strerror or type(error).__name__}",
                "Start it, or set its address right.",
            )
        else:
            yield ok(purpose, f"{host}:{port} answers")


def _unknown(purpose: str, server: str, why: str) -> Finding:
    said = f"{server} refuses this certificate, or that there is none: {why}"
    return broken(purpose, said, "Set ssl_certfile and ssl_keyfile in its URL right.")


def _greet(plain: socket.socket, host: str, said: Mapping[str, str]) -> None:
    """Open TLS as a Redis URL says, and wait for a reply: a server refuses our certificate after the handshake."""
    context = ssl.create_default_context(cafile=said.get("ssl_ca_certs"))
    context.check_hostname = said.get("ssl_check_hostname", "true").lower() not in ("0", "f", "false", "n", "no")
    if said.get("ssl_cert_reqs") == "none":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if "ssl_certfile" in said:
        context.load_cert_chain(said["ssl_certfile"], said.get("ssl_keyfile"), password="")
    with context.wrap_socket(plain, server_hostname=host) as secured:
        secured.sendall(b"PING\r\n")
        if not secured.recv(64):
            raise ConnectionResetError
