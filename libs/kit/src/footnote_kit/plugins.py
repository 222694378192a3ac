"""Plugins: parts that other packages register by entry points."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from importlib import metadata
from typing import Any, TypeVar

from footnote_kit.errors import FootnoteError

T = TypeVar("T")


def entry_points(group: str) -> metadata.EntryPoints:
    """Return a group's entry points. Installed packages are read once: a launch does so for all its processes."""
    found: metadata.EntryPoints = _all_entry_points().select(group=group)
    return found


@cache
def _all_entry_points() -> Any:  # a class of its own before Python 3.12
    return metadata.entry_points()


def installed(
    group: str,
    kind: type[T],
    id_of: Callable[[T], str],
    taken: Collection[str],
    wrong: Callable[[T], str] = lambda part: "",
) -> dict[str, T]:
    """Return the valid parts that installed packages register in a group, by id.

    A part is skipped with a warning in the log when it cannot be loaded or has another type. It is also skipped when
    its id is in `taken` or used by an earlier package, or when `wrong` returns a problem. An installed package thus
    never replaces an existing part.
    """
    found: dict[str, T] = {}
    for entry in sorted(entry_points(group), key=lambda entry: (entry.name, entry.value)):
        try:
            part = entry.load()
        except Exception as error:  # a foreign module can raise anything
            said = f": {error.message}" if isinstance(error, FootnoteError) else ""
            _ignored(group, entry.name, f"cannot be loaded: {type(error).__name__}{said}")
            continue
        if not isinstance(part, kind):
            _ignored(group, entry.name, f"is no {kind.__module__}.{kind.__qualname__}")
        elif id_of(part) in taken or id_of(part) in found:
            _ignored(group, entry.name, f"{id_of(part)!r} is there already")
        elif problem := wrong(part):
            _ignored(group, entry.name, problem)
        else:
            found[id_of(part)] = part
    return found


def _ignored(group: str, name: str, reason: str) -> None:
    # Imported on demand: the processes that parse and chunk documents keep no log, and save the 14 MB it takes.
    from footnote_kit.logs import get_logger

    get_logger("footnote.plugins").warning("plugin_ignored", group=group, entry_point=name, reason=reason)
