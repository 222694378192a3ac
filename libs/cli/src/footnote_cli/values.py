"""Parses the values that people type: `key=value` metadata, durations."""

import json
import math
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer
from footnote.types.v1.filter_pb2 import Filter
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_cli.console import ask_yes, can_ask, read_input
from footnote_cli.errors import CommandError, usage_error

_EXACT = 2**53
"""Metadata holds numbers as doubles; a whole number beyond this changes in one."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_metadata(pairs: Iterable[str]) -> Struct:
    """Parse `key=value` pairs as a Struct; a value that is JSON (a number, true, a list) is parsed as such.

    A number that a double cannot hold stays the text that it is.
    """
    result = Struct()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise usage_error(f"'{pair}' is not metadata.", "Write it as key=value, for example --meta year=2026.")
        try:
            parsed = json.loads(value, parse_int=_whole, parse_float=_fraction, parse_constant=str)
            result.update({key.strip(): parsed})
        except ValueError:
            result.update({key.strip(): value})
    return result


def _whole(digits: str) -> int | str:
    return number if abs(number := int(digits)) <= _EXACT else digits


def _fraction(digits: str) -> float | str:
    return number if math.isfinite(number := float(digits)) else digits


def parse_duration(text: str) -> Duration:
    """Parse "90s", "30m", "24h" or "7d" as a Duration."""
    match = re.fullmatch(r"(\d{1,8}(?:\.\d{1,8})?)\s{0,8}([smhd])", text.strip().lower())
    if match is None:
        raise usage_error(f"'{text}' is not a duration.", "Write it as 90s, 30m, 24h or 7d.")
    span = timedelta(**{_UNITS[match[2]]: float(match[1])})
    try:
        datetime.now(UTC) + span
    except OverflowError:
        raise usage_error(f"'{text}' is too long: it ends after the year 9999.") from None
    result = Duration()
    result.FromTimedelta(span)
    return result


def parse_moment(text: str) -> Timestamp:
    """Parse an ISO 8601 date or time as a Timestamp, in the reader's zone if it names none; "7d" is seven days ago."""
    result = Timestamp()
    try:
        moment = datetime.fromisoformat(text.strip())
        result.FromDatetime(moment if moment.tzinfo else moment.astimezone())
        return result
    except (ValueError, OverflowError):
        pass
    try:
        result.FromDatetime(datetime.now(UTC) - parse_duration(text).ToTimedelta())
    except (CommandError, ValueError, OverflowError):
        raise usage_error(f"'{text}' is no time.", "Write it as 2026-01-31, 2026-01-31T08:00Z or 7d (ago).") from None
    return result


def parse_filter(text: str) -> Filter | None:
    """Parse a metadata filter in JSON, which must be an object; None for an empty text."""
    if not text.strip():
        return None
    try:
        if isinstance(json.loads(text), dict):
            return Filter(json=text)
    except ValueError:
        pass
    problem = "Invalid filter: must be a JSON object."
    raise usage_error(problem, """Write an object in single quotes, for example --filter '{"year": {"$gte": 2024}}'.""")


def read_vector(path: Path) -> list[float]:
    """Return the numbers of a JSON list in a file; "-" is standard input."""
    try:
        text = read_input(lambda: sys.stdin.read()) if str(path) == "-" else path.read_text(encoding="utf-8")
        found = json.loads(text)
        if isinstance(found, list) and found and all(type(one) in (int, float) for one in found):
            return [float(one) for one in found]
    except (OSError, ValueError, OverflowError, RecursionError):
        pass
    raise usage_error(f"{path} holds no vector.", "Write a JSON list of numbers into it: [0.1, -0.25, 3]")


async def confirm(question: str, yes: bool) -> None:
    """Ask before a deletion; without a terminal to ask on, only `yes` confirms."""
    if yes:
        return
    if not can_ask():
        raise usage_error("This needs a confirmation, and there is no terminal to ask on.", "Add --yes.")
    if not ask_yes(question):
        raise typer.Exit(1)
