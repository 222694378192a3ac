"""A number in a file that changes with every write of a service, for services of this machine that remember answers.

Who remembers an answer looks at the number before it is used again, which costs a look at memory in place of a call:
what was written before is seen at once, whoever wrote it. One writes, any number read; in one process or in several.
"""

import hashlib
import mmap
import os
import secrets
import stat
from pathlib import Path

FILE = "epoch"
"""Name of the file in the writer's folder."""
COLLECTIONS_FILE = "collections_epoch"
"""Name of indexing's second one: what is written on a document's way, from its first chunk to its last, leaves it."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PART = 8  # bytes of each of the three: which machine, which launch of the writer, how many writes
_SIZE = 3 * _PART


class Epoch:
    """The writer's side. Names of epochs are opaque: they are equal or they are not."""

    def __init__(self, path: Path) -> None:
        """Begin a new launch in a file, made if it is not there; without this machine's name it stays unshared."""
        self._launch = secrets.token_bytes(_PART)
        self._count = 0
        self._shared: mmap.mmap | None = None
        machine = _machine()
        if machine is None:
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never replaced by another file: whoever reads the old one would not see it change.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size != _SIZE:
                os.ftruncate(descriptor, _SIZE)
            self._shared = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        # The launch first: an epoch that is half the old and half the new one is no epoch that anybody was told.
        self._shared[_PART : 2 * _PART] = self._launch
        self._shared[2 * _PART :] = bytes(_PART)
        self._shared[:_PART] = machine

    @property
    def name(self) -> str:
        """The current epoch."""
        return f"{self._launch.hex()}{self._count:016x}"

    def advance(self) -> None:
        """Begin another epoch; what was remembered of those before is good no more."""
        self._count += 1
        if self._shared is not None:
            self._shared[2 * _PART :] = self._count.to_bytes(_PART, "big")

    def close(self) -> None:
        """Tell readers that nobody counts any more."""
        if self._shared is not None:
            self._shared[:] = bytes(_SIZE)
            self._shared.close()
            self._shared = None


class EpochReader:
    """The readers' side: looks at the file of a writer that may start later, elsewhere or never."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._machine = _machine()
        self._shared: mmap.mmap | None = None
        self._descriptor = -1

    def current(self) -> str | None:
        """Return the name of the writer's current epoch; None where it cannot be known, so that one has to ask."""
        if self._shared is None and not self._open():
            return None
        assert self._shared is not None
        if os.fstat(self._descriptor).st_nlink == 0:  # the folder was cleared away under us
            self._let_go()
            return None
        content = self._shared[:]
        return content[_PART:].hex() if content[:_PART] == self._machine else None

    async def close(self) -> None:
        """Let go of the file, as the last a service does."""
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
    """Return where a stage that is served on this machine keeps its epoch."""
    return data_dir / stage / file


def _machine() -> bytes | None:
    """Return what tells this kernel from others, which do not share its memory of a file; None where nothing does."""
    try:
        return hashlib.sha256(_BOOT.read_bytes()).digest()[:_PART]
    except OSError:
        return None
