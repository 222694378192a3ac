"""Parts that live outside of this repository: what other packages add by entry points."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.metadata import entry_points
from typing import TypeVar

from footnote_kit.errors import FootnoteError

T = TypeVar("T")


def installed(
    group: str,
    kind: type[T],
    id_of: Callable[[T], str],
    taken: Collection[str],
    wrong: Callable[[T], str] = lambda part: "",
) -> dict[str, T]:
    """Return what installed packages register in a group, by id.

    One that cannot be loaded, is of another type, has an id that is `taken` (ours, or a package's before it), or of
    which `wrong` has something to say is left out with a warning in the log: a package that somebody installs never
    replaces what is there.
    """
    found: dict[str, T] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            part = entry.load()
        except Exception as error:  # whatever a stranger's module raises
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
    # Loaded on demand: the processes that read files and cut documents keep no log, nor the 14 MB that it takes.
    from footnote_kit.logs import get_logger

    get_logger("footnote.plugins").warning("plugin_ignored", group=group, entry_point=name, reason=reason)
