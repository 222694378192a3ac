"""Loads the service credential from the settings, or from a file that one user's processes share."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.settings import KitSettings

FILE = "service.token"


def configured(settings: KitSettings) -> ServiceCredential | None:
    """Return the credential that the operator has set; None when there is none.

    Raises ValueError when it is unusable, OSError when the file cannot be read.
    """
    text = settings.service_token
    if settings.service_token_file is not None:
        text = settings.service_token_file.read_text(encoding="ascii")
    tokens = text.replace(",", " ").split()
    if not tokens and settings.service_token_file is None:
        return None
    if not 1 <= len(tokens) <= 2:
        raise ValueError("one service token, or two while one replaces the other")
    return ServiceCredential(*tokens)


def shared(folder: Path) -> ServiceCredential:
    """Return the credential that the processes of this folder share; the first process creates it.

    Raises PermissionError when users other than its owner can read it.
    """
    return ServiceCredential(read_private(make(folder / FILE)), local=True)


def make(path: Path) -> Path:
    """Write a new secret to a file atomically; keep an existing one."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as handle:
            handle.write(new_secret() + "\n")
        with suppress(FileExistsError):  # another process was faster, and its secret counts
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()
    return path


def read_private(path: Path) -> str:
    """Return the content of a file that only this user can read or change; PermissionError otherwise."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="ascii") as handle:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(0, f"{path} must be a file of this user alone: chmod 600 it, or delete it")
        return handle.read().strip()
