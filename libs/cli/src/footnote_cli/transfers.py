"""Reads files for uploads and writes downloads, off the event loop; a download that breaks leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from footnote_cli.errors import CommandError, usage_error

# The largest part the contract allows.
PART_SIZE = 256 * 1024


async def read_parts(path: Path) -> AsyncIterator[bytes]:
    """Yield a file's bytes in parts; nothing for an empty file. Raises OSError where it cannot be read."""
    file: BinaryIO = await asyncio.to_thread(path.open, "rb")
    with file:
        while data := await asyncio.to_thread(file.read, PART_SIZE):
            yield data


class Download:
    """A file being written: under a name of its own until it is whole."""

    def __init__(self, output: Path, *, force: bool) -> None:
        self._output = output
        self._force = force
        self._partial: Path | None = None
        self.target = output
        self.size = 0

    def write(self, filename: str, data: bytes) -> None:
        """Write the next part; `filename` is the server's name for the file, on the first part. Raises CommandError."""
        try:
            if self._partial is None:
                self._partial = self._begin(filename)
            with self._partial.open("ab") as file:
                file.write(data)
        except OSError as error:
            problem = f"{error.filename or self.target} cannot be written: {error.strerror}"
            raise CommandError(problem, "Give another --output.") from error
        self.size += len(data)

    def finish(self) -> None:
        """Give the file its name. Raises CommandError when nothing came."""
        if self._partial is None:
            raise CommandError("The server sent nothing.", "Try again.")
        self._partial.replace(self.target)

    def abandon(self) -> None:
        """Remove what was written unless it is finished."""
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)

    def _begin(self, filename: str) -> Path:
        # The server keeps the last path segment only; taking it again here trusts nobody.
        name = Path(filename.replace("\\", "/")).name or "document"
        self.target = self._output / name if self._output.is_dir() else self._output
        if self.target.exists() and not self._force:
            raise usage_error(f"{self.target} is there already.", "Write over it with --force, or give --output.")
        partial = self.target.with_name(self.target.name + ".part")
        partial.write_bytes(b"")
        return partial
