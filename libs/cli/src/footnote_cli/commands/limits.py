"""`footnote limits`: what single tenants may keep and use, where that is not what all may.

Like `footnote keys` it works on the deployment's own database; a running edge sees a change within seconds.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote_kit import private
from footnote_kit.errors import FootnoteError

from footnote_cli.addresses import DEFAULT_DATA_DIR
from footnote_cli.command import JsonOption, run
from footnote_cli.commands.keys import DataDirOption
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import explain_failure, usage_error
from footnote_cli.installed import OFFLINE, found
from footnote_cli.render import tables

app = typer.Typer(
    no_args_is_help=True, help="Set what single tenants may keep and use. Run it where the edge's database is."
)
TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="Id of the tenant.", show_default=False)]


@asynccontextmanager
async def _allowances(data_dir: Path) -> AsyncIterator[Any]:
    """Open the deployment's limits. Raises CommandError."""
    private.keep()  # it may be this command that makes the database
    database, allowances = await found(OFFLINE, "limits")(data_dir)
    try:
        yield allowances
    except FootnoteError as error:
        raise explain_failure(error) from error
    finally:
        await database.close()


@app.command("set")
def set_(
    tenant: TenantArgument,
    documents: Annotated[int | None, typer.Option(metavar="N", help="Documents it may keep; 0 for any number.")] = None,
    bytes_: Annotated[
        int | None, typer.Option("--bytes", metavar="N", help="Bytes that its files may have together.")
    ] = None,
    collections: Annotated[int | None, typer.Option(metavar="N", help="Collections it may have.")] = None,
    tokens_per_day: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens of models and embeddings it may use a day (UTC).")
    ] = None,
    cost_per_day: Annotated[
        float | None, typer.Option(metavar="USD", help="What its answers may cost a day, where prices are known.")
    ] = None,
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
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
        async with _allowances(data_dir) as allowances:
            await allowances.set(tenant, changes)
            found = dict(await allowances.listed())[tenant]
        if as_json:
            print_json({"tenant_id": tenant, **found})
        else:
            make_console().print(tables.limits({tenant: found}))

    run(body, as_json=as_json)


@app.command("list")
def list_(data_dir: DataDirOption = Path(DEFAULT_DATA_DIR), as_json: JsonOption = False) -> None:
    """List the tenants with limits of their own."""

    async def body() -> None:
        async with _allowances(data_dir) as allowances:
            found = dict(await allowances.listed())
        if as_json:
            print_json({"limits": [{"tenant_id": tenant, **limits} for tenant, limits in found.items()]})
        elif found:
            make_console().print(tables.limits(found))
        else:
            make_console().print("No tenant has limits of its own. Set some: footnote limits set TENANT --documents N")

    run(body, as_json=as_json)


@app.command()
def clear(tenant: TenantArgument, data_dir: DataDirOption = Path(DEFAULT_DATA_DIR)) -> None:
    """Let the deployment's limits hold for a tenant again."""

    async def body() -> None:
        async with _allowances(data_dir) as allowances:
            there = await allowances.clear(tenant)
        make_console().print(f"{tenant} has no limits of its own {'any more' if there else 'anyway'}.")

    run(body)
