"""The command `footnote`, assembled from its commands."""

import sys
from contextlib import suppress
from importlib import import_module, metadata
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from footnote_cli.command import fail, fail_of_system
from footnote_cli.commands import (
    ask,
    audit,
    chunks,
    collections,
    conformance,
    conversations,
    documents,
    ingest,
    keys,
    limits,
    models,
    operations,
    search,
    serve,
    sources,
    status,
    tables,
    trust,
    vectors,
)
from footnote_cli.console import print_crash, say
from footnote_cli.errors import EXIT_FAILED, EXIT_USAGE, CommandError

_ON_DEMAND = {"admin": "footnote_cli.commands.admin", "eval": "footnote_cli.eval"}


class Commands(TyperGroup):
    """All commands. Those that load the server libraries, most of a second, are loaded on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of the help."""
        return [*super().list_commands(ctx), *_ON_DEMAND]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None for an unknown one."""
        if cmd_name not in _ON_DEMAND:
            return super().get_command(ctx, cmd_name)
        try:
            command = typer.main.get_group(import_module(_ON_DEMAND[cmd_name]).app)
        except ModuleNotFoundError as error:
            return _NotInstalled(cmd_name, error)
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; raises CommandError for one of those loaded on demand whose packages are missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if ctx.invoked_subcommand not in _ON_DEMAND:
                raise  # of a package that every image has, or of a plugin
            raise _not_installed(error) from error


class _NotInstalled(TyperCommand):
    """A command whose packages the image of one service leaves out; the help lists it all the same."""

    def __init__(self, name: str, error: ModuleNotFoundError) -> None:
        super().__init__(name, help=f"Not here: needs the package '{error.name}'.")
        self._error = error

    def make_context(self, *_: Any, **__: Any) -> NoReturn:
        """Raise the reason, whatever the arguments."""
        raise self._error


app = typer.Typer(
    cls=Commands,
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
app.add_typer(chunks.app, name="chunks")
app.add_typer(tables.app, name="tables")
app.add_typer(vectors.app, name="vectors")
app.add_typer(conversations.app, name="conversations")
app.add_typer(operations.app, name="operations")
app.add_typer(sources.app, name="sources")
app.add_typer(keys.app, name="keys")
app.add_typer(limits.app, name="limits")
app.add_typer(audit.app, name="audit")
app.add_typer(models.app, name="models")
app.command()(status.whoami)
app.command()(status.usage)
app.command()(status.health)
app.command()(status.providers)
app.command()(status.trace)
app.command()(status.probe)
app.command("service-token")(trust.service_token)
app.command("stage-token")(trust.stage_token)
app.command()(conformance.conformance)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"footnote {metadata.version('footnote')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options without a command."""


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character gets a question mark instead of a traceback.
            stream.reconfigure(errors="replace")
    sys.excepthook = print_crash
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        say("Aborted.", stderr=True)
        code = EXIT_FAILED
    except TyperException as error:
        code = _called_wrongly(error)
    except CommandError as error:
        code = error.exit_code
        with suppress(typer.Exit):
            fail(error, as_json="--json" in sys.argv)
    except OSError as error:  # help that cannot be written
        with suppress(typer.Exit):
            fail_of_system(error)
        code = EXIT_FAILED
    sys.exit(code)


def _not_installed(error: ModuleNotFoundError) -> CommandError:
    return CommandError(
        f"This command needs the package '{error.name}', which is not installed here.",
        "The image of one service has no other packages: use the image built without TARGET.",
    )


def _called_wrongly(error: TyperException) -> int:
    """Print why the call was invalid. Typer would echo the arguments without removing terminal controls."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    hint = ""
    if context is not None:
        hint = f"See: {context.command_path} --help"
        if isinstance(context.command, TyperGroup) and not hasattr(error, "option_name"):
            hint = f"Its commands: {', '.join(context.command.list_commands(context))}. {hint}"
    code: int = getattr(error, "exit_code", EXIT_USAGE)
    with suppress(typer.Exit):
        if not message:
            return code  # the help was shown
        fail(CommandError(message, hint, exit_code=code), as_json="--json" in sys.argv)
    return code


if __name__ == "__main__":
    run()
