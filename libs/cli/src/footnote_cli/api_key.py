"""Where the caller's key comes from, and where it should not."""

import os
from pathlib import Path

import typer

from footnote_cli.console import make_console
from footnote_cli.errors import usage_error

FILE_VARIABLE = "FOOTNOTE_API_KEY_FILE"
_MAX_BYTES = 64 * 1024


def key_of_file() -> str:
    """Return the key in the file that FOOTNOTE_API_KEY_FILE names, empty when it names none.

    Raises CommandError when the file cannot be read or holds anything but one line.
    """
    name = os.environ.get(FILE_VARIABLE, "")
    if not name:
        return ""
    try:
        with Path(name).open(encoding="ascii") as handle:
            text = handle.read(_MAX_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise usage_error(f"No key can be read from {name}: {reason}.", f"Set {FILE_VARIABLE} anew.") from error
    if not text or not text.isprintable() or " " in text:
        raise usage_error(f"{name} does not hold a key.", "Write the key into it, and nothing else.")
    return text


def warn_of_visible_key(context: typer.Context, value: str) -> str:
    """Return the key; say on stderr that it is no secret when it stands on the command line."""
    source = context.get_parameter_source("api_key")
    if source is not None and source.name == "COMMANDLINE":
        make_console(stderr=True).print(
            "The key can be read by everyone on this machine in the list of processes, and stays in your shell's "
            f"history; set FOOTNOTE_API_KEY or {FILE_VARIABLE} instead of --api-key.",
            style="yellow",
            soft_wrap=True,
        )
    return value
