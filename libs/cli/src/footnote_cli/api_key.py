"""Sources of the caller's key, with warnings about unsafe ones."""

import os

import typer
from footnote.client.keys import FILE_VARIABLE, KeyProblem, key_in

from footnote_cli.console import make_console
from footnote_cli.errors import usage_error


def key_of_file() -> str:
    """Return the key in the file that FOOTNOTE_API_KEY_FILE names, empty when it names none.

    Raises CommandError when the file cannot be read or does not hold exactly one line.
    """
    name = os.environ.get(FILE_VARIABLE, "")
    try:
        return key_in(name) if name else ""
    except KeyProblem as problem:
        raise usage_error(str(problem), problem.hint) from problem


def warn_of_visible_key(context: typer.Context, value: str) -> str:
    """Return the key; warn on stderr that a key on the command line is visible to others."""
    source = context.get_parameter_source("api_key")
    if source is not None and source.name == "COMMANDLINE":
        make_console(stderr=True).print(
            "The key can be read by everyone on this machine in the list of processes, and stays in your shell's "
            f"history; set FOOTNOTE_API_KEY or {FILE_VARIABLE} instead of --api-key.",
            style="yellow",
            soft_wrap=True,
        )
    return value
