"""Transient failures of dependencies: provider, database, disk, system limits.

Callers see Unavailable with `waiting` in its metadata, whichever library raised the failure: their request is valid.
"""

import errno
from collections.abc import Callable

from footnote_kit.errors import FootnoteError, Unavailable

WAITING = "waiting"
"""Key in an error's metadata; its value is the dependency that the request waits for."""
PROVIDER, DATABASE, DISK, LOAD = "PROVIDER", "DATABASE", "DISK", "LOAD"
PARSER_KILLED = "PARSER_KILLED"
"""The system killed the process that parsed a file; `retry_after` is the pause that the file needs."""
PROVIDER_REFUSED = "PROVIDER_REFUSED"
"""The provider refuses the deployment: the request is valid, and an operator has to act."""
RETRY_SECONDS = 2.0

Reader = Callable[[Exception], FootnoteError | None]

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The numbers of an OSError that says that a disk is full."""
_LENT_OUT = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_readers: list[Reader] = []


def waits_for(error: FootnoteError) -> str:
    """Return the dependency that a failure waits for; "" when it names none."""
    return error.metadata.get(WAITING, "")


def unavailable(message: str, waiting: str, retry_after: float = RETRY_SECONDS) -> Unavailable:
    """Return the error for a dependency that will come back."""
    return Unavailable(message, metadata={WAITING: waiting}, retry_after=retry_after)


def register(reader: Reader) -> None:
    """Add a reader for a library's exceptions; it returns None for those it does not know."""
    if reader not in _readers:
        _readers.append(reader)


def read(error: Exception) -> FootnoteError | None:
    """Translate a foreign exception; return None when it is not known to be transient."""
    for reader in _readers:
        if (known := reader(error)) is not None:
            return known
    if isinstance(error, OSError):
        if error.errno in FULL:
            return unavailable("There is no room left on the disk of this service", DISK, 10.0)
        if error.errno in _LENT_OUT:
            return unavailable("This service has no descriptors or memory left for now", LOAD)
    return None
