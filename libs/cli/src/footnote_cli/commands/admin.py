"""`footnote admin`: maintains a deployment on its own machine; access to its folder suffices, without a key."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer
from footnote_kit.errors import FootnoteError

from footnote_cli.addresses import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from footnote_cli.admin.backup import backup as make_backup
from footnote_cli.admin.deployment import deployment_of
from footnote_cli.admin.doctor import examine
from footnote_cli.admin.doctor import repair as repair_found
from footnote_cli.admin.findings import Finding
from footnote_cli.admin.manifest import Manifest
from footnote_cli.admin.migrate import migrate as migrate_databases
from footnote_cli.admin.restore import restore as restore_backup
from footnote_cli.command import JsonOption, run
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import EXIT_FAILED, explain_failure
from footnote_cli.render.fitted import FittedTable

app = typer.Typer(
    no_args_is_help=True, help="Maintain a deployment on its own machine: back up, restore, migrate, examine."
)

DataDirOption = Annotated[
    Path, typer.Option("--data-dir", metavar="DIR", envvar=DATA_DIR_VARIABLE, help="Folder of the deployment's state.")
]


@app.command()
def doctor(
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair what can be repaired without losing anything; services must be stopped."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Examine a deployment, running or not, and say what to do. Exit code 1 if something is broken."""
    folder = data_dir.expanduser().resolve()

    async def body() -> None:
        found, done = await examine(folder), []
        if repair and any(one.state != "ok" for one in found):
            done = repair_found(folder, found)
            found = await examine(folder) if done else found
        if as_json:
            print_json({"findings": [one.as_dict() for one in found], "repaired": done})
        else:
            _show(found, done)
        if any(one.state == "broken" for one in found):
            raise typer.Exit(EXIT_FAILED)

    _run(body(), as_json)


def _show(found: list[Finding], done: list[str]) -> None:
    out = make_console()
    for words in done:
        out.print(f"Repaired: {words}.", style="green")
    table = FittedTable("Check", "State", "Found")
    for one in found:
        table.add_row(one.check, one.state, one.found)
    out.print(table)
    for one in found:
        if one.advice:
            out.print(f"{one.check}: {one.found}. {one.advice}", style="red" if one.state == "broken" else "yellow")


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to back up into, empty or not there yet.")],
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
) -> None:
    """Back up databases, files, vectors and settings, running or not. The backup contains all documents."""

    async def work() -> Manifest:
        return await make_backup(deployment_of(data_dir), target)

    _run(_report_manifest("Backed up into", target, work(), as_json), as_json)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a backup.")],
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into an empty data folder, checked against its checksums."""
    _run(_report_manifest("Restored into", data_dir, restore_backup(source, data_dir), as_json), as_json)


@app.command()
def migrate(
    data_dir: DataDirOption = Path(DEFAULT_DATA_DIR),
    look_only: Annotated[
        bool, typer.Option("--look-only", help="Print what would be done, and change nothing.")
    ] = False,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            envvar="FOOTNOTE_MIGRATE_TO",
            show_default=False,
            help="Then copy all databases from SQLite to this empty PostgreSQL database: postgresql://…",
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Migrate all databases to this release's schema; services must be stopped. They also do this when they start.

    Only a backup leads back: an earlier release refuses to open a database that a later one has migrated.
    """
    if to and look_only:
        raise typer.BadParameter("--to and --look-only exclude each other: a copy has no preview")

    async def body() -> None:
        if to:
            await _copy_to_postgres(data_dir, to, as_json)
            return
        steps = await migrate_databases(data_dir, look_only=look_only)
        if as_json:
            print_json({"databases": [one.as_dict() for one in steps], "done": not look_only})
            return
        out = make_console()
        for one in steps:
            if one.before == one.after:
                out.print(f"{one.name}: schema {one.after}, up to date.")
            else:
                out.print(
                    f"{one.name}: schema {one.before or 'none'} → {one.after}{', not done' if look_only else ''}."
                )

    _run(body(), as_json)


async def _copy_to_postgres(data_dir: Path, to: str, as_json: bool) -> None:
    from footnote_database.postgres_copy import Copied

    from footnote_cli.admin.postgres_copy import copy_to_postgres

    out = make_console()

    def progress(one: Copied) -> None:
        if not as_json and one.rows:
            out.print(f"{one.table}: {one.rows} rows, checksum {one.checksum[:16]}.")

    made = await copy_to_postgres(data_dir, to, progress)
    if as_json:
        print_json(made.as_dict())
        return
    rows, tables = sum(one.rows for one in made.tables), len(made.tables)
    out.print(f"Copied and compared {rows} rows of {tables} tables. Set these to the URL, and start the services:")
    for variable in made.variables:
        out.print(variable)
    out.print("The SQLite files are unchanged: keep them until the services have answered.")


async def _report_manifest(what: str, where: Path, work: Coroutine[Any, Any, Manifest], as_json: bool) -> None:
    made = await work
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    out = make_console()
    size = sum(file.size for file in made.files.values())
    out.print(
        f"{what} {where}: {len(made.databases)} databases, {len(made.files)} files, "
        f"{sum(made.spaces.values())} vectors, {size} bytes."
    )
    for one in made.left_out:
        out.print(f"Not in it: {one}.", style="yellow")


def _run(work: Coroutine[Any, Any, None], as_json: bool) -> None:
    async def body() -> None:
        try:
            await work
        except FootnoteError as error:
            raise explain_failure(error) from error

    run(body, as_json=as_json)
