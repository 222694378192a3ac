"""Pictures in the binary formats of Office 97 to 2003: where their drawings (Office Art, MS-ODRAW) show one."""

from __future__ import annotations

import struct
from collections.abc import Iterator

SHAPE, PROPERTIES, ANCHOR = 0xF004, 0xF00B, 0xF010
_PICTURE = 0x0104
"""The property "pib" of a shape: the number of its picture in the file's store, from 1."""
_PROPERTY_BYTES = 6
_MAX_DEPTH = 40


def records(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool, int, int]]:
    """Yield (type, instance, is a container, start, end) of the records between two offsets."""
    while start + 8 <= end:
        version, kind, length = struct.unpack_from("<HHI", data, start)
        body, after = start + 8, min(start + 8 + length, end)
        yield kind, version >> 4, version & 0xF == 0xF, body, after
        start = after if after > start else end


def pictures(data: bytes, start: int, end: int, depth: int = 0) -> Iterator[bytes]:
    """Yield the anchor of each shape that shows a picture, in the form of its application; empty for none."""
    for kind, _, container, first, last in records(data, start, end):
        if kind == SHAPE:
            parts = {one: (instance, begin, stop) for one, instance, _, begin, stop in records(data, first, last)}
            if PROPERTIES in parts and _shows_picture(data, *parts[PROPERTIES]):
                _, begin, stop = parts.get(ANCHOR, (0, 0, 0))
                yield data[begin:stop]
        elif container and depth < _MAX_DEPTH:
            yield from pictures(data, first, last, depth + 1)


def _shows_picture(data: bytes, count: int, start: int, end: int) -> bool:
    """Return whether the table of a shape's properties, `count` of them, names a picture."""
    for at in range(start, min(start + count * _PROPERTY_BYTES, end - _PROPERTY_BYTES + 1), _PROPERTY_BYTES):
        name, value = struct.unpack_from("<HI", data, at)
        if name & 0x3FFF == _PICTURE and value:
            return True
    return False
