"""Watches a folder by the kernel's notifications (inotify), through watchdog. Links are not followed."""

from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserver

from footnote_edge.sources.ports import SourceUnavailable

_CHANGES: list[type[FileSystemEvent]] = [
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent, FileClosedEvent, FileCreatedEvent, FileDeletedEvent,
    FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
"""Events that change a listing; opening and reading a file, as a run does, are not among them."""


class FolderWatch(FileSystemEventHandler):
    """Calls a function after each change below a folder; raises SourceUnavailable if the folder cannot be watched."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        if Observer is PollingObserver:
            raise SourceUnavailable("This system does not report changes of files.")
        self._folder = folder
        self._changed = changed
        self._observer = Observer()
        try:
            self._identity = _identity(folder)
            self._observer.start()
            self._observer.schedule(self, str(folder), recursive=True, event_filter=_CHANGES)
        except OSError as error:
            self.close()
            raise SourceUnavailable(f"The folder cannot be watched: {error.strerror}.") from None

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Report a change."""
        self._changed()

    def works(self) -> bool:
        """Return whether the folder is still the one that is watched: it may have been deleted and created again."""
        try:
            return _identity(self._folder) == self._identity
        except OSError:
            return False

    def close(self) -> None:
        """Stop watching."""
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()


def _identity(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino
