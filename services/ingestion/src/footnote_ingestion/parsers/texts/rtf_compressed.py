"""Decompresses the RTF of Outlook messages ([MS-OXRTFCP]), the body of those without another."""

from __future__ import annotations

import struct

_COMPRESSED, _PLAIN = b"LZFu", b"MELA"
_HEADER = 16
_KNOWN = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0"
    b"\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
"""The initial contents of every stream's reference window."""
_WINDOW = 4096
_LEAST = 2


def decompress(data: bytes, most: int) -> bytes:
    """Return the RTF of a stream; ValueError if it is malformed, truncated or longer than `most` bytes."""
    if len(data) < _HEADER:
        raise ValueError("no header")
    _, size, kind, _ = struct.unpack_from("<II4sI", data)
    if size > most:
        raise ValueError("too long")
    if kind == _PLAIN:
        return data[_HEADER : _HEADER + size]
    if kind != _COMPRESSED:
        raise ValueError("of another kind")
    return _unpacked(data, most)


def _unpacked(data: bytes, most: int) -> bytes:
    window = bytearray(_KNOWN.ljust(_WINDOW, b" "))
    made = bytearray()
    end = len(_KNOWN)
    at = _HEADER
    while at < len(data):
        flags = data[at]
        at += 1
        for bit in range(8):
            if flags >> bit & 1:
                if at + 1 >= len(data):
                    raise ValueError("cut off")
                reference = data[at] << 8 | data[at + 1]
                at += 2
                start, length = reference >> 4, (reference & 15) + _LEAST
                if start == end:
                    return bytes(made)
            elif at < len(data):
                start, length = -1, 1
            else:
                raise ValueError("cut off")
            for step in range(length):
                byte = data[at] if start < 0 else window[(start + step) % _WINDOW]
                made.append(byte)
                window[end] = byte
                end = (end + 1) % _WINDOW
            at += start < 0
            if len(made) > most:
                raise ValueError("too long")
    raise ValueError("cut off")
