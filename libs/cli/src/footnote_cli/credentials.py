"""A command's credentials: the caller's key, with warnings about unsafe sources, and the services' shared secret."""

import os
from pathlib import Path

import typer
from footnote.client.connection import KEY_FILE_VARIABLE, KeyProblem, key_in
from footnote_kit import secret_file
from footnote_kit.credential import ServiceCredential
from footnote_kit.settings import KitSettings

from footnote_cli.console import make_console
from footnote_cli.errors import CommandError, usage_error


def key_of_file() -> str:
    """Return the key in the file that FOOTNOTE_API_KEY_FILE names, empty when it names none.

    Raises CommandError when the file cannot be read or does not hold exactly one line.
    """
    name = os.environ.get(KEY_FILE_VARIABLE, "")
    try:
        return key_in(name) if name else ""
    except KeyProblem as problem:
        raise usage_error(str(problem), problem.hint) from problem


def warn_of_visible_key(context: typer.Context, value: str) -> str:
    """Return the key; warn on stderr that a key on the command line is visible to others."""
    source = context.get_parameter_source("api_key")
    if source is not None and source.name == "COMMANDLINE":
        make_console(stderr=True).print(
            "Every user of this machine can read the key in the list of processes, and it stays in your shell's "
            f"history; set FOOTNOTE_API_KEY or {KEY_FILE_VARIABLE} instead of --api-key.",
            style="yellow",
            soft_wrap=True,
        )
    return value


def service_secret(folder: Path, command: str) -> ServiceCredential:
    """Return FOOTNOTE_SERVICE_TOKEN, else the secret that separately started services share in a data folder.

    Raises CommandError, which names the `command` with more help, when there is none or it cannot be used.
    """
    try:
        credential = secret_file.configured(KitSettings())
        if credential is None:
            credential = ServiceCredential(secret_file.read_private(folder / secret_file.FILE))
    except FileNotFoundError as error:
        raise CommandError(
            f"{folder} holds no secret of services started apart.",
            "Set FOOTNOTE_SERVICE_TOKEN for the services and here; `serve all` keeps the secret it makes to itself.",
        ) from error
    except (ValueError, OSError) as error:
        raise CommandError(f"The secret cannot be used: {error}.", f"See: footnote {command} --help") from error
    return credential
