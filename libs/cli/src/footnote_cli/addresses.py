"""Finds the server to talk to, and which process serves from a data folder."""

import json
import os
import re
import stat
from pathlib import Path

from footnote_kit.net import is_loopback

from footnote_cli.console import say
from footnote_cli.errors import usage_error

DEFAULT_ADDRESS = "127.0.0.1:7100"
ADDRESS_VARIABLE = "FOOTNOTE_EDGE_ADDRESS"
DATA_DIR_VARIABLE = "FOOTNOTE_DATA_DIR"
DEFAULT_DATA_DIR = "footnote-data"
ADDRESSES_FILE = "addresses.json"
_MARK = 64  # maximum characters of a lock's mark
_MOST = 64 * 1024  # maximum characters of an address file
_ADDRESS = re.compile(r"(?<![^\s/])(?:(https?://)?[^\s/]+:(\d{1,5})|(unix|dns|ipv4|ipv6):\S++)")


def edge_address(given: str | None = None) -> str:
    """Return "host:port" of the edge.

    The first of these counts: the given address, the variable FOOTNOTE_EDGE_ADDRESS, the address file, the default port
    on this machine. The address file is in the data folder (FOOTNOTE_DATA_DIR, else ./footnote-data). It is trusted
    only if this user's own running server wrote it, since the caller's key goes to that address. Otherwise a warning
    says why not. Raises CommandError for an invalid address.
    """
    folder = Path(os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR)
    wanted = given or os.environ.get(ADDRESS_VARIABLE)
    if wanted:
        return check_address(wanted)
    try:
        return written_address(folder) or DEFAULT_ADDRESS
    except _Distrusted as reason:
        say(
            f"Warning: {folder / ADDRESSES_FILE} is ignored: {reason}. "
            f"Trying {DEFAULT_ADDRESS}; name another server with --address or {ADDRESS_VARIABLE}.",
            stderr=True,
        )
        return DEFAULT_ADDRESS


def is_starting() -> bool:
    """Return whether a process of this user holds the data folder for edge and has not written its address yet."""
    folder = Path(os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR)
    try:
        if not lives((folder / "locks" / "edge.lock").read_text(encoding="ascii", errors="replace")[:_MARK]):
            return False
        return written_address(folder) is None
    except _Distrusted:  # the file of an earlier run
        return True
    except OSError:
        return False


def check_address(text: str) -> str:
    """Return a HOST:PORT, https://HOST:PORT or gRPC name unchanged; gRPC itself would accept anything and wait."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match[2] or 0) > 65535:
        raise usage_error(f"'{text}' is not an address.", "Write it as HOST:PORT, for example 127.0.0.1:7100.")
    return text.strip()


def written_address(folder: Path) -> str | None:
    """Return the edge's address from the file that a serving process wrote; None if there is no such file.

    Raises _Distrusted when the file is not trustworthy.
    """
    try:
        text = _read_own(folder / ADDRESSES_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _Distrusted(f"it cannot be read ({error.strerror})") from error
    try:
        addresses = json.loads(text)
    except ValueError:
        addresses = None
    address = addresses.get("edge") if isinstance(addresses, dict) else None
    if isinstance(addresses, dict) and "edge" not in addresses:
        return None  # only single stages serve from there
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise _Distrusted("it names no address")
    if not is_loopback(address.rpartition(":")[0]):
        raise _Distrusted(f"{address} is not on this machine")
    try:
        alive = lives(_read_own(folder / "locks" / "edge.lock"))
    except OSError:
        alive = False
    if not alive:
        raise _Distrusted("the server that wrote it has ended")
    return address


class _Distrusted(Exception):
    """A file is not trustworthy; the message says why."""


def _read_own(path: Path) -> str:
    """Return the content of a file of this user, in this user's folder, that no other user can write to.

    Raises OSError when it cannot be read, _Distrusted when it does not meet these conditions.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as handle:
        for what, found in ((path, os.fstat(descriptor)), (path.parent, path.parent.stat())):
            if found.st_uid != os.geteuid():
                raise _Distrusted(f"{what} belongs to another user")
            if stat.S_IMODE(found.st_mode) & 0o022:
                raise _Distrusted(f"others may write to {what} (chmod go-w {what})")
        return handle.read(_MOST)


_PROCESSES = Path("/proc")


def mark() -> str:
    """Return a unique mark of this process: its id and start time."""
    return f"{os.getpid()} {_started(os.getpid())}"


def pid_of(text: str) -> str:
    """Return the process id in a mark; empty for none."""
    return text.split()[0] if text.split() else ""


def lives(text: str) -> bool:
    """Return whether the process with a mark is running, as this user."""
    pid, _, started = text.strip().partition(" ")
    if not pid.isascii() or not pid.isdigit():
        return False
    try:
        if not _PROCESSES.is_dir():
            os.kill(int(pid), 0)
            return True
        return (_PROCESSES / pid).stat().st_uid == os.geteuid() and _started(int(pid)) == started
    except (OSError, OverflowError):
        return False


def _started(pid: int) -> str:
    """Return when a process started, in kernel ticks; "-" if the system does not say."""
    try:
        # The program name, in parentheses, may hold anything; the start time is the twentieth field after it.
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"
