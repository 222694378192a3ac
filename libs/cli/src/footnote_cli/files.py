"""Finds the files a command was given: files, folders, patterns; follows symbolic links only on request."""
# ruff: noqa: PTH110, PTH111, PTH112, PTH113, PTH114, PTH116, PTH118 - for files without permission pathlib raises

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from footnote_cli.errors import usage_error


@dataclass(frozen=True, slots=True)
class Found:
    """The files, without duplicates; the skipped symbolic links; folders that cannot be read, and links to nothing."""

    files: Sequence[Path]
    links: Sequence[Path]
    unread: Sequence[Path]


def find_files(paths: Iterable[str], *, follow_symlinks: bool = False) -> Found:
    """Return the files for paths, folders (everything in them that isn't hidden) and patterns.

    Files are sorted within a folder. A link can lead outside the named paths, to a key or to other users' files. So
    links are skipped, even those that the shell expanded from a pattern. Raises CommandError with exit code 2 for a
    missing path.
    """
    found: dict[Path, Path] = {}
    links: dict[Path, None] = {}
    unread: dict[Path, None] = {}
    for text in paths:
        for file in _expand(text, follow_symlinks, unread):
            if os.path.islink(file) and not follow_symlinks:
                links.setdefault(file)
            else:
                found.setdefault(file.resolve(), file)
    return Found(list(found.values()), list(links), list(unread))


def _expand(text: str, follow: bool, unread: dict[Path, None]) -> Iterable[Path]:
    """Return files, and links if they are not to be followed; add what cannot be read to `unread`."""
    path = Path(os.path.expanduser(text))
    if os.path.islink(path) and not follow:
        return [path]
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise usage_error(f"{text} cannot be read: {error.strerror}.", "Check the path, and its permissions.") from None
    else:
        return _walk(path, follow, unread) if stat.S_ISDIR(mode) else [path]
    if glob.has_magic(text):
        before = len(unread)
        files = list(_matches(path, follow, unread))
        if files or len(unread) > before:
            return files
        raise usage_error(
            f"No file matches {text}.", "Check the pattern, and quote it so that the shell leaves it alone."
        )
    raise usage_error(f"There is no file or folder {text}.", "Check the path.")


def _walk(folder: Path, follow: bool, unread: dict[Path, None]) -> list[Path]:
    """Return the visible files under a folder, and the links; a folder is entered once, with or without links."""
    result: list[Path] = []
    entered: set[tuple[int, int]] = set()

    def failed(error: OSError) -> None:
        unread.setdefault(Path(error.filename))

    for place, folders, files in os.walk(folder, onerror=failed, followlinks=follow):
        try:
            status = os.stat(os.path.join(place, os.curdir))  # fails where the folder can be listed, but not entered
        except OSError:
            unread.setdefault(Path(place))
            folders.clear()
            continue
        if (status.st_dev, status.st_ino) in entered:
            folders.clear()
            continue
        entered.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = [Path(place, name) for name in files if not name.startswith(".")]
        result += (file for file in inside if os.path.isfile(file) or (os.path.islink(file) and not follow))
        if follow:
            unread.update((file, None) for file in inside if os.path.islink(file) and not os.path.exists(file))
        else:
            result += (link for name in folders if os.path.islink(link := Path(place, name)))
    return sorted(result)


def _matches(pattern: Path, follow: bool, unread: dict[Path, None]) -> Iterator[Path]:
    """Yield a pattern's matches and the files in matching folders; a link stands for the files behind it."""
    parts = pattern.parts
    fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:fixed])
    dotted = any(part.startswith(".") for part in parts[fixed:])
    for match in sorted(root.glob(str(Path(*parts[fixed:])))):
        if not dotted and any(part.startswith(".") for part in match.relative_to(root).parts):
            continue
        link = None if follow else _first_link(root, match)
        if link is not None:
            yield link
        elif os.path.isdir(match):
            yield from _walk(match, follow, unread)
        else:
            yield match


def _first_link(root: Path, match: Path) -> Path | None:
    """Return the first link on the path from a folder to something in it."""
    way = root
    for part in match.relative_to(root).parts:
        way = way / part
        if os.path.islink(way):
            return way
    return None
