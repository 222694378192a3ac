"""A shared-memory counter that changes with every write of a service, so that local readers can validate caches.

A reader compares the epoch before it uses a cached response. This costs a memory read instead of a call, and shows
every earlier write at once. One process writes; any number of processes read. A response
carries its epochs in its trailing metadata.

Services of one deployment cache responses by these epochs. No contract has them: a third-party stage sends none, and
its callers ask each time.
"""

import hashlib
import mmap
import os
import secrets
import stat
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from footnote_kit.context import Call

FILE = "epoch"
"""The file's name in the writer's folder."""
COLLECTIONS_FILE = "collections_epoch"
"""The name of indexing's second epoch file. Writes during a document's ingestion, from its first chunk to its last,
do not change it."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PART = 8  # bytes of each of the three parts: machine, launch of the writer, number of writes
_SIZE = 3 * _PART


class Epoch:
    """The writer's side. Epoch names are opaque: two are equal or different."""

    def __init__(self, path: Path) -> None:
        """Begin a new launch in a file, created if missing; without a machine id the epoch stays unshared."""
        self._launch = secrets.token_bytes(_PART)
        self._count = 0
        self._shared: mmap.mmap | None = None
        machine = _machine()
        if machine is None:
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file is never replaced: readers of the old one would not see changes.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size != _SIZE:
                os.ftruncate(descriptor, _SIZE)
            self._shared = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        # The launch first: a mix of old and new bytes must not equal any epoch that was handed out.
        self._shared[_PART : 2 * _PART] = self._launch
        self._shared[2 * _PART :] = bytes(_PART)
        self._shared[:_PART] = machine

    @property
    def name(self) -> str:
        """The current epoch's name."""
        return f"{self._launch.hex()}{self._count:016x}"

    def advance(self) -> None:
        """Begin a new epoch, which invalidates everything cached in earlier ones."""
        self._count += 1
        if self._shared is not None:
            self._shared[2 * _PART :] = self._count.to_bytes(_PART, "big")

    def close(self) -> None:
        """Mark the epoch as abandoned for readers."""
        if self._shared is not None:
            self._shared[:] = bytes(_SIZE)
            self._shared.close()
            self._shared = None


class EpochReader:
    """The reader's side: reads the file of a writer that may start later, on another machine, or never."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._machine = _machine()
        self._shared: mmap.mmap | None = None
        self._descriptor = -1

    def current(self) -> str | None:
        """Return the writer's current epoch; None when it is unknown, so that the reader has to call the service."""
        if self._shared is None and not self._open():
            return None
        assert self._shared is not None
        if os.fstat(self._descriptor).st_nlink == 0:  # the folder was deleted meanwhile
            self._let_go()
            return None
        content = self._shared[:]
        return content[_PART:].hex() if content[:_PART] == self._machine else None

    async def close(self) -> None:
        """Close the file; a service does this last."""
        self._let_go()

    def _let_go(self) -> None:
        if self._shared is not None:
            self._shared.close()
            os.close(self._descriptor)
            self._shared, self._descriptor = None, -1

    def _open(self) -> bool:
        if self._machine is None:
            return False
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        found = os.fstat(descriptor)
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size == _SIZE
        if not own:
            os.close(descriptor)
            return False
        self._shared = mmap.mmap(descriptor, _SIZE, access=mmap.ACCESS_READ)
        self._descriptor = descriptor
        return True


def path_of(data_dir: Path, stage: str, file: str = FILE) -> Path:
    """Return the path of a local stage's epoch file."""
    return data_dir / stage / file


def _machine() -> bytes | None:
    """Return an id of this kernel, since other kernels do not share its file memory; None when there is none."""
    try:
        return hashlib.sha256(_BOOT.read_bytes()).digest()[:_PART]
    except OSError:
        return None


EPOCH_KEY = "x-footnote-epoch"
COLLECTIONS_EPOCH_KEY = "x-footnote-collections-epoch"

Response = TypeVar("Response", covariant=True)


@dataclass(frozen=True, slots=True)
class Epochs:
    """Names of the epochs in which a response holds; "" for none."""

    epoch: str = ""
    collections: str = ""


class EpochCall(Awaitable[Response], Protocol[Response]):
    """A call to a stage, as its stub returns it."""

    async def trailing_metadata(self) -> Any:
        """Return the metadata that follows the response."""


def send(context: Call, epochs: Epochs) -> None:
    """Send the epochs in which the response of this call holds, beside the metadata that is set already."""
    said = ((EPOCH_KEY, epochs.epoch), (COLLECTIONS_EPOCH_KEY, epochs.collections))
    context.set_trailing_metadata((*(context.trailing_metadata() or ()), *(pair for pair in said if pair[1])))


async def received(call: EpochCall[Response]) -> tuple[Response, Epochs]:
    """Return a call's response, and the epochs in which it holds."""
    response = await call
    sent = {key: value for key, value in await call.trailing_metadata() or () if isinstance(value, str)}
    return response, Epochs(sent.get(EPOCH_KEY, ""), sent.get(COLLECTIONS_EPOCH_KEY, ""))
