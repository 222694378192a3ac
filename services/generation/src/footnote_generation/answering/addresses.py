"""Addresses in links: which kinds an answer may contain, however they are written."""

from __future__ import annotations

import html
import re
import unicodedata
from urllib.parse import unquote

ALLOWED = frozenset({"http", "https", "mailto"})
LONGEST = 512
"""Number of characters within which an address must show its kind."""

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]*+):(.?)")
# The first character before a colon that neither belongs to a scheme nor encodes one that does.
_RELATIVE = re.compile(r"\A<?[A-Za-z0-9+.\-]*+[!\"#$'()*,/;<=>?@\[\]^_`{|}~]")
_GAP = re.compile(r"[ \t\n>]{0,200}")
_BARE = re.compile(r"[^\s]{0,512}")
_ANGLED = re.compile(r"<[^>\n]{0,512}")
_MAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}+@[A-Za-z0-9.-]{1,255}+")
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def is_forbidden(address: str, definition: bool = False) -> bool:
    """Return whether an address is forbidden in answers, after undoing escapes, entities and white space.

    In a definition a bare "word:" is no scheme: "[1]: Total: 5" is a sentence.
    """
    if _RELATIVE.match(address):
        return False
    plain = address
    for _ in range(3):
        plain = html.unescape(_ESCAPED.sub(r"\1", plain))
    for text in (plain, unquote(plain)):
        shown = "".join(char for char in text if unicodedata.category(char) not in _INVISIBLE)
        scheme = _SCHEME.match(shown.lstrip("<"))
        if scheme and scheme[1].lower() not in ALLOWED and (scheme[2] or not definition):
            return True
    return False


def read(text: str, start: int, final: bool, definition: bool = False) -> bool | None:
    """Return whether the address that begins at or after `start` is forbidden; None while more text is needed."""
    gap = _GAP.match(text, start)
    begin = gap.end() if gap else start
    if begin - start >= 200:
        return True
    angled = text[begin : begin + 1] == "<"
    found = (_ANGLED if angled else _BARE).match(text, begin)
    address = found.group() if found else ""
    ended = len(address) >= LONGEST or begin + len(address) < len(text)
    if not ended and not final:
        return None
    if is_forbidden(address, definition):
        return True
    return len(address) >= LONGEST and ":" not in address and not _RELATIVE.match(address)


def is_autolink(inner: str) -> bool:
    """Return whether the text between angle brackets is a permitted address."""
    kind, colon, rest = inner.partition(":")
    return bool((colon and rest and kind.lower() in ALLOWED) or _MAIL.fullmatch(inner))
