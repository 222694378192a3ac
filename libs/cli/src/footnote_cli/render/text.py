"""Small pieces of text for several views: durations, sizes, times, shortened quotes, word wrap of a stream."""

import unicodedata
from collections.abc import Callable
from datetime import datetime

from footnote_kit.printable import printable
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from rich.cells import cell_len

_KIBI = 1024


def seconds(duration: Duration) -> float:
    """Return a duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


def milliseconds(value: float) -> str:
    """Return milliseconds for people: "0.42 ms", "18.3 ms", "1 204 ms", "12.4 s", "2.0 min"."""
    if value < 1:
        return f"{value:.2f} ms"
    if value < 1_000:
        return f"{value:.1f} ms"
    if value < 10_000:
        return f"{value:,.0f} ms".replace(",", " ")
    if value < 120_000:
        return f"{value / 1000:.1f} s"
    return f"{value / 60_000:.1f} min"


def elapsed(seconds_taken: float) -> str:
    """Return a duration for people: "240 ms", "3.6 s", "2 min 5 s"."""
    if seconds_taken < 1:
        return f"{seconds_taken * 1000:.0f} ms"
    if seconds_taken < 60:
        return f"{seconds_taken:.1f} s"
    minutes, rest = divmod(round(seconds_taken), 60)
    return f"{minutes} min {rest} s"


def shorten(text: str, width: int) -> str:
    """Return a text cut in its middle to at most `width` characters: names differ at both ends."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"


def size(count: int) -> str:
    """Return bytes for people in binary units: "812 B", "14.2 KiB"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < _KIBI:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= _KIBI
    return f"{value:.1f} GiB"


def moment(stamp: Timestamp) -> str:
    """Return a time in the reader's own zone to the minute, or "" when it is unset."""
    if stamp.seconds == 0 and stamp.nanos == 0:
        return ""
    return datetime.fromtimestamp(stamp.seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str, limit: int = 200) -> str:
    """Return a text on one line, cut at a word near `limit` characters with an ellipsis."""
    flat = " ".join(printable(text).split())
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ")
    if space > limit * 2 // 3:
        cut = cut[:space]
    return cut.rstrip(" ,;:.–—-") + "…"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return "1 chunk", "2 chunks", "1 204 chunks"."""
    word = noun if count == 1 else (many or noun + "s")
    return f"{count:,}".replace(",", " ") + f" {word}"


_NOT_BEFORE = ("Pe", "Pf", "Po", "Lm", "Sk")
_NOT_AFTER = ("Ps", "Pi")
_JOINER = "\u200d"


def _may_break(before: str, after: str) -> bool:
    """Whether a line may end between two characters that are no spaces: beside a wide one, except at its marks."""
    if before == _JOINER or not cell_len(after) or 2 not in (cell_len(before), cell_len(after)):
        return False
    return unicodedata.category(after) not in _NOT_BEFORE and unicodedata.category(before) not in _NOT_AFTER


class WordWrapper:
    """Writes text in pieces and breaks lines at `width` columns, of which wide characters take two; 0 never breaks.

    Lines end between words, and beside Chinese, Japanese and Korean characters and emoji.
    """

    def __init__(self, write: Callable[[str], None], width: int) -> None:
        self._write = write
        self._width = width
        self._column = 0
        self._spaces = 0
        self._word = ""

    def feed(self, text: str) -> None:
        """Take the next piece. The word it ends in is held back until the next piece or `finish`."""
        if self._width == 0:
            self._write(text)
            self._column = 0 if text.endswith("\n") else 1
            return
        for character in text:
            if character == "\n":
                self._flush()
                self._write("\n")
                self._column = self._spaces = 0
            elif character == " ":
                self._flush()
                self._spaces += 1
            else:
                if self._word and _may_break(self._word[-1], character):
                    self._flush()
                self._word += character

    def finish(self) -> None:
        """Write what is held back and end the line if one is begun."""
        self._flush()
        if self._column:
            self._write("\n")
            self._column = 0

    def _flush(self) -> None:
        if not self._word:
            return
        width = cell_len(self._word)
        if self._column and self._column + self._spaces + width > self._width:
            self._write("\n" + self._word)
            self._column = width
        else:
            # Drop an indentation if the word would not fit after it.
            spaces = self._spaces if self._column else min(self._spaces, max(0, self._width - width))
            self._write(" " * spaces + self._word)
            self._column += spaces + width
        self._word = ""
        self._spaces = 0
