"""`footnote keys`: makes, lists and revokes API keys.

With an administrator's key the command works at the server, for that key's tenant. Without one it works on the
deployment's own database, for all tenants: that is how the first key is made.
"""

from pathlib import Path
from typing import Annotated

import typer
from footnote.types.v1.role_pb2 import Role

from footnote_cli.addresses import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from footnote_cli.command import AddressOption, JsonOption, KeyOption, TimeoutOption, run
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import usage_error
from footnote_cli.render import tables
from footnote_cli.server_or_database import NewKey, open_keys
from footnote_cli.values import confirm, parse_duration

app = typer.Typer(
    no_args_is_help=True,
    help="Create, list and revoke API keys. With an administrator's key: those of its tenant, through the server. "
    "Without a key, or with --data-dir: those of all tenants, in the deployment's own database.",
)

DataDirOption = Annotated[
    Path, typer.Option("--data-dir", metavar="DIR", envvar=DATA_DIR_VARIABLE, help="Folder of the deployment's state.")
]
_ROLES = ("reader", "writer", "admin")


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for, in words.", show_default=False)],
    tenant: Annotated[
        str, typer.Option(metavar="ID", help='Tenant of the key; only without a server. Default: "default".')
    ] = "",
    user: Annotated[
        str, typer.Option(metavar="ID", help='User of the key. Default: yourself; without a server, "local".')
    ] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help="reader, writer or admin.")] = "writer",
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Group its user is in, for collections shared with it; repeatable."),
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="How long the key is valid: 24h, 90d. Default: for ever.")
    ] = "",
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Create a key and print it; it is never shown again."""

    async def body() -> None:
        if role.lower() not in _ROLES:
            raise usage_error(f"There is no role '{role}'.", f"Choose one of: {', '.join(_ROLES)}.")
        lifetime = parse_duration(expires).ToTimedelta() if expires else None
        new = NewKey(name, tenant, user, Role.Value(f"ROLE_{role.upper()}"), group or [], lifetime)
        async with open_keys(context, data_dir, address, api_key, timeout) as keys:
            key, text = await keys.create(new)
        if as_json:
            print_json({**key, "key": text})
            return
        make_console().print(text, soft_wrap=True)
        make_console(stderr=True).print(
            "Save it now: it is not shown again. Use it with --api-key or FOOTNOTE_API_KEY."
        )

    run(body, as_json=as_json)


@app.command("list")
def list_(
    context: typer.Context,
    all_: Annotated[bool, typer.Option("--all", help="Also those that were revoked or have expired.")] = False,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """List keys, without their secrets."""

    async def body() -> None:
        async with open_keys(context, data_dir, address, api_key, timeout) as keys:
            found = await keys.listed(ended=all_)
        if as_json:
            print_json({"keys": found})
        elif found:
            make_console().print(tables.keys(found))
        else:
            make_console().print("There are no keys to use. Make one: footnote keys create NAME")

    run(body, as_json=as_json)


@app.command()
def revoke(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.", show_default=False)],
    force: Annotated[
        bool, typer.Option("--force", help="Revoke it even if it is an administrator's last usable key.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Revoke a key for good."""

    async def body() -> None:
        await confirm(f"Revoke key {key_id}?", yes)
        async with open_keys(context, data_dir, address, api_key, timeout) as keys:
            await keys.revoke(key_id, force=force)
        if as_json:
            print_json({"revoked": key_id})
        else:
            make_console().print(f"Revoked {key_id}.")

    run(body, as_json=as_json)
