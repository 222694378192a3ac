"""Cleans extracted text: removes invisible, broken and layout characters; every visible character stays.

It also joins words that are hyphenated at a line's end, and separates superscript digits from the number or word before
them, where a document marks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# C0/C1 controls but tab and line feed, soft hyphen, BOM, bidi isolates and marks, "no character" code points, lone
# surrogates (protobuf strings must be valid UTF-8). Zero-width joiners stay: Persian and emoji need them.
_DROP = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_SPACES = re.compile(r"[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


def newlines(text: str) -> str:
    r"""Return the text with every kind of line break as `\n`."""
    return _BREAKS.sub("\n", text)


def counted_lines(text: str) -> list[str]:
    """Return the lines as an editor counts them: form feeds and Unicode separators do not end a line."""
    return _BREAKS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")


def visible(text: str) -> str:
    """Return the text without control and invisible characters, with spacing and line feeds unchanged."""
    return _DROP.sub("", text)


def inline(text: str) -> str:
    """Return the text on one line: breaks and runs of spaces become one space, ligatures their letters."""
    if text.isascii() and text.isprintable():  # most lines: only single spaces to check
        return text.strip() if "  " not in text else _SPACES.sub(" ", text).strip()
    text = _DROP.sub("", newlines(text)).translate(_LIGATURES)
    return _SPACES.sub(" ", text.replace("\n", " ")).strip()


def preformatted(text: str) -> str:
    """Return code-like text: line breaks and indentation kept, trailing spaces and outer blank lines removed."""
    lines = [line.rstrip() for line in visible(newlines(text)).split("\n")]
    return "\n".join(lines).strip("\n")


_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_LAST_FRAGMENT = re.compile(r"(?<![^\W\d_])[^\W\d_]++$")
_FIRST_FRAGMENT = re.compile(r"[^\W\d_]+")


def words_of(text: str) -> set[str]:
    """Return the words of a document as written, with inner hyphens ("-" for U+2010), in lower case."""
    return set(_WORD.findall(text.lower().replace("\u2010", "-")))


def mend(text: str, part: str, vocabulary: set[str]) -> str:
    """Join a word split at a line's end; the hyphen stays if the document has that word with it elsewhere."""
    before, after = _LAST_FRAGMENT.search(text), _FIRST_FRAGMENT.match(part)
    if before is None or after is None:
        return f"{text}-{part}"
    whole = (before[0] + after[0]).lower()
    hyphenated = f"{before[0]}-{after[0]}".lower()
    keep = hyphenated in vocabulary and whole not in vocabulary
    if not keep and whole not in vocabulary:  # "CO-" + "Author", "Transformer-" + "XL": capitals are not hyphenation
        keep = after[0][0].isupper() and not before[0].isupper()
    return f"{text}-{part}" if keep else text + part


RAISED = "\x00"
"""Marks superscript text in a list of pieces; `joined` replaces it."""
_BEFORE = re.compile(r"(?<!\w)[^\W\d_]{1,3}\Z")
_FIGURE = re.compile(r"[-−–+]?\d+")
_ABOVE = str.maketrans("0123456789-−–+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")
_MOST_BEFORE = 8


def starts_as_figure(text: str) -> bool:
    """Return whether a text begins with a digit, after white space."""
    return _FIGURE.match(text.lstrip()) is not None


def joined(pieces: Iterable[str]) -> str:
    """Join pieces of text, without NULs.

    Superscript digits become "m²" after a word as short as a unit, else "102^3", so that they do not extend the number
    before them. "[3]" is separate already.
    """
    made: list[str] = []
    last = ""
    for piece in pieces:
        raised = piece.startswith(RAISED)
        text = piece.replace(RAISED, "")
        if raised and last[-1:].strip() and (figure := _FIGURE.match(text)):
            is_unit = _BEFORE.search(last) and figure.end() == len(text)
            text = text.translate(_ABOVE) if is_unit else f"^{text}"
        if text:
            made.append(text)
            last = (last + text)[-_MOST_BEFORE:]
    return "".join(made)
