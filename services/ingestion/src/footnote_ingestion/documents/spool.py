"""Temporary files for uploads: written as the bytes arrive, and deleted when the call ends in any way."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec
from uuid import uuid4

from footnote_database.cancel_safe import outcome
from footnote_kit.errors import InvalidArgument
from footnote_kit.hints import ERROR_HINTS, FAILURE_HINTS

from footnote_ingestion.worker.isolation import remove_boxes

P = ParamSpec("P")

_BUFFER = 1024 * 1024
_MIB = 1024 * 1024
_STALE_SECONDS = 24 * 3600.0
_held: dict[Path, int] = {}


@dataclass(frozen=True, slots=True)
class Received:
    """A completely received file: its temporary path, size in bytes, and SHA-256 in lower-case hexadecimal."""

    path: Path
    size: int
    sha256: str


def prepare(folder: Path) -> Path:
    """Make this process's own folder in `folder`; delete those of killed processes and their workers after a day.

    Other replicas may share the disk, be idle for a day, or have another clock: each holds a lock on its folder.
    """
    own = folder / uuid4().hex
    own.mkdir(mode=0o700, parents=True)
    if (held := _locked(own)) is not None:
        _held[own] = held
    for other in folder.iterdir():
        if other.stat().st_mtime < time.time() - _STALE_SECONDS and (lock := _locked(other)) is not None:
            remove_boxes(other)
            shutil.rmtree(other, ignore_errors=True)
            os.close(lock)
    return own


async def remove(folder: Path) -> None:
    """Remove the folder that `prepare` has made."""
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    if (held := _held.pop(folder, None)) is not None:
        os.close(held)


def _locked(folder: Path) -> int | None:
    """Return a descriptor with the lock on a folder; None if another process holds it, or the folder is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


async def in_thread(write: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
    """Run a write in a thread. Cancellation is raised only after it has ended, so that no file appears afterwards."""
    await outcome(asyncio.ensure_future(asyncio.to_thread(write, *given, **named)))


@asynccontextmanager
async def temporary(folder: Path) -> AsyncIterator[Path]:
    """Yield a path for a file that is deleted at the end of the block."""
    path = folder / uuid4().hex
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@asynccontextmanager
async def receive(parts: AsyncIterator[bytes], max_bytes: int, folder: Path) -> AsyncIterator[Received]:
    """Yield the parts as one file for the duration of the block; raises FILE_EMPTY or FILE_TOO_LARGE."""
    async with temporary(folder) as path:
        digest = hashlib.sha256()
        size = 0
        buffer = bytearray()
        async for part in parts:
            size += len(part)
            if size > max_bytes:
                raise too_large(max_bytes)
            buffer += part
            if len(buffer) >= _BUFFER:
                await in_thread(_append, path, bytes(buffer), digest)
                buffer.clear()
        if not size:
            raise empty()
        await in_thread(_append, path, bytes(buffer), digest)
        yield Received(path, size, digest.hexdigest())


@asynccontextmanager
async def keep(files: Iterable[bytes], folder: Path) -> AsyncIterator[list[Received]]:
    """Yield whole small files as files on disk for the duration of the block."""
    received: list[Received] = []
    try:
        await in_thread(_write_all, list(files), folder, received)
        yield received
    finally:
        for one in received:
            one.path.unlink(missing_ok=True)


def _write_all(files: Sequence[bytes], folder: Path, received: list[Received]) -> None:
    for data in files:
        one = Received(folder / uuid4().hex, len(data), hashlib.sha256(data).hexdigest())
        received.append(one)
        one.path.write_bytes(data)


def empty() -> InvalidArgument:
    """Return the error for a file without bytes."""
    return InvalidArgument("The file is empty", reason="FILE_EMPTY", metadata={"hint": ERROR_HINTS["FILE_EMPTY"]})


def too_large(max_bytes: int) -> InvalidArgument:
    """Return the error for a file over the size limit."""
    limit = f"{max_bytes / _MIB:g} MiB" if max_bytes >= _MIB else f"{max_bytes} bytes"
    return InvalidArgument(
        f"The file is larger than the {limit} allowed",
        reason="FILE_TOO_LARGE",
        metadata={
            "max_bytes": str(max_bytes),
            "failure_reason": "TOO_LARGE",
            "hint": FAILURE_HINTS["TOO_LARGE"],
        },
    )


def _append(path: Path, data: bytes, digest: hashlib._Hash) -> None:
    digest.update(data)
    with path.open("ab") as file:
        file.write(data)
