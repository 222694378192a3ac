"""Reads uploads and writes downloads off the event loop; a broken download leaves no file behind."""

import asyncio
import os
import secrets
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from footnote.client.uploads import PART_SIZE
from footnote_kit.printable import printable_line

from footnote_cli.errors import CommandError, usage_error

_LONGEST_NAME = 200  # bytes
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


async def read_parts(path: Path, *, follow_symlinks: bool = True) -> AsyncIterator[bytes]:
    """Yield a file's bytes in parts; nothing for an empty file. Raises OSError if it cannot be read.

    Without `follow_symlinks`, a file that has become a link since it was checked is not read.
    """

    def opened() -> BinaryIO:
        return os.fdopen(os.open(path, os.O_RDONLY | (0 if follow_symlinks else _NO_FOLLOW)), "rb")

    file: BinaryIO = await asyncio.to_thread(opened)
    with file:
        while data := await asyncio.to_thread(file.read, PART_SIZE):
            yield data


class Download:
    """A file being written: under a temporary name until it is complete, and never through a symbolic link."""

    def __init__(self, output: Path, *, force: bool) -> None:
        self._output = output
        self._force = force
        self._partial: Path | None = None
        self._file: BinaryIO | None = None
        self.target = output
        self.size = 0

    def write(self, filename: str, data: bytes) -> None:
        """Write the next part; `filename` is the server's name for the file, on the first part. Raises CommandError."""
        try:
            if self._file is None:
                self._begin(filename)
            assert self._file is not None
            self._file.write(data)
        except OSError as error:
            raise self._failed(error) from error
        self.size += len(data)

    def finish(self) -> None:
        """Give the file its name. Raises CommandError if nothing was received, or the name was taken meanwhile."""
        if self._file is None or self._partial is None:
            raise CommandError("The server sent nothing.", "Try again.")
        try:
            self._file.close()
            if self._force:
                self._check()
                self._partial.replace(self.target)  # replaces the name itself: even a link there would not be followed
            else:
                self._name_once(self._partial)
        except OSError as error:
            raise self._failed(error) from error

    def abandon(self) -> None:
        """Delete the partial file unless it is finished."""
        if self._file is not None:
            self._file.close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)

    def _begin(self, filename: str) -> None:
        self.target = self._output / safe_name(filename) if self._output.is_dir() else self._output
        self._check()
        partial = self.target.with_name(f".{secrets.token_hex(8)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
        self._file = os.fdopen(os.open(partial, flags, 0o666), "wb")
        self._partial = partial

    def _check(self) -> None:
        """Raise CommandError if the name is taken, or taken by something that must not be overwritten."""
        try:
            mode = os.lstat(self.target).st_mode
        except FileNotFoundError:
            return
        if not self._force:
            raise self._taken()
        if not stat.S_ISREG(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "no ordinary file"
            raise usage_error(f"{self.target} is {kind}.", "Give the file itself with --output.")

    def _name_once(self, partial: Path) -> None:
        try:
            os.link(partial, self.target, follow_symlinks=False)
        except FileExistsError:
            raise self._taken() from None
        except OSError:
            # A file system without hard links: reserve the name first, then rename the file to it.
            try:
                os.close(os.open(self.target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o666))
            except FileExistsError:
                raise self._taken() from None
            partial.replace(self.target)

    def _taken(self) -> CommandError:
        return usage_error(f"{self.target} is there already.", "Write over it with --force, or give --output.")

    def _failed(self, error: OSError) -> CommandError:
        problem = f"{error.filename or self.target} cannot be written: {error.strerror}"
        return CommandError(problem, "Give another --output.")


def safe_name(filename: str) -> str:
    """Return a server's file name as one that stays inside the target folder, and displays as it is."""
    # The server keeps the last path segment only; this does not rely on the server.
    name = printable_line(filename.replace("\\", "/").rpartition("/")[2]).strip()
    stem, suffix = Path(name).stem, Path(name).suffix
    room = _LONGEST_NAME - len(suffix.encode())
    if room <= 0:
        stem, suffix, room = name, "", _LONGEST_NAME
    with suppress(UnicodeError):
        name = stem.encode()[:room].decode(errors="ignore") + suffix
    return name if name.strip(". ") else "document"
