"""`footnote models`: fetches small models that verify statements, so that they run on this machine."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from footnote_cli.addresses import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from footnote_cli.command import run
from footnote_cli.console import make_console, say
from footnote_cli.errors import CommandError, usage_error
from footnote_cli.models.catalogue import HUB, MODELS

app = typer.Typer(no_args_is_help=True, help="Fetch models that run on this machine.")


@app.command("list")
def list_models() -> None:
    """List the models that can be pulled."""
    table = Table()
    for heading in ("name", "what it is", "commit", "checksum of model.onnx"):
        table.add_column(heading)
    for model in MODELS:
        table.add_row(
            model.name, model.about, model.revision[:12], model.files[0].sha256[:16] or "taken on the first pull"
        )
    make_console(pipe_width=170).print(table)


@app.command()
def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(model.name for model in MODELS)}.")],
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of models. Default: models in the data folder.")
    ] = None,
    hub: Annotated[
        str, typer.Option("--from", metavar="URL", help="Where to fetch it: the hub or a mirror of it.")
    ] = HUB,
) -> None:
    """Fetch a model, verify its checksums, and load it once. An interrupted pull resumes."""
    from footnote_kit.errors import FootnoteError
    from footnote_providers.pair_classifier import PairClassifier

    from footnote_cli.models.pulling import RECORD
    from footnote_cli.models.pulling import pull as fetch

    async def body() -> None:
        model = next((one for one in MODELS if one.name == name), None)
        if model is None:
            raise usage_error(f"There is no model '{name}'.", f"There are {', '.join(one.name for one in MODELS)}.")
        root = into or Path(os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR) / "models"
        folder = root.expanduser() / model.name
        columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn()
        with Progress(*columns, console=make_console(stderr=True), transient=True) as progress:
            bars: dict[str, TaskID] = {}

            stop = threading.Event()

            def on_bytes(file: str, held: int, total: int | None) -> None:
                if stop.is_set():
                    raise CommandError("The pull was interrupted.", "The same command resumes it.")
                if file not in bars:
                    bars[file] = progress.add_task(file, total=total)
                progress.update(bars[file], completed=held, total=total)

            try:
                found = await asyncio.to_thread(fetch, model, folder, hub, on_bytes)
            finally:
                stop.set()
        try:
            PairClassifier(folder, "NLI model", cut="only_first", also=["config.json"])
        except FootnoteError as error:
            raise CommandError(error.message, f"Remove {folder} and pull again.") from error
        except Exception as error:  # the runtime's errors have no common base
            raise CommandError(
                f"{model.name} was fetched, but does not load ({type(error).__name__}).", f"Remove {folder}."
            ) from error
        pinned = {file.name for file in model.files if file.sha256}
        for file, checksum in found.items():
            how = "as known" if file in pinned else f"taken on the first pull, in {RECORD}"
            say(f"{file}: SHA-256 {checksum}, {how}")
        say(f"Use it with: FOOTNOTE_GENERATION_VERIFIER=nli:{folder}")

    run(body)
