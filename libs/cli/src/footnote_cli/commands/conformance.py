"""`footnote conformance`: tests any implementation of a stage against its contract."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from footnote_cli.addresses import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR, check_address
from footnote_cli.command import JsonOption, run
from footnote_cli.console import make_console, print_json
from footnote_cli.errors import EXIT_FAILED, usage_error

if TYPE_CHECKING:
    from footnote_conformance.suite import Check, Result, Suite

_STYLES = {"ok": "green", "failed": "red", "skipped": "yellow"}


def conformance(
    stage: Annotated[
        str, typer.Argument(metavar="STAGE", help="ingestion, indexing, retrieval, augmentation or generation.")
    ],
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The implementation to ask.", show_default=False)
    ] = "",
    indexing: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            envvar="FOOTNOTE_INDEXING_ADDRESS",
            show_default=False,
            help="The indexing stage beside it, in which the suite creates collections; for ingestion and retrieval.",
        ),
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option("--check", metavar="NAME", help="Only this check; may be repeated.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the checks, and call nothing.")] = False,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Send no proofs: certificates (FOOTNOTE_TLS_…) speak for this command.")
    ] = False,
    data_dir: Annotated[
        Path, typer.Option(metavar="DIR", envvar=DATA_DIR_VARIABLE, help="Folder of the services' state.")
    ] = Path(DEFAULT_DATA_DIR),
    as_json: JsonOption = False,
) -> None:
    """Test any implementation of a stage, in any language, against its contract. Exit code 1 if a check fails.

    Every check uses its own tenant, named conformance-…, and deletes what it created.
    Scopes are proven with FOOTNOTE_SERVICE_TOKEN, the same as the stage's, else with the secret in the data folder.
    """

    async def body() -> None:
        suite, checks = _chosen(stage, only or [])
        if show:
            _print_checks(stage, checks, as_json)
            return
        if not address:
            raise usage_error("No implementation is named.", "Name it with --address HOST:PORT.")
        if suite.needs and not indexing:
            raise usage_error(f"The suite of {stage} makes collections.", "Name indexing with --indexing HOST:PORT.")
        others = {name: check_address(indexing) for name in suite.needs}
        await _asked(suite, checks, check_address(address), others, None if no_proof else data_dir, as_json)

    run(body, as_json=as_json)


def _chosen(stage: str, names: list[str]) -> "tuple[Suite, list[Check]]":
    """Return a stage's suite and the selected checks; a usage error for unknown ones."""
    from footnote_conformance.stages import STAGES, suite_of

    if stage not in STAGES:
        raise usage_error(f"There is no stage '{stage}'.", f"Choose one of: {', '.join(STAGES)}.")
    suite = suite_of(stage)
    known = {check.name: check for check in suite}
    if unknown := [name for name in names if name not in known]:
        raise usage_error(f"There is no check '{unknown[0]}'.", f"See: footnote conformance {stage} --list")
    return suite, [known[name] for name in names] or list(suite)


async def _asked(
    suite: "Suite", checks: "list[Check]", address: str, others: dict[str, str], folder: Path | None, as_json: bool
) -> None:
    from footnote_conformance.suite import Outcome, open_target, run, summary

    from footnote_cli.credentials import service_secret

    credential = service_secret(folder, "conformance") if folder is not None else None
    async with open_target(suite, address, others, credential) as target:
        results = await run(checks, target)
    counts = summary(results)
    if as_json:
        found: dict[str, Any] = {outcome.value: count for outcome, count in counts.items()}
        print_json({"stage": suite.stage, "address": address, **found, "checks": [_plain(one) for one in results]})
    else:
        _print_results(results)
        words = ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items() if count)
        failed = counts[Outcome.FAILED]
        make_console().print(f"{suite.stage} at {address}: {words}.", style="red" if failed else "green")
    if counts[Outcome.FAILED]:
        raise typer.Exit(EXIT_FAILED)


def _print_checks(stage: str, checks: "list[Check]", as_json: bool) -> None:
    from footnote_conformance.rules import places_of

    if as_json:
        listed = []
        for check in checks:
            rules = [{"rule": rule, "stands_at": places_of(stage, rule)} for rule in check.rules]
            listed.append({"check": check.name, "says": check.says, "rules": rules})
        print_json({"checks": listed})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("Check", "What the contract says"):
        table.add_column(name, overflow="fold")
    for check in checks:
        table.add_row(Text(check.name), Text(check.says))
    make_console().print(table)


def _print_results(results: "list[Result]") -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("Check", "What the contract says", "Result"):
        table.add_column(name, overflow="fold", ratio=3 if name.startswith("What") else 2)
    for one in results:
        word = one.outcome.value
        shown = Text(f"{word}: {one.found}" if one.found else word, style=_STYLES[word])
        table.add_row(Text(one.check.name), Text(one.check.says), shown)
    make_console().print(table)


def _plain(result: "Result") -> dict[str, Any]:
    """Return a result in machine-readable form."""
    return {
        "check": result.check.name,
        "says": result.check.says,
        "result": result.outcome.value,
        "found": result.found,
        "seconds": round(result.seconds, 3),
    }
