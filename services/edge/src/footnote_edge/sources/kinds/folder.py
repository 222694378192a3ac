"""Server folders that the operator allows. Links are not followed: they would lead out of the folder."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urljoin

from pydantic import Field

from footnote_edge.sources.kinds.folder_watch import FolderWatch
from footnote_edge.sources.opened_file import opened
from footnote_edge.sources.patterns import Selecting, file_name, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Opening,
    Page,
    Remember,
    SourceKind,
    SourceRefused,
    SourceUnavailable,
)

_PAGE = 500
_PART = 256 * 1024
_IDENTITY = "root"
"""File with device and inode of the folder that was listed last."""
_EMPTY = "The folder is empty: its mount may be missing. If it is meant to be empty, put a file named .keep into it."
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FolderSettings(Selecting):
    """Settings of a folder source."""

    path: str = Field(min_length=1, max_length=1000, description="Absolute path of the folder on the server.")
    hidden: bool = Field(default=False, description="Also files and folders whose names begin with a dot.")
    base_address: str = Field(
        default="", max_length=1000, description="Address under which people find the folder, for footnotes."
    )


class FolderConnection:
    """Lists and reads one folder."""

    def __init__(self, opening: Opening) -> None:
        self._settings: FolderSettings = opening.settings
        self._opening = opening
        self._unread: list[str] = []
        self._links = 0

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the files of the folder; an unreadable subfolder makes the listing partial.

        Raises SourceUnavailable for an empty folder in the place of one that was listed before: it may be that of a
        mount that is missing.
        """
        root = await asyncio.to_thread(_root, self._opening)
        await asyncio.to_thread(self._check_mounted, root)
        walk = self._walk(root, "")
        while items := await asyncio.to_thread(_some, walk):
            yield Page(items)
        links = f"{self._links} links were left out: they may lead out of the folder."
        partial = f"These folders cannot be read: {', '.join(self._unread[:5])}." if self._unread else ""
        yield Page(partial=partial, warnings=[links] if self._links else [])

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield a file's bytes; raises ItemGone and ItemFailed."""
        async with opened(lambda: os.fdopen(self._open(item.id), "rb")) as handle:
            while part := await asyncio.to_thread(handle.read, _PART):
                yield part

    async def close(self) -> None:
        """Nothing to close."""

    def _check_mounted(self, root: Path) -> None:
        known = self._opening.folder / _IDENTITY
        try:
            found, entries = root.stat(), any(root.iterdir())
        except OSError:
            raise SourceUnavailable("The folder cannot be read.") from None
        identity = f"{found.st_dev} {found.st_ino}"
        if not entries and self._opening.was_in_step and not (known.exists() and known.read_text() == identity):
            raise SourceUnavailable(_EMPTY)
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(identity)

    def _walk(self, root: Path, below: str) -> Iterator[Item]:
        try:
            with os.scandir(root / below) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            if not below:
                raise SourceUnavailable("The folder cannot be read.") from None
            self._unread.append(below)
            return
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name.startswith(".") and not self._settings.hidden:
                continue
            if entry.is_symlink():
                self._links += 1
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(root, path)
            elif entry.is_file(follow_symlinks=False) and wanted(path, self._settings.include, self._settings.exclude):
                try:
                    yield self._item(path, entry.stat(follow_symlinks=False))
                except OSError:
                    continue  # deleted during the listing
                except UnicodeError:
                    self._unread.append(below or ".")

    def _item(self, path: str, found: os.stat_result) -> Item:
        path.encode("utf-8")
        address = urljoin(self._settings.base_address, quote(path)) if self._settings.base_address else ""
        version = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
        return Item(path, version, file_name(path), size=found.st_size, address=address)

    def _open(self, path: str) -> int:
        """Open a file below the folder, one path component after the other, without following links."""
        parts = path.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise ItemFailed("ADDRESS", "It is not a file in the folder.", permanent=True)
        folder = os.open(_root(self._opening), _DIRECTORY)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            file = os.open(parts[-1], _FILE, dir_fd=folder)
        except FileNotFoundError:
            raise ItemGone from None
        except OSError as error:
            raise ItemFailed("REFUSED", f"It cannot be read: {error.strerror}.") from None
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ItemFailed("UNSUPPORTED", "It is not a regular file.", permanent=True)
        return file


def _root(opening: Opening) -> Path:
    root = opening.policy.folder_for(opening.tenant_id, opening.settings.path)
    if root is None:
        raise SourceRefused("The operator does not allow sources to read this folder.")
    if not root.is_dir():
        raise SourceUnavailable("The folder does not exist.")
    return root


def _watch(opening: Opening, changed: Callable[[], None]) -> FolderWatch:
    return FolderWatch(_root(opening), changed)


def _some(walk: Iterator[Item]) -> list[Item]:
    return [item for _, item in zip(range(_PAGE), walk, strict=False)]


FOLDER = SourceKind("folder", "Folder of the server", FolderSettings, FolderConnection, watch=_watch)
