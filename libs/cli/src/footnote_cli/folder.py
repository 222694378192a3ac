"""The data folder of a deployment: its lock, and the addresses of its services."""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from footnote_cli import addresses

ADDRESSES = "addresses.json"


class FolderInUse(Exception):
    """Another process serves from this folder; the message says which one."""


@contextmanager
def locked(data_dir: Path, services: Iterable[str]) -> Iterator[None]:
    """Hold the folder for these services; FolderInUse if another process does. The kernel releases it on a crash."""
    folder = data_dir / "locks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    held: list[int] = []
    try:
        for service in sorted(services):
            descriptor = os.open(folder / f"{service}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.append(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = addresses.pid_of(os.read(descriptor, 64).decode(errors="replace")) or "unknown"
                raise FolderInUse(
                    f"{data_dir} is in use: process {owner} serves {service} from it. "
                    "Stop that one, or choose another folder with --data-dir."
                ) from None
            os.ftruncate(descriptor, 0)
            os.write(descriptor, addresses.mark().encode())
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


@contextmanager
def _exclusive(data_dir: Path) -> Iterator[None]:
    """Lock the address file against other processes."""
    folder = data_dir / "locks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "addresses.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def read_addresses(data_dir: Path) -> dict[str, str]:
    """Return address by stage as written by the processes that serve from the folder; empty for none."""
    try:
        found = json.loads((data_dir / ADDRESSES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def publish(data_dir: Path, addresses: Mapping[str, str], alone: bool = False) -> None:
    """Add this process's addresses to the file; readers see the old or the new one, never half.

    `alone`: this process is the whole deployment, so other entries in the file are from a killed one.
    """
    with _exclusive(data_dir):
        _write(data_dir, {**({} if alone else read_addresses(data_dir)), **addresses})


def withdraw(data_dir: Path, addresses: Mapping[str, str]) -> None:
    """Remove this process's addresses from the file, and delete the file when it is empty."""
    with _exclusive(data_dir):
        left = {key: value for key, value in read_addresses(data_dir).items() if addresses.get(key) != value}
        if left:
            _write(data_dir, left)
        else:
            (data_dir / ADDRESSES).unlink(missing_ok=True)


def _write(data_dir: Path, addresses: Mapping[str, str]) -> None:
    temporary = data_dir / f".{ADDRESSES}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(json.dumps(dict(addresses), indent=2) + "\n")
    temporary.replace(data_dir / ADDRESSES)
