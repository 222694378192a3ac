"""Bytes of a text file to text: byte order marks, UTF-8, UTF-16/32 without a mark, then the likeliest encoding."""

from __future__ import annotations

import codecs

from charset_normalizer import from_bytes

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")


def guess(data: bytes) -> str:
    """Name of the codec that reads `data` (a file or its beginning), or "" when it does not look like text."""
    if not data:
        return "utf-8"
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    head = data[:_SAMPLE]
    if b"\0" in head:
        return _wide(head)
    controls = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    if controls > len(head) * 0.02:
        return ""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 3 and len(head) > 3:  # cut inside a character by the sample
            return "utf-8"
        return _legacy(head)
    return "utf-8"


def _wide(head: bytes) -> str:
    """UTF-32 or UTF-16 without a mark: told by where the zero bytes are, and by decoding."""
    zeros = [head[k::4].count(0) for k in range(4)]
    quarter = max(len(head) // 4, 1)
    if zeros[0] >= quarter * 0.9 and zeros[1] >= quarter * 0.9:
        name = "utf-32-be"
    elif zeros[3] >= quarter * 0.9 and zeros[2] >= quarter * 0.9:
        name = "utf-32-le"
    elif zeros[0] + zeros[2] > quarter and zeros[1] + zeros[3] < quarter * 0.1:
        name = "utf-16-be"
    elif zeros[1] + zeros[3] > quarter and zeros[0] + zeros[2] < quarter * 0.1:
        name = "utf-16-le"
    else:
        return ""
    try:
        text = head[: len(head) // 4 * 4].decode(name)
    except UnicodeDecodeError:
        return ""
    printable = sum(1 for char in text if char.isprintable() or char.isspace())
    return name if printable > len(text) * 0.95 else ""


def _legacy(head: bytes) -> str:
    """Return the likeliest 8-bit or multi-byte encoding; short texts are taken for Western European."""
    high = sum(1 for byte in head if byte >= 0x80)
    if high < 24:  # too little to tell by statistics
        return "cp1252" if _decodes(head, "cp1252") else "latin-1"
    best = from_bytes(head).best()
    if best is not None and best.encoding != "ascii":
        return best.encoding
    return "cp1252" if high < len(head) * 0.3 else ""


def _decodes(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True


def decode(data: bytes) -> str:
    """Return the text of a text file; bytes that fit no encoding become the replacement character."""
    return data.decode(guess(data) or "utf-8", errors="replace")
