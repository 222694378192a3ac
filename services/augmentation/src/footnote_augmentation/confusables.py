"""Maps letters, digits and brackets that look like ASCII ones to ASCII.

Compatibility forms (fullwidth, mathematical, circled) come from Unicode's own tables; combining marks and invisible
characters are removed. A small table adds Cyrillic, Greek, Armenian and phonetic letters.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_LETTERS = {
    "a": "аαɑᴀａ", "b": "ЬʙВΒ", "c": "сϲᴄⅽС", "d": "ԁᴅⅾ", "e": "еєҽᴇεЕΕ", "g": "ɡԍɢ", "h": "һհНΗʜ", "i": "іıιɩɪІΙ",
    "j": "јϳ", "k": "кκᴋКΚ", "m": "мᴍⅿМΜ", "n": "ոռɴΝ", "o": "оοօσᴏøОΟ", "p": "рρᴘРΡ", "q": "ԛգ",
    "r": "гᴦʀɾ", "s": "ѕꜱʂЅ", "t": "тτᴛТΤ", "u": "υսᴜʋ", "v": "ѵνᴠ", "w": "ѡԝᴡա", "x": "хχ×Х", "y": "уүγʏУΥ",
    "z": "ᴢΖ",
    "l": "ӏⅼʟ", "[": "［【〔⟦❲⁅〖〚⦋﹝⟬⎡", "]": "］】〕⟧❳⁆〗〛⦌﹞⟭⎤",
    "<": "≪⋘＜﹤〈⟨❮˂ᐸ≺", ">": "≫⋙＞﹥〉⟩❯˃ᐳ≻", ":": "꞉։׃：﹕︓", "#": "＃﹟",
    "|": "｜ǀ∣⏐", "/": "∕⁄⧸", "-": "‐‑‒–—―−",
}  # fmt: skip
_READS = {look: plain for plain, looks in _LETTERS.items() for look in looks}


class _Reading(dict[str, str]):
    """The ASCII reading of each character, computed once."""

    def __missing__(self, char: str) -> str:
        reading = self._of(char)
        if len(self) < 65_536:
            self[char] = reading
        return reading

    @staticmethod
    def _of(char: str) -> str:
        if char in _READS:
            return _READS[char]
        digit = unicodedata.digit(char, None)
        if digit is not None:
            return str(digit)
        if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            return ""
        plain = unicodedata.normalize("NFKD", char)
        if plain == char or (char.isalpha() and not plain.strip()):
            return char
        return (
            "".join(_READS.get(part, part) for part in plain if unicodedata.category(part) not in {"Mn", "Me"}) or char
        )


_reading = _Reading()


@dataclass(frozen=True, slots=True)
class Reading:
    """The ASCII reading of a text; `origin` maps its characters to the text, None when nothing moved."""

    text: str
    origin: tuple[int, ...] | None

    def source(self, index: int) -> int:
        """Return the position in the text of a character of the reading."""
        return index if self.origin is None else self.origin[index]


def read(text: str) -> Reading:
    """Return the ASCII reading of a text."""
    if text.isascii():
        return Reading(text, None)
    parts = [_reading[char] if ord(char) > 0x7F else char for char in text]
    if all(len(part) == 1 for part in parts):
        return Reading("".join(parts), None)
    origin = tuple(index for index, part in enumerate(parts) for _ in part)
    return Reading("".join(parts), origin)
