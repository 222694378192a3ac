"""Times among the fixed properties of an Outlook message (MS-OXMSG 2.4): sent messages have no transport headers."""

from __future__ import annotations

import email.utils
import struct
from datetime import UTC, datetime, timedelta

import olefile  # type: ignore[import-untyped]

_STREAM, _HEAD = "__properties_version1.0", 32
_ENTRY = struct.Struct("<IIQ")
_SUBMITTED, _DELIVERED = 0x00390040, 0x0E060040
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_TICKS = 10
"""Of 100 ns in a microsecond."""


def sent_at(ole: olefile.OleFileIO) -> str:
    """Return when a message was sent, or else delivered, as a mail's header says it; empty if it does not say."""
    if not ole.exists(_STREAM):
        return ""
    data: bytes = ole.openstream(_STREAM).read()
    end = _HEAD + (len(data) - _HEAD) // _ENTRY.size * _ENTRY.size
    found = {tag: value for tag, _, value in _ENTRY.iter_unpack(data[_HEAD:end])}
    ticks = found.get(_SUBMITTED) or found.get(_DELIVERED) or 0
    try:
        moment = _EPOCH + timedelta(microseconds=ticks // _TICKS)
    except OverflowError:
        return ""
    return email.utils.format_datetime(moment) if ticks else ""
