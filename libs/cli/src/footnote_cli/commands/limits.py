"""`footnote limits`: limits of single tenants that differ from the deployment's.

An operator's key changes them at the server, and an administrator's shows those of its tenant. Without a key the
command works on the deployment's own database; a running edge sees a change within seconds.
"""

from pathlib import Path
from typing import Annotated

import typer

from footnote_cli.addresses import DEFAULT_DATA_DIR
from footnote_cli.command import AddressOption, JsonOption, KeyOption, TimeoutOption, run
from footnote_cli.commands.keys import DataDirOption
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import usage_error
from footnote_cli.render import tables
from footnote_cli.server_or_database import open_limits

app = typer.Typer(
    no_args_is_help=True,
    help="Set limits of single tenants. With an operator's key: through the server. Without a key, or with "
    "--data-dir: in the deployment's own database.",
)
TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="Id of the tenant.", show_default=False)]


@app.command("set")
def set_(
    context: typer.Context,
    tenant: TenantArgument,
    documents: Annotated[
        int | None, typer.Option(metavar="N", help="Maximum number of documents; 0 for no limit.")
    ] = None,
    bytes_: Annotated[int | None, typer.Option("--bytes", metavar="N", help="Maximum bytes of all its files.")] = None,
    collections: Annotated[int | None, typer.Option(metavar="N", help="Maximum number of collections.")] = None,
    tokens_per_day: Annotated[
        int | None, typer.Option(metavar="N", help="Maximum tokens of models and embeddings per day (UTC).")
    ] = None,
    cost_per_day: Annotated[
        float | None, typer.Option(metavar="USD", help="Maximum cost of its answers per day, where prices are known.")
    ] = None,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Set limits of one tenant; those not given stay as they are. 0 is no limit."""

    async def body() -> None:
        given = {
            "documents": documents,
            "bytes": bytes_,
            "collections": collections,
            "tokens_per_day": tokens_per_day,
            "cost_per_day": cost_per_day,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise usage_error("There is nothing to set.", "Give --documents, --bytes, --collections or another limit.")
        async with open_limits(context, data_dir, address, api_key, timeout) as store:
            found = await store.set(tenant, changes)
        if as_json:
            print_json({"tenant_id": tenant, **found})
        else:
            make_console().print(tables.limits({tenant: found}))

    run(body, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    tenant: Annotated[
        str, typer.Argument(metavar="[TENANT]", help="Id of the tenant; at a server your own by default.")
    ] = "",
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Show the limits set for one tenant; `footnote whoami` shows your effective limits."""

    async def body() -> None:
        async with open_limits(context, data_dir, address, api_key, timeout) as store:
            found = await store.own(tenant)
        if as_json:
            print_json({"tenant_id": tenant, **found})
        elif found:
            make_console().print(tables.limits({tenant or "your tenant": found}))
        else:
            make_console().print(f"{tenant or 'Your tenant'} has no limits of its own.")

    run(body, as_json=as_json)


@app.command("list")
def list_(
    context: typer.Context,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """List the tenants with limits of their own."""

    async def body() -> None:
        async with open_limits(context, data_dir, address, api_key, timeout) as store:
            found = await store.listed()
        if as_json:
            print_json({"limits": [{"tenant_id": tenant, **limits} for tenant, limits in found.items()]})
        elif found:
            make_console().print(tables.limits(found))
        else:
            make_console().print("No tenant has limits of its own. Set some: footnote limits set TENANT --documents N")

    run(body, as_json=as_json)


@app.command()
def clear(
    context: typer.Context,
    tenant: TenantArgument,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
    address: AddressOption = None,
    api_key: KeyOption = "",
    timeout: TimeoutOption = None,
) -> None:
    """Remove a tenant's own limits, so that the deployment's apply again."""

    async def body() -> None:
        async with open_limits(context, data_dir, address, api_key, timeout) as store:
            there = await store.clear(tenant)
        if as_json:
            print_json({"tenant_id": tenant, "cleared": there})
        else:
            make_console().print(f"{tenant} has no limits of its own {'any more' if there else 'anyway'}.")

    run(body, as_json=as_json)
