"""Characters of symbol fonts, whose codes are places in the font, as Unicode."""

from __future__ import annotations

import re

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.base import BlockWriter
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CODE = re.compile(r"[0-9a-fA-F]{1,6}")
UNKNOWN = "\ufffd"
_FROM_A0 = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
_FROM_20 = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
_BOXES = {0x6F: "☐", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
_SHAPES = {0x6C: "●", 0x6E: "■", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xD8: "➢"}
_ARROWS = {0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩"}
_SIGNS = {0x28: "☎", 0x2A: "✉", 0x46: "☞", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹"}
_FONTS: dict[str, dict[int, str]] = {
    "symbol": dict(enumerate(_FROM_20, 0x20)) | dict(enumerate(_FROM_A0, 0xA0)),
    "wingdings": _BOXES | _SHAPES | _ARROWS | _SIGNS,
    "wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"},
}


def read_symbol(element: etree._Element) -> str:
    """Return the character of a `w:sym`; `UNKNOWN` if its font or code is not known."""
    written = element.get(f"{_W}char") or ""
    code = int(written, 16) if _CODE.fullmatch(written) else 0
    if (known := _known(element.get(f"{_W}font") or "")) is not None:
        return known.get(code & 0xFF, UNKNOWN)
    return chr(code) if 0x20 <= code < 0xD800 else UNKNOWN


def read_text(element: etree._Element) -> str:
    """Return the text of a `w:t`; characters of a symbol font stand at F020 to F0FF, in the private area."""
    text: str = element.text or ""
    if text.isascii() or not any("\uf020" <= one <= "\uf0ff" for one in text):
        return text
    fonts = element.find(f"../{_W}rPr/{_W}rFonts")
    known = _known((fonts.get(f"{_W}hAnsi") or "") if fonts is not None else "") or {}
    return "".join(known.get(ord(one) & 0xFF, one) if "\uf020" <= one <= "\uf0ff" else one for one in text)


def in_font(text: str, font: str) -> str:
    """Return a text that is written in a font, which changes it only if its characters are known symbols.

    They stand at 20 to FF or, as in `read_text`, at F020 to F0FF.
    """
    if (known := _known(font.strip(" \"'"))) is None:
        return text
    return "".join(
        known.get(ord(one) & 0xFF, one) if one < "\u0100" or "\uf020" <= one <= "\uf0ff" else one for one in text
    )


def warn_of_unknown(body: etree._Element, out: BlockWriter) -> None:
    """Warn of symbols that are read as `UNKNOWN`."""
    if unknown := sum(read_symbol(one) == UNKNOWN for one in body.iter(f"{_W}sym")):
        out.warn(CONTENT_LEFT_OUT, "{count} symbols of special fonts are not known and read as \ufffd", unknown)


def _known(font: str) -> dict[int, str] | None:
    return _FONTS.get(font.strip().lower())
