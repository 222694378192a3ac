"""`footnote service-token` and `footnote stage-token`: the services' shared secret, and proofs made with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from footnote_cli.addresses import DEFAULT_DATA_DIR
from footnote_cli.command import run
from footnote_cli.console import say
from footnote_cli.errors import CommandError, usage_error

_ROLES = ("reader", "writer", "admin", "system")
_HOUR = 3600


def service_token(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File for the secret, for FOOTNOTE_SERVICE_TOKEN_FILE.")],
) -> None:
    """Create the secret by which separately started services authenticate to each other. An existing FILE stays."""
    from footnote_kit import secret_file

    async def body() -> None:
        try:
            secret_file.make(file)
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.", "Choose another file.") from error
        say(str(file))

    run(body)


def stage_token(
    stage: Annotated[str, typer.Option("--stage", metavar="STAGE", help="The stage to call, as in retrieval.")],
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="Tenant to call on behalf of.")] = "default",
    user: Annotated[str, typer.Option("--user", metavar="ID", help="User to call on behalf of.")] = "local",
    roles: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help=f"One of {', '.join(_ROLES)}. Default: admin.")
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="/PACKAGE.SERVICE/METHOD", help="Only this one.", show_default=False),
    ] = "*",
    data_dir: Annotated[
        Path,
        typer.Option("--data-dir", metavar="DIR", envvar="FOOTNOTE_DATA_DIR", help="Folder of the services' state."),
    ] = Path(DEFAULT_DATA_DIR),
) -> None:
    """Print a header with which a tool such as grpcurl calls a stage, valid for an hour and for one scope.

    It is signed with FOOTNOTE_SERVICE_TOKEN, else with the secret in the data folder of separately started services.
    """
    from footnote_kit.settings import PUBLIC, STAGES

    async def body() -> None:
        if stage not in STAGES or stage in PUBLIC:
            stages = ", ".join(name for name in STAGES if name not in PUBLIC)
            raise usage_error(f"There is no stage '{stage}'.", f"Choose one of: {stages}.")
        wanted = roles or ["admin"]
        if unknown := [role for role in wanted if role not in _ROLES]:
            raise usage_error(f"There is no role '{unknown[0]}'.", f"Choose one of: {', '.join(_ROLES)}.")
        scope, header = _proof(stage, tenant, user, wanted, method, data_dir)
        say(f'# for an hour, in messages with "scope": {scope}', stderr=True)
        say(header)

    run(body)


def _proof(stage: str, tenant: str, user: str, roles: Sequence[str], method: str, folder: Path) -> tuple[str, str]:
    """Return a scope as JSON and the header that proves it; CommandError without a secret."""
    from footnote.stages.v1.scope_pb2 import Scope
    from footnote.types.v1.role_pb2 import Role
    from footnote_kit.credential import HEADER
    from google.protobuf.json_format import MessageToJson

    from footnote_cli.credentials import service_secret

    credential = service_secret(folder, "service-token")
    scope = Scope(tenant_id=tenant, user_id=user, roles=[Role.Value(f"ROLE_{role.upper()}") for role in roles])
    return MessageToJson(scope, indent=None), f"{HEADER}: {credential.sign(stage, method, scope, _HOUR)}"
