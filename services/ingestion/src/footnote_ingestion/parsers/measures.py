"""The unit of a column's numbers, from headers or the table's title: "(kg)", "in millions", "EUR"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from footnote.types.v1.table_pb2 import Measure

from footnote_ingestion.parsers.numbers import CODES, CURRENCIES, SHORT_SCALES, UNITS

_SCALES = (
    (3, r"thousands?|tausend|tsd\.?|milliers?|miles|migliaia|milhares|duizend(?:en)?|'000s?|’000s?|000s|千"),
    (6, r"millions?|mio\.?|millionen|millones|milioni|milhões|miljoen(?:en)?|mln\.?|百万"),
    (9, r"billions?|mrd\.?|milliarden?|milliards?|miliardi|miljard(?:en)?|十亿|十億"),
)  # "billones" and "bilhões" are left out: elsewhere they mean other powers
_LED = r"(?:\b(?:in|en|em|i|expressed in|amounts in|figures in|dollars in|euros in)\s+|[(\[,]\s*|\$\s?(?=in\b|000)|^)"
_SCALE = re.compile(
    "|".join(
        rf"(?P<s{power}>{_LED}(?:(?-i:(?!PER)[A-Z]{{3}})\s|[€£$¥]\s?)?(?:{words})(?![^\W\d]))"
        for power, words in _SCALES
    ),
    re.I,
)
_SIGN = "|".join(map(re.escape, [*sorted(CURRENCIES, key=len, reverse=True), *sorted(CODES)]))
_SHORT = re.compile(
    rf"(?:^|[(\[\s])(?:(?P<before>[TkKMm])(?P<of>{_SIGN})|(?P<sign>{_SIGN})\s?(?P<after>000|{'|'.join(SHORT_SCALES)}))"
    r"(?=$|[)\]\s,])"
)
_NOTE = re.compile(r"[(\[（]([^()\[\]（）]{1,160})[)\]）]")
_EXCEPTION = (
    r"except|unless|otherwise|other than|apart from|sauf|à l['’]exception|außer|ausgenommen|mit ausnahme|"
    r"(?:sofern|soweit|wenn) nicht|salvo|excepto|exceto|eccetto|tranne|tenzij|behalve|uitgezonderd"
)
_EXCEPT = re.compile(rf"\b(?:{_EXCEPTION})\b", re.I)
_MONEY = (
    r"(?-i:[A-Z]{0,2}[€£$¥]|EUR|USD|GBP|CHF|JPY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|TRY|RUB|BRL|MXN|INR|CNY|RMB|KRW|"
    r"SGD|HKD|ZAR)"
)
_LEAD_IN = (
    r"(?:(?:all|alle|tous les|todos los|amounts?|figures?|values?|numbers?|dollars|euros|shares|and|expressed|stated|"
    r"presented|unaudited|audited|angaben|beträge|werte|zahlen|montants?|chiffres|données|exprimés?|importes?|cifras|"
    rf"datos|valores|expresad[oa]s?|importi|dati|valori|bedragen|cijfers|{_MONEY})[,;]?\s+){{0,4}}"
)
_NEXT = rf"(?!(?:{_EXCEPTION})\b)[^\W\d_]+"
_STATED = re.compile(
    rf"{_LEAD_IN}(?P<led>(?:in|en|em|i)\s+)?(?:{_MONEY}\s?)?"
    + "(?:" + "|".join(f"(?P<p{power}>{words})" for power, words in _SCALES) + ")"
    + rf"(?:\s+(?:(?:of |de |di |d['’]){_NEXT}(?:\s{_NEXT}){{0,2}}|{_MONEY}|euros?|u\.s\. dollars)"
    rf"|(?(led)\s+{_NEXT}(?:\s{_NEXT}){{0,2}}|(?!)))?(?=\s*(?:$|\s[-–—]|[,;:.]|(?:{_EXCEPTION})\b))",
    re.I,
)  # fmt: skip
_WORDS = "|".join(words for _, words in _SCALES)
_MONEY_LINE = re.compile(rf"{_MONEY}\s?(?:{_WORDS})|(?:{_WORDS})\s(?:euros?|{_MONEY})", re.I)
_BRACKET = re.compile(r"[(\[（]([^()\[\]（）]{1,40})[)\]）]")
_LONGEST_UNIT, _LONGEST_NOTE = 24, 160
_NAMED = {"us dollars": "USD", "u.s. dollars": "USD", "euros": "EUR", "euro": "EUR", "pounds sterling": "GBP"}
_WORD_CURRENCY = re.compile(
    r"(?<![^\W\d_])(?:of|d['’]|de|di|in|en)?\s?(us dollars|u\.s\. dollars|euros?|pounds sterling)\b", re.I
)


@lru_cache(maxsize=512)
def measure_of(texts: Sequence[str]) -> Measure | None:
    """Return the measure that the texts above numbers state, the last one first; None if none is certain.

    What stands above a text that names a unit is not read: a percentage below "in thousands" is in no thousands.
    """
    found = Measure()
    for text in reversed(texts):
        _read(text[:300], found)
        if found.unit:
            break
    return found if found.ByteSize() else None


def is_note(text: str) -> bool:
    """Return whether the words are in brackets: "(in thousands)", "[unaudited]"."""
    return (text[:1], text[-1:]) in (("(", ")"), ("[", "]"))


def note_of(texts: Sequence[str]) -> tuple[str, int]:
    """Return the words above a table that state its numbers' magnitude, exceptions included, and the power of ten.

    They are what brackets hold, or a whole line that begins with "in" or states several: "(in thousands, except per
    share data)", "In millions of euro", "shares in thousands, $ in millions". Without such words, "" and 0.
    """
    for text in reversed(texts):
        line = text.strip()
        for match in _NOTE.finditer(line):
            if scale := _noted_scale(match[1].strip()):
                return match[0], scale
        if len(line) <= _LONGEST_NOTE:
            several = _powers(line)
            if scale := several[0] if len(several) > 1 else _noted_scale(line, whole=True):
                return line, scale
    return "", 0


def _noted_scale(text: str, *, whole: bool = False) -> int:
    stated = _STATED.match(text)
    if stated is None:
        return _short_scale(_SHORT.fullmatch(text))
    if whole and not stated["led"] and _MONEY_LINE.fullmatch(text) is None:
        return 0
    if not _is_spanish(stated["p3"] or "", stated["led"] or "", text):
        return 0
    return next(power for power, _ in _SCALES if stated[f"p{power}"])


def _is_spanish(word: str, before: str, text: str) -> bool:
    """Return whether a word for thousand is no English mile: led by "en" or followed by "de", if it is "miles"."""
    return word.casefold() != "miles" or before.casefold().split()[-1:] == ["en"] or "miles de " in text.casefold()


def _powers(text: str) -> list[int]:
    """Return the different powers of ten that a text states, in order."""
    return list(dict.fromkeys(int(str(found.lastgroup)[1:]) for found in _SCALE.finditer(text)))


def _stated_scale(text: str) -> int:
    """Return the power of ten that a text states; 0 where it states several, as for amounts and for shares."""
    scale = _SCALE.search(text)
    if len(_powers(text)) > 1:
        return 0
    if scale is not None and _is_spanish(scale[0][-5:], scale[0][:-5], text):
        return next(power for power, _ in _SCALES if scale[f"s{power}"])
    return _short_scale(_SHORT.search(text))


def _short_scale(found: re.Match[str] | None) -> int:
    """Return the power of ten of "T€" or "£000"."""
    return SHORT_SCALES.get(found["before"] or found["after"], 3) if found is not None else 0


def _read(text: str, found: Measure) -> None:
    if not found.scale and _EXCEPT.search(text) is None:
        found.scale = _stated_scale(text)
        if _SCALE.search(text) is None and (short := _SHORT.search(text)) is not None:
            sign = short["of"] or short["sign"]
            found.currency = found.currency or CURRENCIES.get(sign, sign)
    if not found.unit and not found.currency:
        for inside in (text, *_in_brackets(text)):
            _name(inside.strip(), found)
    if not found.currency and not found.unit:
        known = {
            CURRENCIES.get(word, word)
            for word in re.findall(r"\b[A-Z]{3}\b|[€£]", text)
            if word in CODES or word in "€£"
        }
        named = _WORD_CURRENCY.search(text)
        if named is not None:
            known.add(_NAMED[named[1].lower()])
        if len(known) == 1:
            found.currency = known.pop()


def _in_brackets(text: str) -> list[str]:
    """Return the text in brackets that may be a unit, without "in" before it."""
    found = [match[1].strip() for match in _BRACKET.finditer(text)]
    found = [one[3:].lstrip() if one.startswith("in ") else one for one in found]
    return [one for one in found if 0 < len(one) <= _LONGEST_UNIT]


def _name(text: str, found: Measure) -> None:
    if text in CODES or text in CURRENCIES:
        found.currency = CURRENCIES.get(text, text)
    elif text in ("%", "percent", "per cent", "Prozent", "pour cent", "por ciento"):
        found.unit = "%"
    elif text in UNITS:
        found.unit = text
