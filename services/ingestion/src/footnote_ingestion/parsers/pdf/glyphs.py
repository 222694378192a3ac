"""Glyphs without a readable character: the font names none, or names a control character for a minus sign.

No drawn glyph is dropped. A flat stroke in the middle of the line is a minus sign, whatever the font calls it. Any
other glyph without a character becomes U+FFFD. Both are counted.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence

import pypdfium2.raw as pdfium
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.parsers.pdf import pdfium_calls
from footnote_ingestion.parsers.tables import looks_numeric

UNKNOWN = "\ufffd"
MINUS = "\u2212"
HYPHEN = "\ufffe"
_STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\uf020-\uf0ff\ufffe\uffff]|\r(?!\n)|(?<!\r)\n")
# Codes of T1, the "Cork" encoding of TeX's fonts, which fonts without character names use.
_CORK = {"\x10": "“", "\x11": "”", "\x12": "„", "\x15": "–", "\x16": "—", "\x1b": "ﬀ", "\x1c": "ﬁ", "\x1d": "ﬂ",
         "\x1e": "ﬃ", "\x1f": "ﬄ"}  # fmt: skip
_DASHES = {"\x96": "–", "\x97": "—"}  # Windows'
_BULLETS = {"\uf0a7": "▪", "\uf0b7": "•", "\uf0d8": "➢", "\uf0fc": "✓"}
_FONT_BYTES = 64
_WORD = re.compile(r"[^\W\d_]+")
_ENOUGH = 20
"""Number of words needed to distinguish text from a jumble of glyph numbers."""
_COMMON = frozenset(word for words in STOP_WORDS.values() for word in words if len(word) > 1)
_FEWEST_COMMON = 0.04
_FEWEST_LETTERS = 0.5


class Glyphs:
    """Looks at characters of a text page; keeps the C buffers between them."""

    def __init__(self) -> None:
        self._box = [ctypes.c_double() for _ in range(4)]
        self._font, self._flags = ctypes.create_string_buffer(_FONT_BYTES), ctypes.c_int()
        self.unknown = 0
        """Number of glyphs of the page that became U+FFFD, and that became a minus sign."""
        self.strokes = 0

    def restored(self, text_page: object, text: str, count: int) -> str:
        """Return the text of a page with a sign for each glyph without a character; one UTF-16 unit per glyph.

        `text` is PDFium's text, which omits some glyphs; `count` is the number of glyphs.
        """
        self.unknown = self.strokes = 0
        if len(text) != count and len(text.encode("utf-16-le", errors="surrogatepass")) // 2 != count:
            codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count)]
            if any(0xD800 <= code < 0xE000 or code > 0xFFFF for code in codes):
                return text
            text = "".join(map(chr, codes))
        elif len(text) != count or _STRANGE.search(text) is None:
            return text
        return _STRANGE.sub(lambda found: self._sign(text_page, found), text)

    def _sign(self, text_page: object, found: re.Match[str]) -> str:
        index = found.start()
        if "\uf020" <= found[0] <= "\uf0ff":
            return self._symbol(text_page, index, found[0])
        if pdfium.FPDFText_IsHyphen(text_page, index) == 1:
            return HYPHEN
        if pdfium.FPDFText_IsGenerated(text_page, index) == 1:
            return found[0] if found[0] in "\r\n" else " "
        left, right, bottom, top = self._box
        if not pdfium.FPDFText_GetCharBox(text_page, index, left, right, bottom, top):
            return " "
        width, height = right.value - left.value, top.value - bottom.value
        if width <= 0 and height <= 0:
            return " "  # nothing is drawn
        size = pdfium.FPDFText_GetFontSize(text_page, index)
        if found[0] == "\xad":
            return "-"
        if (known := self._by_encoding(text_page, found)) is not None:
            return known
        if width > 0.2 * size and height < 0.4 * width and height < 0.2 * size:
            self.strokes += 1
            return MINUS
        self.unknown += 1
        return UNKNOWN

    def _symbol(self, text_page: object, index: int, char: str) -> str:
        """Return the character of a symbol font, which is by its place in the font; of other fonts only bullets."""
        from footnote_ingestion.parsers.symbols import in_font  # for such files alone, since it loads lxml

        pdfium.FPDFText_GetFontInfo(text_page, index, self._font, _FONT_BYTES, self._flags)
        font = self._font.value.decode("latin-1").rpartition("+")[2].lower()
        font = font.removesuffix("-regular").removesuffix("mt").replace("wingdings2", "wingdings 2")
        known = in_font(char, font)
        return _BULLETS.get(char, char) if known == char else known

    def _by_encoding(self, text_page: object, found: re.Match[str]) -> str | None:
        """Return a code's character in the encoding of TeX's fonts, or in Windows'."""
        if found[0] in _DASHES:
            return _DASHES[found[0]]
        beside = found.string[max(found.start() - 1, 0) : found.start()] + found.string[found.end() : found.end() + 1]
        named = pdfium.FPDFText_HasUnicodeMapError(text_page, found.start()) != 1
        return None if named or not any(one.isalpha() or one in _CORK for one in beside) else _CORK.get(found[0])


def has_no_character(text_page: pdfium_calls.Handle, first: int, last: int) -> bool:
    """Return whether the font names no character for most of a line's samples: its first, middle and last one."""
    at_first, at_middle = (pdfium_calls.is_unmapped(text_page, index) == 1 for index in (first, (first + last) // 2))
    return at_first if at_first == at_middle else bool(pdfium_calls.is_unmapped(text_page, last) == 1)


def unreadable(pages: Iterable[Sequence[tuple[str, int]]]) -> set[int]:
    """Return the ids of the lines that are a jumble; given are each page's lines whose font names no characters.

    Each page is judged by itself; a page with too little text gets the whole document's result.
    """
    pages = [lines for lines in pages if lines]
    all_are = is_jumble([text for lines in pages for text, _ in lines])
    found: set[int] = set()
    for lines in pages:
        texts = [text for text, _ in lines]
        little = sum(len(_WORD.findall(text)) for text in texts) < _ENOUGH
        if is_jumble(texts) or (little and all_are):
            found.update(line for _, line in lines)
    return found


def is_jumble(texts: Sequence[str]) -> bool:
    """Return whether lines whose font names no characters are glyph numbers taken for letters, and not words.

    Too few words prove nothing, unless a long text has none.
    """
    text = " ".join(texts)
    words = _WORD.findall(text)
    visible = len(text) - text.count(" ")
    letters = sum(map(len, words))
    if visible >= _ENOUGH and letters < _FEWEST_LETTERS * visible:
        figures = sum(len(word) for word in text.split() if looks_numeric(word))
        return letters + figures < _FEWEST_LETTERS * visible
    if len(words) < _ENOUGH:
        return False
    return sum(word.lower() in _COMMON for word in words) < _FEWEST_COMMON * len(words)
