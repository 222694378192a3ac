r"""Character ranges of scripts, as the content of a character class: `re.compile(f"[{HAN}{KANA}]")`.

This is their only definition; each caller combines the scripts it needs. `UNSPACED` is the choice for search terms.
"""

from __future__ import annotations

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese characters of the basic plane, including compatibility forms."""
HAN_RARE = "\u3005-\u3007\U00020000-\U0003134f"
"""Rare Chinese characters outside it, the iteration mark, and the zero."""
KANA = "\u3040-\u30ff\u31f0-\u31ff"
HANGUL = "\uac00-\ud7a3"
HANGUL_LETTERS = "\u1100-\u11ff"
THAI = "\u0e00-\u0e7f"
LAO = "\u0e80-\u0eff"
MYANMAR = "\u1000-\u109f"
KHMER = "\u1780-\u17ff"
GREEK = "\u0370-\u03ff"
ARMENIAN = "\u0530-\u058f"
HEBREW = "\u0590-\u05ff"
TAMIL = "\u0b80-\u0bff"
GEORGIAN = "\u10a0-\u10ff"
CJK_SIGNS = "\u3100-\u31ef\u3200-\u33ff"
"""Bopomofo, single Hangul letters, strokes, and enclosed or squared forms such as ㈱ and ㎡."""

SOUTH_EAST_ASIAN = f"{THAI}{LAO}{MYANMAR}{KHMER}"
UNSPACED = f"{SOUTH_EAST_ASIAN}{KANA}{HAN}{HAN_RARE}{HANGUL}"
"""Scripts written without spaces between words; Hangul is included for its compounds."""

_JOINED = re.compile(f"[{HAN}{HAN_RARE}{KANA}{CJK_SIGNS}]")


def joins_without_space(before: str, after: str) -> bool:
    """Return whether the last character of a line and the first of the next join without a space."""
    return _JOINED.match(before) is not None and _JOINED.match(after) is not None
