"""Codecs for the encodings that mails and pages declare: programs write larger ones than they say (WHATWG Encoding).

Two of the larger ones are in no library, those of Windows for Japanese; they are registered with Python here.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

# Every browser reads texts that declare the first encoding as the second, and their authors mean it.
_LARGER = {
    "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "tis-620": "cp874", "iso8859-11": "cp874", "euc_kr": "cp949", "big5": "cp950",
    "iso2022_jp": "cp50221", "euc_jp": "cp51932",
}  # fmt: skip
_NAMES = {"iso-8859-8-i": "iso-8859-8", "iso-8859-6-i": "iso-8859-6", "x-sjis": "shift_jis", "x-gbk": "gbk"}
_STANDARD = {"cp50221": "iso2022_jp_ext", "cp51932": "euc_jp"}
_ESCAPE = re.compile(rb"\x1b(\$[@B]|\([BJI]|\$\(D)")
_PAIRS_OF_7_BITS = re.compile(rb"((?:[\x21-\x7e]{2})+)")
_PAIRS_OF_8_BITS = re.compile(rb"((?:[\xa1-\xfe]{2})+|(?:\x8e[\xa1-\xdf])+|(?:\x8f[\xa1-\xfe]{2})+)")


def as_browsers(name: str) -> str:
    """Return the codec with which browsers read an encoding; its own name if no codec has it."""
    try:
        found = codecs.lookup(_NAMES.get(name.lower(), name)).name
    except (LookupError, ValueError):
        return name
    return _LARGER.get(found, found)


def _search(name: str) -> codecs.CodecInfo | None:
    if (standard := _STANDARD.get(name)) is None:
        return None

    def decode(buffer: Any, errors: str = "strict") -> tuple[str, int]:
        data = bytes(buffer)
        try:
            return data.decode(standard), len(data)
        except UnicodeDecodeError:
            by_hand = _of_mails if name == "cp50221" else _of_unix
            return by_hand(data, errors), len(data)

    return codecs.CodecInfo(codecs.lookup(standard).encode, decode, name=name)


codecs.register(_search)


def _of_mails(data: bytes, errors: str) -> str:
    """Decode ISO-2022-JP with the signs of Windows."""
    made: list[str] = []
    escape = b"(B"
    for at, piece in enumerate(_ESCAPE.split(data)):
        if at % 2:
            escape = piece
        elif escape in (b"$@", b"$B"):
            for number, part in enumerate(_PAIRS_OF_7_BITS.split(piece)):
                made.append(_shifted(part, 0).decode("cp932", errors) if number % 2 else part.decode("cp932", errors))
        elif escape == b"(I":  # katakana of half width
            made.append(bytes(one | 0x80 if 0x21 <= one <= 0x5F else one for one in piece).decode("cp932", errors))
        elif escape == b"$(D":
            made.append((b"\x1b$(D" + piece + b"\x1b(B").decode("iso2022_jp_ext", errors))
        else:
            made.append(piece.decode("ascii", errors))
    return "".join(made)


def _of_unix(data: bytes, errors: str) -> str:
    """Decode EUC-JP with the signs of Windows."""
    made: list[str] = []
    for part in _PAIRS_OF_8_BITS.split(data):
        if part[:1] in (b"\x8e", b"\x8f"):
            made.append(part.decode("euc_jp", errors))
        elif len(part) > 1 and part[0] >= 0xA1 and part[-1] >= 0xA1:
            made.append(_shifted(part, 0x80).decode("cp932", errors))
        else:
            made.append(part.decode("ascii", errors))
    return "".join(made)


def _shifted(pairs: bytes, offset: int) -> bytes:
    """Return rows and cells of JIS X 0208, two bytes each, in Shift_JIS."""
    made = bytearray()
    for row, cell in zip(pairs[::2], pairs[1::2], strict=True):
        row, cell = row - offset, cell - offset
        first = ((row - 0x21) >> 1) + 0x81
        second = cell + (0x7E if not row & 1 else 0x1F if cell < 0x60 else 0x20)
        made += bytes((first + 0x40 if first > 0x9F else first, second))
    return bytes(made)
