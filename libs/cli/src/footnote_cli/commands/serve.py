"""`footnote serve`: runs the services, all together or one alone."""

import gc
from pathlib import Path
from typing import Annotated

import typer


def serve(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="all, store, ingestion, indexing, retrieval, augmentation, generation or edge; or several: a,b.",
        ),
    ] = "all",
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            envvar="FOOTNOTE_DATA_DIR",
            help="Folder of all state. Default: footnote-data.",
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")
    ] = None,
    port_base: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=0, max=65400, help="Port of edge; the others follow. Default: 7100; 0 takes free ones."
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=0, max=65535, help="Port of a service served alone.")
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option(
            metavar="auto|N",
            help="Processes that all services together are divided among, 1 to 6. Default: auto, three where there "
            "is more than one core; 1 takes the least memory.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Start although this part is missing (it begins empty) or is another installation's (it is taken "
            "over): edge, jobs, documents, files, indexing or vectors. May be given several times.",
        ),
    ] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, json or human.")] = None,
) -> None:
    """Run the services. Ctrl-C or SIGTERM ends them in order."""
    # Nothing loaded is freed before the end: garbage collection took a fourth of the start. It is enabled again once
    # the services are ready.
    gc.disable()
    # The server libraries take most of a second to import, which client commands avoid.
    from footnote_cli.launcher import serve as start

    code = start(
        target,
        data_dir=data_dir,
        host=host,
        port_base=port_base,
        port=port,
        log_level=log_level,
        log_format=log_format,
        processes=processes,
        accept=tuple(accept or ()),
    )
    raise typer.Exit(code)
