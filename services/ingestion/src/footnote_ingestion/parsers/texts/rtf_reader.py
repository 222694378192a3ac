"""Splits Rich Text Format into pieces: text with its role, and the control words that end or lay out something.

Groups without text are skipped. Characters are decoded by their font's code page or by their Unicode number.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from footnote_ingestion.parsers.symbols import in_font

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,9})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n\0]++|([^\\{}\r\n\0]++)|\\",
    re.DOTALL,
)
_LONGEST_NAME = 100
_DEEPEST = 2_000
"""Limit on nested groups; deeper ones are read at this depth."""

# The role of a group's content by its first control word; other groups have the role of the text around them.
BODY, NOTE, COMMENT, AUTHOR, MARGIN, HIDDEN, HTML, TITLE, WRITER, STYLE, CHOICE, SKIPPED = (
    "body", "note", "comment", "author of a comment", "margin", "hidden", "html", "title", "writer", "style", "choice",
    "skipped",
)  # fmt: skip
_GROUPS = {
    "footnote": NOTE, "annotation": COMMENT, "atnauthor": AUTHOR, "htmltag": HTML, "title": TITLE, "author": WRITER,
    "ffl": CHOICE,
    **dict.fromkeys(("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"), MARGIN),
    **dict.fromkeys((
        "fonttbl", "colortbl", "info", "pict", "objdata", "objclass", "fldinst", "revtbl", "filetbl", "bkmkstart",
        "bkmkend", "xe", "tc", "tcn", "rxe", "txe", "private", "sp", "shprslt", "pntxta", "pntxtb", "nonshppict",
        "nonesttables", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "mhtmltag", "mmath",
    ), SKIPPED),
}  # fmt: skip
# Groups that a reader may ignore if unknown, but that hold text.
_TRANSPARENT = frozenset(("shpinst", "shptxt"))
_IN_INFO = frozenset((TITLE, WRITER))
_IN_SKIPPED = frozenset((TITLE, WRITER, CHOICE))
# Of a form's field: its type (1 a box, 2 a list), its value, and the value before anything is chosen.
_OF_FORMS = frozenset(("fftype", "ffres", "ffdefres"))
_NOT_CHOSEN = 25
_SIGNS = {
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    **dict.fromkeys(("tab", "emspace", "enspace", "qmspace", "nestcell", "nestrow"), " "), "line": "\n", "lbr": "\n",
}  # fmt: skip
_SYMBOLS = {b"~": "\xa0", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}
# Character sets of fonts, as Windows numbers them.
_CHARSETS = {
    2: "latin-1", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "cp1361", 134: "cp936", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, or a control `word` with its number; `of` is its role."""

    of: str
    text: str = ""
    word: str = ""
    number: int | None = None
    raised: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    """The settings inside a group."""

    of: str = BODY
    codec: str = ""
    font: str = ""
    skip: int = 1
    raised: bool = False
    hidden: bool = False
    struck: bool = False
    muted: bool = False
    """Whether it is inside text for RTF readers only, in a message that was HTML."""


def pieces(data: bytes) -> Iterator[Piece]:
    """Yield the pieces of a file in order; malformed parts are read as far as they make sense."""
    return _Reader(data).pieces()


class _Reader:
    """Reads one file; keeps a stack of group states, its fonts and its code page."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._font = 0
        self._state = _State()
        self._stack: list[_State] = []
        self._deeper = 0
        self._bytes = bytearray()
        self._high = ""
        self._in_fonts: list[int] = []
        self._begun = self._starred = False
        self._skip = 0
        self._form: dict[str, int] = {}
        self._choices: list[str] = []
        self._result = 0
        """Depth of the groups around the result of a form's field; 0 outside one."""

    def pieces(self) -> Iterator[Piece]:
        at = 0
        data = self._data
        while (found := _TOKEN.match(data, at)) is not None:
            at = found.end()
            word, number, code, symbol, brace, text = found.groups()
            if text is not None:
                self._begun = self._starred = False
                self._take(text)
            elif code is not None:
                self._take(bytes((int(code, 16),)))
            elif word is not None:
                name = word.decode("ascii")
                value = int(number) if number is not None else None
                if name == "bin":
                    at += max(value or 0, 0)
                elif name == "u" and value is not None:
                    yield from self._text()
                    yield from self._unicode(value & 0xFFFF)
                else:
                    yield from self._text()
                    yield from self._word(name, value)
            elif symbol == b"*":
                self._starred = self._begun
            elif symbol in _SYMBOLS:
                yield from self._text()
                yield from self._said(_SYMBOLS[symbol])
            elif symbol in (b"\n", b"\r"):
                yield from self._text()
                yield Piece(self._state.of, word="par")
            elif brace is not None:
                yield from self._text()
                if brace == b"}" and self._result and len(self._stack) == self._result:
                    yield from self._chosen()
                self._brace(brace == b"{")
        yield from self._text()

    def _brace(self, opens: bool) -> None:
        self._skip = 0
        self._begun, self._starred = opens, False
        if opens:
            if len(self._stack) < _DEEPEST:
                self._stack.append(self._state)
            else:
                self._deeper += 1
        elif self._deeper:
            self._deeper -= 1
        elif self._stack:
            self._state = self._stack.pop()
            while self._in_fonts and self._in_fonts[-1] > len(self._stack):
                self._in_fonts.pop()

    def _take(self, text: bytes) -> None:
        """Collect bytes of text, except fallbacks of a character already given by number."""
        if self._skip:
            gone = min(self._skip, len(text))
            self._skip -= gone
            text = text[gone:]
        self._bytes += text

    def _unicode(self, number: int) -> Iterator[Piece]:
        """Yield a character by its number; its fallback for older readers is skipped."""
        self._skip = self._state.skip
        if 0xD800 <= number < 0xDC00:
            self._high = chr(number)
            return
        text = self._high + chr(number)
        self._high = ""
        yield from self._said(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    def _text(self) -> Iterator[Piece]:
        """Yield the collected text."""
        if self._bytes:
            text = bytes(self._bytes).decode(self._state.codec or self._page, errors="replace")
            self._bytes.clear()
            yield from self._said(text)

    def _said(self, text: str) -> Iterator[Piece]:
        state = self._state
        if state.of == CHOICE and self._choices:
            self._choices[-1] += text
            return
        if self._result and text.strip():  # the result is written out
            self._result, self._form = 0, {}
        if self._in_fonts and len(self._stack) <= self._in_fonts[-1] + 1:
            self._names[self._font] = (self._names.get(self._font, "") + text)[:_LONGEST_NAME]
        if state.of == SKIPPED or (state.muted and state.of != HTML):
            return
        if state.font:
            text = in_font(text, state.font)
        yield Piece(
            HIDDEN if (state.hidden or state.struck) and state.of != HTML else state.of, text, raised=state.raised
        )

    def _chosen(self) -> Iterator[Piece]:
        """Yield whether the box of a form is ticked, or the entry that is chosen of its list."""
        form, self._form, self._result = self._form, {}, 0
        number = form.get("ffres", _NOT_CHOSEN)
        number = form.get("ffdefres", 0) if number == _NOT_CHOSEN else number
        if form.get("fftype") == 1:
            yield from self._said("☑" if number else "☐")
        elif 0 <= number < len(self._choices):
            yield from self._said(self._choices[number])

    def _word(self, name: str, number: int | None) -> Iterator[Piece]:
        begun, starred = self._begun, self._starred
        self._begun = self._starred = False
        self._skip = 0
        state = self._state
        if begun and self._group(name, starred):
            yield Piece(self._state.of, word=name, number=number)
            return
        if name == "ansicpg" and number:
            self._page = _codec(f"cp{number}") or self._page
        elif name in ("mac", "pc", "pca"):
            self._page = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[name]
        elif name == "f" and number is not None:
            self._font = number
            if not self._in_fonts:
                name = self._names.get(number, "").strip(" ;")
                self._state = replace(state, codec=self._fonts.get(number, ""), font=name)
        elif name == "fcharset" and self._in_fonts:
            self._fonts[self._font] = _CHARSETS.get(number or 0, "")
        elif name == "uc":
            self._state = replace(state, skip=min(max(number or 0, 0), 100))
        elif name in ("super", "nosupersub", "sub", "up", "dn"):
            self._state = replace(state, raised=name == "super" or (name == "up" and number != 0))
        elif name in ("v", "deleted"):
            self._state = replace(state, hidden=number != 0)
        elif name in ("strike", "striked"):
            self._state = replace(state, struck=number != 0)
        elif name == "plain":
            self._state = replace(state, raised=False, hidden=False, struck=False, font="")
        elif name == "htmlrtf":
            self._state = replace(state, muted=number != 0)
        elif name in _OF_FORMS:
            self._form[name] = number or 0
        elif name == "fldrslt" and self._form and state.of != SKIPPED:
            self._result = len(self._stack)
        elif name in _SIGNS:
            yield from self._said(_SIGNS[name])
        elif state.of != SKIPPED and not (state.muted and state.of != HTML):
            yield Piece(state.of, word=name, number=number)

    def _group(self, name: str, starred: bool) -> bool:
        """Record the role of the group that a control word begins; return whether it has one of its own."""
        of = _GROUPS.get(name)
        state = self._state
        if name == "fonttbl":
            self._in_fonts.append(len(self._stack))
        if name == "fldinst":
            self._form, self._choices = {}, []
        elif name == "ffl":
            self._choices.append("")
        if state.of == SKIPPED:
            if of not in _IN_SKIPPED:
                return False
        elif name == "stylesheet":
            of = STYLE
        elif of is None and starred and name not in _TRANSPARENT and state.of != STYLE:
            of = SKIPPED
        if of is None or (of in _IN_INFO and state.of != SKIPPED):
            return False
        self._state = replace(state, of=of, raised=False)
        return True


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""
