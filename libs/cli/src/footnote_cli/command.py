"""Turns an async function into a command: adds the common options, opens the session, reports errors."""

import asyncio
import functools
import inspect
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any, Concatenate, NoReturn, ParamSpec

import typer
from footnote_kit.printable import printable_line

from footnote_cli.addresses import ADDRESS_VARIABLE, edge_address
from footnote_cli.console import make_console, print_json
from footnote_cli.credentials import key_of_file, warn_of_visible_key
from footnote_cli.errors import EXIT_INTERRUPTED, CommandError, Interrupted, usage_error
from footnote_cli.session import Connection, Session, open_session

P = ParamSpec("P")
_PANEL = "Connection"
_CANCEL_AGAIN = 0.5  # seconds
_SURROGATE = re.compile("[\ud800-\udfff]")

AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        rich_help_panel=_PANEL,
        show_default=False,
        help=f"The edge service. Default: ${ADDRESS_VARIABLE}, else a server started here, else 127.0.0.1:7100.",
    ),
]
TenantOption = Annotated[
    str,
    typer.Option(
        "--tenant",
        metavar="ID",
        envvar="FOOTNOTE_TENANT",
        rich_help_panel=_PANEL,
        show_default=False,
        help="Tenant to act in; only where the server asks for no key.",
    ),
]
UserOption = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="ID",
        envvar="FOOTNOTE_USER",
        rich_help_panel=_PANEL,
        show_default=False,
        help="User to act as; only where the server asks for no key.",
    ),
]
KeyOption = Annotated[
    str,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar="FOOTNOTE_API_KEY",
        rich_help_panel=_PANEL,
        show_default=False,
        callback=warn_of_visible_key,
        help="API key or token. Others see it here; use $FOOTNOTE_API_KEY or $FOOTNOTE_API_KEY_FILE.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        rich_help_panel=_PANEL,
        show_default=False,
        help="Longest time for one call. Default: 60, streams longer.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

_COMMON: tuple[tuple[str, Any, Any], ...] = (
    ("as_json", JsonOption, False),
    ("address", AddressOption, None),
    ("api_key", KeyOption, ""),
    ("tenant", TenantOption, ""),
    ("user", UserOption, ""),
    ("timeout", TimeoutOption, None),
)


def connected(name: str) -> Callable[[Callable[Concatenate[Session, P], Awaitable[None]]], Callable[..., None]]:
    """Decorate `async def command(session, …)`: typer gets its other parameters and the common ones.

    `name` is the root span of the command's trace: "footnote ask".
    """

    def decorate(action: Callable[Concatenate[Session, P], Awaitable[None]]) -> Callable[..., None]:
        @functools.wraps(action)
        def command(**arguments: Any) -> None:
            common = {key: arguments.pop(key) for key, _, _ in _COMMON}

            async def body() -> None:
                common["api_key"] = common["api_key"] or key_of_file()
                connection = Connection(**{**common, "address": edge_address(common["address"])})
                async with open_session(connection, name) as session:
                    await action(session, **arguments)  # type: ignore[call-arg]

            run(body, as_json=common["as_json"])

        signature = inspect.signature(action, eval_str=True)
        own = list(signature.parameters.values())[1:]
        keyword = inspect.Parameter.KEYWORD_ONLY
        common = [inspect.Parameter(key, keyword, default=default, annotation=kind) for key, kind, default in _COMMON]
        parameters = [parameter.replace(kind=keyword) for parameter in own] + common
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def run(body: Callable[[], Coroutine[Any, Any, None]], *, as_json: bool = False) -> None:
    """Run a command's coroutine; an error becomes one red sentence and its exit code, Ctrl-C ends quietly with 130."""
    try:
        asyncio.run(_interruptible(body))
    except CommandError as error:
        fail(error, as_json=as_json)
    except (Interrupted, KeyboardInterrupt):
        make_console(stderr=True).print("Interrupted.", style="yellow")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of our output is gone, as after `| head`.
        _drop_output()
        raise typer.Exit(0) from None
    except UnicodeEncodeError as error:
        if not _SURROGATE.search(error.object):
            raise
        # Python reads what is not UTF-8 in arguments and names of files so.
        fail(usage_error("An argument is not UTF-8.", "Convert it, for example with iconv."), as_json=as_json)
    except OSError as error:
        fail_of_system(error, as_json=as_json)


async def _interruptible(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine until it ends or Ctrl-C is pressed.

    A single cancellation can be lost when a message arrives at the same moment, and the command would continue. So the
    cancellation is repeated until the task ends.
    """
    loop = asyncio.get_running_loop()
    pressed = asyncio.Event()
    with suppress(NotImplementedError, RuntimeError, ValueError):  # no signals here: asyncio.run must do
        loop.add_signal_handler(signal.SIGINT, pressed.set)
    work, waiting = asyncio.create_task(body()), asyncio.create_task(pressed.wait())
    try:
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        while not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=_CANCEL_AGAIN)
        if pressed.is_set():
            if not work.cancelled():
                work.exception()  # retrieved, so that asyncio does not report it
            raise Interrupted
        work.result()
    finally:
        waiting.cancel()
        work.cancel()
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)


def fail_of_system(error: OSError, *, as_json: bool = False) -> NoReturn:
    """Print what the operating system refused, on stderr, and exit with 1."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    problem = error.strerror or str(error) or type(error).__name__
    if error.filename:
        hint = "Free some space, or make it readable for this user."
        fail(CommandError(f"{error.filename}: {problem}.", hint), as_json=as_json)
    fail(CommandError(problem), as_json=as_json)


def _drop_output() -> None:
    """Discard what standard output did not take; Python would report it again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(error: CommandError, *, as_json: bool = False) -> NoReturn:
    """Print an error on stderr and exit with its code."""
    if as_json:
        print_json(error.as_dict(), line=True, stderr=True)
    else:
        make_console(stderr=True).print(printable_line(str(error)), style="red", soft_wrap=True)
    raise typer.Exit(error.exit_code)
