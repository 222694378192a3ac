"""Records the parts of an installation, so that a missing or foreign part is refused instead of recreated empty.

The data folder has a file `installation` with the installation's name, and below `parts` a mark for each part
created. SQLite files carry a tag made from the name in their header (`user_version`); the vector store's folder
carries the name. A data folder with databases and no marks comes from an older release: each of its parts counts as
created. Databases on a server have a mark and no tag, because replicas and separate services may have folders of
their own.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from footnote_kit.app import Runtime
from footnote_kit.errors import FailedPrecondition
from footnote_kit.logs import get_logger

from footnote_database.integrity import sync

NAME = "installation"
_MARKS = "parts"
_EARLIER = ".earlier"
_BEGINNING = "beginning"
_LACKING = "lacking"
_TAG_DIGITS = 8
_CACHES = frozenset({"embeddings.db"})  # refilled automatically

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A part: its name, and a phrase for what is lost with it."""

    name: str
    holds: str


class Parts:
    """The parts of one data folder; parts in `accepted` may be missing or another installation's.

    Checks change nothing, unless they accept what is missing. The other methods write marks, and are safe in several
    processes at once. A mark is on the disk when its method returns.
    """

    def __init__(self, folder: Path, accepted: Collection[str] = ()) -> None:
        self.folder = folder
        self._accepted = frozenset(accepted)

    @classmethod
    def of(cls, runtime: Runtime) -> "Parts":
        """Return the parts of the deployment that a service is built for."""
        return cls(runtime.data_dir, runtime.settings.accept)

    def accepts(self, part: Part) -> bool:
        """Return whether a part is accepted as it is."""
        return part.name in self._accepted

    def check(self, part: Part, what: str, there: bool, restore: str = "put back a copy of it") -> None:
        """Raise FailedPrecondition when a part was created and is missing; `what` is its kind and place.

        An accepted part counts as about to be created from here on, also for starts that do not accept it.
        """
        if there or not self.was_begun(part):
            return
        if not self.accepts(part):
            raise FailedPrecondition(
                f"The {what} is missing, which held {part.holds}: {restore}, with the services stopped, or start with "
                f"--accept {part.name} to go on without what it held."
            )
        self.begin(part)
        _log.warning("missing_part_accepted", part=part.name)

    def check_file(self, part: Part, file: Path) -> None:
        """Raise FailedPrecondition when a SQLite file is missing or belongs to another installation."""
        there = _size(file) > 0
        self.check(part, f"{part.name} database {file}", there)
        tags = {_tag(file), _tag_of(self._known_name())} - {0}
        if there and len(tags) > 1 and not self.accepts(part):
            raise FailedPrecondition(
                f"The {part.name} database {file} is of another installation than {self.folder}: put back the one that "
                f"belongs there, or start with --accept {part.name} to take it over as it is."
            )

    def begin(self, part: Part) -> None:
        """Record that a part is about to be created; a part lost before `note` does not count as missing."""
        self._prepare()
        if not self._mark(part).exists() or (self.accepts(part) and self.was_begun(part)):
            _write(self._mark(part), _BEGINNING)

    def note(self, part: Part, file: Path | None = None) -> None:
        """Record that a part exists, and tag its file as this installation's."""
        name = self.name()
        if file is not None and _tag(file) != _tag_of(name):
            with contextlib.closing(sqlite3.connect(file, timeout=30)) as connection:
                connection.execute(f"PRAGMA user_version={_tag_of(name)}")
        if _read(self._mark(part)) != name:
            self._prepare()
            _write(self._mark(part), name)

    def note_loss(self, part: Part) -> None:
        """Record that a part may lack what others refer to; it lasts over restarts until `forget_loss`."""
        self._prepare()
        _write(self._loss(part), _LACKING)

    def lacks(self, part: Part) -> bool:
        """Return whether a part may lack what others refer to, because its loss was accepted."""
        return self._loss(part).exists()

    def lost_since(self, part: Part) -> int | None:
        """Return when the loss of a part was accepted last, in microseconds since 1970; None if it lacks nothing."""
        with contextlib.suppress(FileNotFoundError):
            return self._loss(part).stat().st_mtime_ns // 1000
        return None

    def forget_loss(self, part: Part) -> None:
        """Record that nothing refers any longer to what a part has lost."""
        with contextlib.suppress(OSError):
            self._loss(part).unlink(missing_ok=True)

    def name(self) -> str:
        """Return the installation's name; if there is none, take the name from a part, or generate one."""
        found = _read(self.folder / NAME)
        if not found:
            _write_once(self.folder / NAME, self._known_name() or uuid4().hex)
            found = _read(self.folder / NAME)
        return found

    def _known_name(self) -> str:
        """Return the folder's name, else a name with the tag of the first tagged part, else ""."""
        found = _read(self.folder / NAME) or next(
            (name for path in sorted(self.folder.glob(f"*/{NAME}")) if (name := _read(path))), ""
        )
        if not found:
            tag = next((tag for file in self._databases() if (tag := _tag(file))), 0)
            found = f"{tag:0{_TAG_DIGITS}x}{uuid4().hex[_TAG_DIGITS:]}" if tag else ""
        return found

    def was_begun(self, part: Part) -> bool:
        """Return whether a part was created before."""
        marks = self.folder / _MARKS
        mark = _read(self._mark(part))
        if mark:
            return mark != _BEGINNING
        # In this order: a process that starts beside this one makes the marks before its database.
        left = any(self._databases())
        return (marks / _EARLIER).exists() if marks.is_dir() else left

    def _databases(self) -> list[Path]:
        found = sorted(self.folder.glob("[!.]*/*.db"))  # no hidden folders: another process may be renaming its own
        return [one for one in found if one.name not in _CACHES and _size(one)]

    def _mark(self, part: Part) -> Path:
        return self.folder / _MARKS / part.name

    def _loss(self, part: Part) -> Path:
        return self.folder / _MARKS / f"{part.name}.{_LACKING}"

    def _prepare(self) -> None:
        """Create the folder of marks atomically, with a note when an earlier release has left parts."""
        marks = self.folder / _MARKS
        if marks.is_dir():
            return
        making = self.folder / f".{_MARKS}-{uuid4().hex}"
        making.mkdir(mode=0o700, parents=True)
        (making / ".kept").touch()  # a rename by another process does not replace a folder that is not empty
        if any(self._databases()):
            (making / _EARLIER).touch()
        try:
            making.rename(marks)
            sync(self.folder)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)


def _size(path: Path) -> int:
    """Return a file's size in bytes; 0 when it is gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _tag_of(name: str) -> int:
    """Return the tag of a name, as much of it as fits into SQLite's header; 0 for none."""
    with contextlib.suppress(ValueError):
        return int(name[:_TAG_DIGITS], 16) & 0x7FFFFFFF
    return 0


def _tag(file: Path) -> int:
    """Return the tag of a SQLite file; 0 when it has none or is unreadable."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return 0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # a folder that this user may not write to
        made = _beside(path, text)
        made.replace(path)
        sync(path.parent)


def _write_once(path: Path, text: str) -> None:
    """Write a file unless another process was first."""
    with contextlib.suppress(OSError):
        made = _beside(path, text)
        try:
            os.link(made, path)
            sync(path.parent)
        finally:
            made.unlink()


def _beside(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}-{uuid4().hex}")
    made.write_text(text + "\n", "utf-8")
    made.chmod(0o600)
    sync(made)
    return made
