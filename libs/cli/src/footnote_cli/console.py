"""Output of commands: results on stdout, progress and errors on stderr, colours and bars only on a terminal.

All output of a command goes through here. Text from outside (documents, servers, file names) cannot control the
terminal: it is printed without control characters.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TextIO, TypeVar

import typer
from footnote_kit.printable import escaped, printable, printable_line, whole_numbers
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from footnote_cli.errors import Interrupted, usage_error

T = TypeVar("T")
# Output into a pipe or file is never cut or wrapped to a screen width.
_PIPE_WIDTH = 200


class SafeConsole(Console):
    """A console on which only rich itself can move the cursor or set colours, never the printed text."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; strings are made printable as a whole, before rich removes single characters."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)

    def on_broken_pipe(self) -> None:
        """Do nothing: the command handles a closed pipe, as after `| head`, which is no failure."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with the text of every segment made printable; control segments are rich's own."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else printable(segment.text)
            yield segment if text == segment.text else segment._replace(text=text)


def make_console(*, stderr: bool = False, pipe_width: int = _PIPE_WIDTH) -> SafeConsole:
    """Return a console for stdout or stderr, as wide as the terminal, or wide and plain in a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else pipe_width
    return SafeConsole(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)


def say(text: str, *, stderr: bool = False) -> None:
    """Print a text unchanged except for terminal controls; neither wrapped nor coloured."""
    stream = sys.stderr if stderr else sys.stdout
    stream.write(printable(text) + "\n")
    stream.flush()


def as_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON-ready values with the proto's own field names."""
    result: dict[str, Any] = whole_numbers(MessageToDict(message, preserving_proto_field_name=True))
    return result


def print_json(value: Message | Mapping[str, Any], *, line: bool = False, stderr: bool = False) -> None:
    """Print one JSON document, on one line if asked to; terminal controls are escaped in it."""
    data = as_dict(value) if isinstance(value, Message) else value
    stream = sys.stderr if stderr else sys.stdout
    stream.write(escaped(json.dumps(data, ensure_ascii=False, indent=None if line else 2)) + "\n")
    stream.flush()


def write_bytes(data: bytes) -> None:
    """Write a document's bytes to a standard output that is no terminal."""
    sys.stdout.buffer.write(data)


def is_screen() -> bool:
    """Whether the standard output is a terminal."""
    return sys.stdout.isatty()


def read_input(read: Callable[[], T]) -> T:
    """Return what `read` reads from the terminal or the standard input; raises Interrupted on Ctrl-C.

    Raises CommandError for what is not UTF-8. Nothing else happens meanwhile: it blocks the event loop. Ctrl-C cannot
    end a read in a thread, for which Python would also wait at the end of the command.
    """
    try:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:  # not in the main thread, which alone receives signals
        return _decoded(read)
    try:
        return _decoded(read)
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        signal.signal(signal.SIGINT, before)


def _decoded(read: Callable[[], T]) -> T:
    try:
        return read()
    except UnicodeDecodeError:
        raise usage_error("The input is not UTF-8.", "Convert it, for example with iconv.") from None


def can_ask() -> bool:
    """Whether a person can see a question and answer it."""
    return sys.stdin.isatty() and _question_stream() is not None


def ask_yes(question: str) -> bool:
    """Ask on the terminal and return whether the answer was yes; raises Abort at the end of the input."""
    stream = _question_stream() or sys.stderr

    def read() -> str:
        stream.write(f"{printable_line(question)} [y/N]: ")
        stream.flush()
        return sys.stdin.readline()

    if not (answer := read_input(read)):
        raise typer.Abort
    return answer.strip().lower() in ("y", "yes")


def _question_stream() -> TextIO | None:
    """Return the stream that shows a question, best not the one with the output; None without a terminal."""
    return next((stream for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)


def print_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an unexpected error, in place of Python's own way."""
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), stderr=True)
