"""A key in every form in which it was ever seen in an error, and the search for what is left of it in a text."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

KEY = "sk-proj-Zq7wX2+rT9/vB4nM6k=Lp3Yd8sHj1"

FORMS = {
    "verbatim": KEY,
    "bearer": f"Bearer {KEY}",
    "header echo": f"authorization: Bearer {KEY}; x-api-key={KEY}",
    "url": f"https://api.example/v1?key={quote(KEY, safe='')}&x=1",
    "form": f"key={quote_plus(KEY)}",
    "lower-case escapes": quote(KEY, safe="").replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d"),
    "userinfo": f"https://user:{KEY}@proxy.example/v1",
    "quoted userinfo": f"postgresql://footnote:{quote(KEY, safe='')}@db/footnote",
    "base64": base64.b64encode(KEY.encode()).decode(),
    "basic": "Basic " + base64.b64encode(f"user:{KEY}".encode()).decode(),
    "base64 among more": base64.b64encode(f"a {KEY} z".encode()).decode(),
    "base64url": base64.urlsafe_b64encode(f"ab{KEY}".encode()).decode(),
    "json": json.dumps({"key": KEY}),
    "python": repr({"headers": {"authorization": f"Bearer {KEY}".encode()}}),
    "html": html.escape(f"<b>{KEY}</b>"),
    "hexadecimal": KEY.encode().hex(),
    "masked": f"Incorrect API key provided: {KEY[:7]}*****************{KEY[-4:]}. You can find your key",
    "masked by dots": f"{KEY[:12]}...{KEY[-6:]}",
    "masked by an ellipsis": f"{KEY[:12]}…{KEY[-6:]}",
    "masked by x": f"{KEY[:12]}XXXXXXXXXX",
    "cut": f"the key {KEY[:20]}",
    "its end": f"the key ends in {KEY[-12:]}",
    "upper case": KEY.upper(),
}  # fmt: skip


def leaks(text: str) -> list[str]:
    """Return what a text gives away of the key: any eight characters of it, and what encodes it."""
    encoded = {
        quote(KEY, safe=""), quote_plus(KEY), KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()[:24],
    }  # fmt: skip
    for offset in range(3):
        encoded.add(base64.b64encode(b"x" * offset + KEY.encode()).decode()[4:24])
        encoded.add(base64.urlsafe_b64encode(b"x" * offset + KEY.encode()).decode()[4:24])
    pieces = {KEY[at : at + 8] for at in range(4, len(KEY) - 7)}
    lowered = text.lower()
    masked = [f"{KEY[:7]}*", f"*{KEY[-4:]}", f"{KEY[:12]}.", f"{KEY[:12]}…", f"{KEY[:12]}x"]
    return [piece for piece in sorted({*encoded, *pieces, *masked}) if piece.lower() in lowered]
