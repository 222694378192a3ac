"""`footnote keys`: make, list and revoke API keys.

It works on the deployment's own database rather than through its API: somebody must make the first key.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote.types.v1.scope_pb2 import Role
from footnote_kit import private
from footnote_kit.errors import FootnoteError

from footnote_cli.addresses import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from footnote_cli.command import JsonOption, run
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import explain_failure, usage_error
from footnote_cli.render import tables
from footnote_cli.values import confirm, parse_duration

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys. Run it where the edge's database is.")

DataDirOption = Annotated[
    Path, typer.Option("--data-dir", metavar="DIR", envvar=DATA_DIR_VARIABLE, help="Folder of the deployment's state.")
]
_ROLES = ("reader", "writer", "admin")


@asynccontextmanager
async def _keys(data_dir: Path) -> AsyncIterator[Any]:
    """Open the deployment's keys. Raises CommandError."""
    private.keep()  # it may be this command that makes the database
    # By name: the command line knows the services only as it starts them.
    offline: Callable[..., Any] = getattr(import_module("footnote_edge.keys"), "offline")  # noqa: B009
    database, keys = await offline(data_dir)
    try:
        yield keys
    except FootnoteError as error:
        raise explain_failure(error) from error
    finally:
        await database.close()


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for, in words.", show_default=False)],
    tenant: Annotated[str, typer.Option(metavar="ID", help="Tenant it acts in.")] = "default",
    user: Annotated[str, typer.Option(metavar="ID", help="User it acts as.")] = "local",
    role: Annotated[str, typer.Option(metavar="ROLE", help="reader, writer or admin.")] = "writer",
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Group its user is in, for collections shared with it; repeatable."),
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="How long it is good: 24h, 90d. Default: for ever.")
    ] = "",
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it; it is never shown again."""

    async def body() -> None:
        if role.lower() not in _ROLES:
            raise usage_error(f"There is no role '{role}'.", f"Choose one of: {', '.join(_ROLES)}.")
        lifetime = parse_duration(expires).ToTimedelta() if expires else None
        async with _keys(data_dir) as keys:
            key, text = await keys.create(name, tenant, user, Role.Value(f"ROLE_{role.upper()}"), lifetime, group or ())
        if as_json:
            print_json({**_as_dict(key), "key": text})
            return
        make_console().print(text, soft_wrap=True)
        make_console(stderr=True).print(
            "Keep it now: it is not shown again. Use it with --api-key or FOOTNOTE_API_KEY."
        )

    run(body, as_json=as_json)


@app.command("list")
def list_(data_dir: DataDirOption = Path(DEFAULT_DATA_DIR), as_json: JsonOption = False) -> None:
    """List keys, without their secrets."""

    async def body() -> None:
        async with _keys(data_dir) as keys:
            found = [_as_dict(key) for key in await keys.listed()]
        if as_json:
            print_json({"keys": found})
        elif found:
            make_console().print(tables.keys(found))
        else:
            make_console().print("There are no keys yet. Make one: footnote keys create NAME")

    run(body, as_json=as_json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
) -> None:
    """End a key for good."""

    async def body() -> None:
        await confirm(f"Revoke key {key_id}?", yes)
        async with _keys(data_dir) as keys:
            await keys.revoke(key_id)
        make_console().print(f"Revoked {key_id}.")

    run(body)


def _as_dict(key: Any) -> dict[str, Any]:
    """Return what may be shown of a key."""

    def when(moment: datetime | None) -> str:
        return moment.isoformat(timespec="seconds") if moment else ""

    return {
        "id": key.id,
        "name": key.name,
        "tenant_id": key.tenant_id,
        "user_id": key.user_id,
        "role": Role.Name(key.role).removeprefix("ROLE_").lower(),
        "groups": list(key.groups),
        "create_time": when(key.create_time),
        "expire_time": when(key.expire_time),
        "revoke_time": when(key.revoke_time),
    }
