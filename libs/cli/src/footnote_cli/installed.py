"""Finds installed services and their offline tools by entry points.

The command imports none of them by name: each registers an entry point, so that one can be left out or replaced by
another package.
"""

from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import entry_points
from typing import Any

from footnote_cli.errors import CommandError

SERVICES = "footnote.services"
"""Services by name: `async (Runtime) -> App`."""
OFFLINE = "footnote.offline"
"""Offline tools on a deployment's own database by name: `async (data_dir) -> (database, the tool)`."""


def found(group: str, name: str) -> Any:
    """Return the entry point with a name. Raises CommandError if there is none."""
    for point in entry_points(group=group, name=name):
        return point.load()
    raise CommandError(
        f"No installed package provides {name!r} ({group}).", "Install all of footnote, or that package."
    )


def load(services: Iterable[str]) -> None:
    """Load services, ahead of their use; that use raises the error of one that cannot be loaded."""
    for name in services:
        with suppress(Exception):
            found(SERVICES, name)
