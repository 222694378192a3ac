"""Sources of the caller's key."""

import os
from pathlib import Path

VARIABLE = "FOOTNOTE_API_KEY"
FILE_VARIABLE = "FOOTNOTE_API_KEY_FILE"
_MAX_BYTES = 64 * 1024


class KeyProblem(ValueError):
    """A file contains no valid key; `hint` says what to do. The error does not show the file's content."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def api_key(given: str | None = None, file: str | Path | None = None) -> str:
    """Return the given key, or that of the file, FOOTNOTE_API_KEY or FOOTNOTE_API_KEY_FILE; "" for none.

    ValueError if both a key and a file are given, KeyProblem if a file contains none.
    """
    if given is not None and file is not None:
        raise ValueError("give api_key or api_key_file, not both")
    if given is not None:
        return given
    if file is not None:
        return key_in(file)
    name = os.environ.get(FILE_VARIABLE, "")
    return os.environ.get(VARIABLE, "") or (key_in(name) if name else "")


def key_in(name: str | Path) -> str:
    """Return the key on a file's only line; KeyProblem if it cannot be read or contains anything else."""
    try:
        with Path(name).open(encoding="ascii") as handle:
            text = handle.read(_MAX_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise KeyProblem(
            f"No key can be read from {name}: {reason}.", f"Set {FILE_VARIABLE} to a readable file."
        ) from error
    if not text or not text.isprintable() or " " in text:
        raise KeyProblem(f"{name} does not hold a key.", "Write the key into it, and nothing else.")
    return text
