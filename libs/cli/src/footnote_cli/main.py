"""The command `footnote`: its commands put together."""

import sys
from importlib import metadata
from typing import Annotated

import typer

from footnote_cli import eval as evaluate
from footnote_cli.commands import ask, collections, conversations, documents, ingest, keys, probe, search, serve, status

app = typer.Typer(
    name="footnote",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Answers with footnotes: ask your documents, and check every sentence.",
)
app.command()(serve.serve)
app.command()(ingest.ingest)
app.command()(ask.ask)
app.command()(search.search)
app.add_typer(collections.app, name="collections")
app.add_typer(documents.app, name="documents")
app.add_typer(conversations.app, name="conversations")
app.add_typer(keys.app, name="keys")
app.command()(status.health)
app.command()(status.providers)
app.command()(status.trace)
app.command()(probe.probe)
app.add_typer(evaluate.app, name="eval")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"footnote {metadata.version('footnote')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character gets a question mark rather than a traceback.
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    run()
