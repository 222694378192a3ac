"""Finds the files a command was given: files, folders, patterns."""

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path

from footnote_cli.errors import usage_error


def find_files(paths: Iterable[str]) -> list[Path]:
    """Return the files meant by paths, folders (all in them that isn't hidden) and patterns, each once.

    Files are sorted within a folder. Raises CommandError with exit code 2 for a path that isn't there.
    """
    found: dict[Path, Path] = {}
    for text in paths:
        for file in _expand(text):
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _expand(text: str) -> Sequence[Path]:
    path = Path(text).expanduser()
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
    if path.exists():
        return [path]
    if glob.has_magic(text):
        matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207 - the pattern may be absolute
        files = [file for match in matches for file in (_expand(str(match)) if match.is_dir() else [match])]
        if files:
            return files
        raise usage_error(
            f"No file matches {text}.", "Check the pattern, and quote it so that the shell leaves it alone."
        )
    raise usage_error(f"There is no file or folder {text}.", "Check the path.")


def _hidden(relative: Path) -> bool:
    return any(part.startswith(".") for part in relative.parts)
