"""Failures that pass by themselves, of what a service stands on: a provider, a database, a disk, what the system lends.

Whatever raises them, callers see Unavailable with `waiting` in its metadata: nothing is wrong with what they asked for.
"""

import errno
from collections.abc import Callable

from footnote_kit.errors import FootnoteError, Unavailable

WAITING = "waiting"
"""Key in an error's metadata; what is waited for is the value."""
PROVIDER, DATABASE, DISK, LOAD = "PROVIDER", "DATABASE", "DISK", "LOAD"
PROVIDER_REFUSED = "PROVIDER_REFUSED"
"""A provider that does not let the deployment in: nothing is wrong with what is asked for, and a person has to act."""
RETRY_SECONDS = 2.0

Reader = Callable[[Exception], FootnoteError | None]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_LENT_OUT = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_readers: list[Reader] = []


def waits_for(error: FootnoteError) -> str:
    """Return what a failure waits for; "" where it does not say."""
    return error.metadata.get(WAITING, "")


def unavailable(message: str, waiting: str, retry_after: float = RETRY_SECONDS) -> Unavailable:
    """Return the error of something that will be there again."""
    return Unavailable(message, metadata={WAITING: waiting}, retry_after=retry_after)


def register(reader: Reader) -> None:
    """Have what a library raises read as well; a reader returns None for what it does not know."""
    if reader not in _readers:
        _readers.append(reader)


def read(error: Exception) -> FootnoteError | None:
    """Return what a failure that is not ours means, None where nothing is known of its passing."""
    for reader in _readers:
        if (known := reader(error)) is not None:
            return known
    if isinstance(error, OSError):
        if error.errno in _FULL:
            return unavailable("There is no room left on the disk of this service", DISK, 10.0)
        if error.errno in _LENT_OUT:
            return unavailable("This service has no descriptors or memory left for now", LOAD)
    return None
