"""What is installed beside the command: the services it starts, and the tools they have for their own databases.

The command imports none of them, not even by name: each says by an entry point where it is to be found, so that one
can be left out, or be another's work.
"""

from importlib.metadata import entry_points
from typing import Any

from footnote_cli.errors import CommandError

SERVICES = "footnote.services"
"""Services by name: `async (Runtime) -> App`."""
OFFLINE = "footnote.offline"
"""Work on a deployment's own database by name: `async (data_dir) -> (database, what works on it)`."""


def found(group: str, name: str) -> Any:
    """Return what is offered under a name. Raises CommandError if nothing is."""
    for point in entry_points(group=group, name=name):
        return point.load()
    raise CommandError(
        f"Nothing installed here offers {name!r} ({group}).", "Install footnote as a whole, or that part."
    )
