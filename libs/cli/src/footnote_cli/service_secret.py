"""The services' shared secret, with which a command authenticates to stages."""

from pathlib import Path

from footnote_kit import secret_file
from footnote_kit.credential import ServiceCredential
from footnote_kit.settings import KitSettings

from footnote_cli.errors import CommandError


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
