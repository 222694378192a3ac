"""Parses callers' JSON within limits: size, depth and number of values are checked before objects are built.

Large bodies are parsed in threads. The parser holds the interpreter lock except where it calls back into Python; so
functions convert the numbers of long vectors.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from footnote_kit.errors import InvalidArgument

T = TypeVar("T")

MAX_DEPTH = 64
MAX_VALUES = 50_000
MAX_NUMBERS = 65_536
"""Maximum numbers in one list of numbers only; such a list counts as one value."""
MAX_NAME = 2048
"""Maximum bytes of a name as it is written; protobuf's parser copies the names above a value for each value."""
AT_ONCE = 8 * 1024
"""Bytes of JSON that parse in well under two milliseconds, so that a thread is not worth its cost."""

# Every alternative begins with a different byte and is possessive: one linear pass for any text.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?(?:\s*+:)?|\[[-+0-9.eE,\s]++\]|[\[{]|[\]}]|,', re.DOTALL)
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_LARGE = "The body must hold no number beyond what a double can be, about 1.8e308"
_SURE_DIGITS = 300
_EXACT = 2**53


class Inexact(int):
    """A whole number that a double would change: an integer field takes it, and its conversion to a double raises.

    Metadata holds numbers as doubles, so that two ids of 64 bits would become one.
    """

    def __float__(self) -> float:
        raise ValueError(
            f"{int(self)} would change, because numbers are kept as doubles and this one is beyond 2^53; "
            "send it in quotes, or with a decimal point if its first 15 digits are enough"
        )


_threads = ThreadPoolExecutor(2, thread_name_prefix="http-json")


def parse(body: bytes) -> Any:
    """Return the JSON of a body, an empty object for none; raises InvalidArgument for invalid or excessive JSON."""
    if not body.strip():
        return {}
    check(body)
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_float=_real, parse_int=_whole, parse_constant=_constant)
        if _LONE_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is not valid text in any contract
    except (ValueError, RecursionError):
        raise InvalidArgument("The body must be valid JSON in UTF-8") from None
    return value


def check(body: bytes) -> None:
    """Raise InvalidArgument for JSON that is nested too deep, or has too many values or too long a name."""
    depth = values = 0
    for token in _TOKEN.finditer(body):
        found = token.group()
        first = found[:1]
        if first == b'"':
            if len(found) > MAX_NAME and found.endswith(b":"):
                raise InvalidArgument(f"A name in the body must have at most {MAX_NAME} bytes")
            continue
        if first == b",":
            values += 1
        elif first in b"]}":
            depth -= 1
        elif len(found) > 1:
            values += 1
            if found.count(b",") >= MAX_NUMBERS:
                raise InvalidArgument(f"A list in the body must have at most {MAX_NUMBERS} numbers")
        else:
            values += 1
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidArgument(f"The body must be nested at most {MAX_DEPTH} deep; make it flatter")
        if values > MAX_VALUES:
            raise InvalidArgument(f"The body must hold at most {MAX_VALUES} values; send it in several requests")


async def aside(size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, in a thread if `size` bytes of JSON would block the event loop."""
    if size <= AT_ONCE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_threads, copy_context().run, work)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidArgument(_TOO_LARGE)
    return value


def _whole(text: str) -> int:
    if len(text) > _SURE_DIGITS and not math.isfinite(float(text)):
        raise InvalidArgument(_TOO_LARGE)
    number = int(text)
    return number if abs(number) <= _EXACT else Inexact(number)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
