"""Examines what a deployment stands on: its folder, room on the disk, the clock, versions, certificates, servers."""

import os
import platform
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from footnote_kit.settings import KitSettings

from footnote_cli.admin.findings import Finding, broken, ok, warning
from footnote_cli.admin.places import Places

SCARCE, LITTLE = 200 * 1024 * 1024, 2 * 1024 * 1024 * 1024
"""Bytes of free space below which nothing works for long, and below which it is time to think."""
_AHEAD_SECONDS = 300.0
_SOON_SECONDS = 14 * 86400.0
_CONNECT_SECONDS = 3.0
_OTHERS = 0o077


def versions() -> Iterator[Finding]:
    """Look at the versions of Python and of what is installed."""
    yield ok("version", f"Footnote {metadata.version('footnote')}, Python {platform.python_version()}")


def folder(path: Path) -> Iterator[Finding]:
    """Look whether the data folder is there, can be written to, and is nobody else's to read."""
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
        yield ok("data folder", f"{path} is ours alone and can be written to")


def space(path: Path, free: int | None = None) -> Iterator[Finding]:
    """Look at the room on the disk; `free` is bytes, asked of the system where not given."""
    left = shutil.disk_usage(path).free if free is None else free
    said = f"{left // (1024 * 1024)} MiB are free on the disk of {path}"
    if left < SCARCE:
        yield broken("space", said, "Make room, or move the folder to a larger disk: writes will be refused.")
    elif left < LITTLE:
        yield warning("space", said, "Make room soon: a backup or a compaction needs as much as is stored.")
    else:
        yield ok("space", said)


def clock(path: Path, now: float | None = None) -> Iterator[Finding]:
    """Look whether the clock is behind what was written already; `now` is Unix seconds."""
    moment = time.time() if now is None else now
    newest = max((one.stat().st_mtime for one in path.rglob("*.db")), default=0.0)
    said = f"it is {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if newest - moment > _AHEAD_SECONDS:
        yield broken(
            "clock",
            f"{said}, and a database was written {round(newest - moment)} s later than that",
            "Set the clock (with NTP): what expires, leases and keys go by it.",
        )
    else:
        yield ok("clock", said)


def certificates(settings: KitSettings, now: datetime | None = None) -> Iterator[Finding]:
    """Look whether the certificates can be read and are good."""
    moment = now or datetime.now(UTC)
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


def servers(where: Places) -> Iterator[Finding]:
    """Look whether further servers that the settings name take connections."""
    named = [one for kept in where.services.values() for one in kept.servers]
    for purpose, url in named:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 6379
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except OSError as error:
            yield broken(
                purpose,
                f"{host}:{port} does not answer: {error.strerror or type(error).__name__}",
                "Start it, or set its address right.",
            )
        else:
            yield ok(purpose, f"{host}:{port} answers")
