"""Headers of every HTTP answer that tell browsers what not to do: guess its type, frame it, tell others where it is."""

from collections.abc import Mapping

SAFE: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""What an answer has unless it says otherwise; pages have a policy of their own."""

LINES = "".join(f"{name}: {value}\r\n" for name, value in SAFE.items())
"""The same as lines of a head."""
