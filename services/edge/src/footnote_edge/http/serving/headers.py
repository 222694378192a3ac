"""Security headers of every HTTP response: no type guessing, no framing, no referrer."""

from collections.abc import Mapping

SAFE: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers that a response gets unless it sets them itself; pages have their own policy."""

LINES = "".join(f"{name}: {value}\r\n" for name, value in SAFE.items())
"""The same headers as lines of a head."""
