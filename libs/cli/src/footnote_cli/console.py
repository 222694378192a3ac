"""Where output goes: results on stdout, progress and errors on stderr, no colours or bars when nobody is looking."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console

# What is piped into a file or another program is never cut or wrapped to fit a screen that isn't there.
_PIPE_WIDTH = 200


def make_console(*, stderr: bool = False) -> Console:
    """Return a console for stdout or stderr, as wide as the terminal, or wide and plain in a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)


def as_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON-ready values with the proto's own field names."""
    result: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return result


def print_json(value: Message | Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    data = as_dict(value) if isinstance(value, Message) else value
    sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()
