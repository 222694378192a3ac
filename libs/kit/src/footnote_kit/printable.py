"""Values as people see them: text safe for a terminal or a log, words for enum values, whole numbers.

Visible text stays; control characters and escape sequences go.
"""

import re
from typing import Any

from google.protobuf.descriptor import EnumDescriptor

# Whole sequences first, so that no part of one remains as text: CSI, strings such as a window title, other escapes.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"
    r"|(?:\x1b[\]P^_X]|[\x9d\x90\x9e\x9f\x98])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,16}[0-~]"
)
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
# Emoji and some scripts need joiners; elsewhere they hide text.
_SILENT = re.compile(f"[{_CONTROL}]|(?<![\u0600-\U0010ffff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\U0010ffff])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUSPECT = re.compile(f"[{_CONTROL}\u200c\u200d\u2028\u2029\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text without escape sequences, control characters, bidirectional marks and invisible characters.

    All kinds of line breaks become line feeds; tabs stay. A text without such characters is returned unchanged.
    """
    if not _SUSPECT.search(text):
        return text
    text = _LINE_BREAK.sub("\n", text)
    text = _SILENT.sub("", _SEQUENCE.sub("", text))
    return _SURROGATE.sub("\ufffd", text)


def printable_line(text: str) -> str:
    """Return the printable text on one line, so that a name or message cannot pose as a line of its own."""
    shown = printable(text)
    return shown if "\n" not in shown and "\t" not in shown else " ".join(shown.split())


def escaped(json_text: str) -> str:
    """Return JSON with unsafe characters escaped: it keeps its content and cannot affect a terminal."""
    return _SUSPECT.sub(_escape, json_text) if _SUSPECT.search(json_text) else json_text


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\n":
        return char
    if ord(char) > 0xFFFF:
        rest = ord(char) - 0x10000
        return f"\\u{0xD800 + (rest >> 10):04x}\\u{0xDC00 + (rest & 0x3FF):04x}"
    return f"\\u{ord(char):04x}"


def enum_word(enum: EnumDescriptor, number: int) -> str:
    """Return a value's name without the enum's prefix, such as "STORE_UNAVAILABLE"; an unknown number as digits."""
    known = enum.values_by_number
    prefix = known[0].name.removesuffix("UNSPECIFIED")
    return known[number].name.removeprefix(prefix) if number in known else str(number)


_EXACT = 2**53


def whole_numbers(value: Any) -> Any:
    """Return a JSON value in which doubles without a fraction are integers again: 5.0 becomes 5."""
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value
