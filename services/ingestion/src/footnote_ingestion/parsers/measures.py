"""The unit of a column's numbers, from headers or the table's title: "(kg)", "in millions", "EUR"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from footnote.types.v1.table_pb2 import Measure

from footnote_ingestion.parsers.numbers import CODES, CURRENCIES, SHORT_SCALES, UNITS

_SCALES = (
    (
        3,
        r"thousands?|tausend|tsd\.?|milliers?|miles(?! de millones)|migliaia|milhares|duizend(?:en)?|['’]000s?|000s|千",
    ),
    (6, r"millions?|mio\.?|millionen|millones|milioni|milhões|miljoen(?:en)?|mln\.?|百万"),
    (9, r"billions?|mrd\.?|milliarden?|milliards?|miliardi|miles de millones|miljard(?:en)?|十亿|十億"),
)  # "billones" and "bilhões" are left out: elsewhere they mean other powers
_POWER = "|".join(f"(?P<p{power}>{words})" for power, words in _SCALES)
_MONEY = rf"(?:[A-Z]{{0,2}}[€£$¥]|RMB|{'|'.join(map(re.escape, (*CURRENCIES, *sorted(CODES))))})"
_LETTERS = (
    rf"(?-i:(?P<before>[TkKMm])(?P<of>{_MONEY})|(?P<sign>{_MONEY})\s?(?P<after>['’]?000s?|{'|'.join(SHORT_SCALES)}))"
)
_SCALE = re.compile(
    rf"(?:\b(?P<led>in|en|em|i)\s+|[(\[,]\s*|^)(?-i:(?P<money>{_MONEY})\s?|(?!PER)[A-Z]{{3}}\s)?(?:{_POWER})(?!-?[^\W\d])"
    rf"|(?<![^\s(\[]){_LETTERS}(?=$|[)\]\s,])",
    re.I,
)
_NAME = re.compile(r"\b(?:thousand|[mb]illion)\s(?!euro)(?-i:[A-Z][a-z])", re.I)
"""A magnitude that begins a name: "Thousand Oaks"."""
_BRACKETS = re.compile(r"[(\[（]([^()\[\]（）]{1,160})[)\]）]")
_EXCEPTION = (
    r"except|unless|otherwise|other than|apart from|sauf|à l['’]exception|außer|ausgenommen|mit ausnahme|"
    r"(?:sofern|soweit|wenn) nicht|salvo|excepto|exceto|eccetto|tranne|tenzij|behalve|uitgezonderd"
)
_EXCEPT = re.compile(rf"\b(?:{_EXCEPTION})\b", re.I)
_NEXT = rf"(?!(?:{_EXCEPTION})\b)[^\W\d_]+"
_STATED = re.compile(
    rf"(?:^|(?:(?-i:{_MONEY})\s)?\b(?P<led>in|en|em|i)\s+)(?:{_LETTERS}|(?P<money>(?-i:{_MONEY})\s?)?(?:{_POWER})"
    rf"(?:\s+(?:of |de |di |d['’])(?P<what>{_NEXT}(?:\s{_NEXT}){{0,2}})"
    rf"|\s+(?P<counted>(?-i:{_MONEY})|euros?|u\.s\. dollars)"
    rf"|(?(led)(?P<free>(?:\s+{_NEXT}){{1,3}})|\s(?-i:[a-zß-ÿ]+)))?)(?=\s*(?:$|\s[-–—]|[,;:.]|(?:{_EXCEPTION})\b))",
    re.I,
)
_COUNTED = re.compile(
    r"\b(?:euros?|dollars?|d[oó]lares|dollari|pounds?|libras?|sterline|pesos?|reais|francs?|franchi|yen|yuan|rupees|"
    r"ro?ubles?|rand|lire|z[lł]ot(?:y|ys|ych)|kron(?:er|or|a)|tons|tonnes|toneladas|tonnellate|persons|people|"
    r"personas|personnes|persone|pessoas|inhabitants|"
    r"habitants|habitantes|abitanti)\b"
    rf"|(?-i:{_MONEY})",
    re.I,
)
"""What statistics count in thousands: currencies, tonnes and persons."""
_PERCENT = re.compile(
    r"\A\s*[%％]|(?<!\d)(?<!\d )(?:[%％]|\b(?:percent|per cent|prozent|pour cent|por ciento))\s*\Z", re.I
)
_FIGURES = re.compile(
    r"(?:[,;:(\[\-–—]|\b(?:amounts?|figures?|values?|numbers?|data|expressed|stated|presented|angaben|beträge|werte|zahlen|"
    r"montants?|chiffres|données|exprimés?|importes?|cifras|datos|valores|expresad[oa]s?|importi|dati|valori|bedragen|"
    r"cijfers))\Z",
    re.I,
)
"""The end of what stands before a magnitude of a table's numbers: a mark, or a word for figures."""
_LONGEST_UNIT, _LONGEST_NOTE = 24, 160
_NAMED = {"us dollars": "USD", "u.s. dollars": "USD", "euros": "EUR", "euro": "EUR", "pounds sterling": "GBP"}
_WORD_CURRENCY = re.compile(r"(?<![^\W\d_])(us dollars|u\.s\. dollars|euros?|pounds sterling)\b", re.I)


@lru_cache(maxsize=512)
def measure_of(headers: Sequence[str], above: Sequence[str] = (), scale: int = 0) -> Measure | None:
    """Return the measure that the headers of numbers state, the last one first; None if none is certain.

    What stands above a header that names a unit is not read: a percentage below "in thousands" is in no thousands. The
    lines above a table state units and currencies; `scale` is the power of ten that they state for all columns. Without
    one, a column of money takes the magnitude that such a line states beside other words: "Sales, EUR million".
    """
    found = Measure()
    for text in reversed(headers):
        found.scale = found.scale or _stated_scale(text[:300])
        _read(text[:300], found)
        if not found.currency and _PERCENT.search(text[:300]):
            found.unit = found.unit or "%"
        if found.unit:
            return found
    found.scale = found.scale or scale
    is_open = any(_powers(text[:300]) and _makes_exceptions(text[:300]) for text in above)
    for text in reversed(above):
        _read(text[:300], found)
        if found.currency and not found.scale and not is_open and _NAME.search(text[:300]) is None:
            found.scale = _stated_scale(text[:300])
    return found if found.ByteSize() else None


def names_unit(text: str) -> bool:
    """Return whether the words of a header name a unit that is no currency: "Size (cm)"."""
    _read(text[:300], found := Measure())
    return bool(found.unit)


def is_note(text: str) -> bool:
    """Return whether the words are in brackets: "(in thousands)", "[unaudited]"."""
    return (text[:1], text[-1:]) in (("(", ")"), ("[", "]"))


def note_of(texts: Sequence[str]) -> tuple[str, int, int]:
    """Return the words above a table that state its numbers' magnitude, the power of ten, and that of all columns.

    They are what brackets hold, or the end of a line, or a whole line that states several: "(in thousands, except per
    share data)", "in millions of euro", "shares in thousands, $ in millions". With exceptions, or several, the last is
    0. Without such words, "", 0 and 0.
    """
    for text in reversed(texts):
        line = text.strip()
        found = [(match[0], _noted(match[1].strip())) for match in _BRACKETS.finditer(line)]
        if len(line) <= _LONGEST_NOTE:
            if len(several := _powers(line)) > 1:
                return line, several[0], 0
            if stated := _noted(line, whole=True):
                found.append((line[0 if _EXCEPT.search(line[: stated.start()]) else stated.start() :], stated))
        for words, stated in found:
            if stated:
                return words, _power(stated), 0 if _makes_exceptions(words) else _power(stated)
        if len(line) <= _LONGEST_NOTE and several and _EXCEPT.search(line) and _currency(line):  # "TEUR, except …"
            return line, several[0], 0
    return "", 0, 0


def _noted(text: str, *, whole: bool = False) -> re.Match[str] | None:
    """Return the magnitude that words in brackets, or a whole line, state of a table's numbers."""
    stated = _STATED.search(text)
    if stated is None:
        return None
    before, what = text[: stated.start()].rstrip(), stated["what"]
    is_apart = not before or _FIGURES.search(before) is not None
    is_name = bool(before and stated["free"]) and _NAME.search(text) is not None
    if is_name or (not is_apart and (stated["free"] or (what and _COUNTED.search(what) is None))):
        return None  # "Offices in Thousand Oaks", "Used in thousands of schools"
    is_of_money = any(stated[one] for one in ("of", "sign", "money", "counted")) and stated.end() == len(text)
    if whole and not stated["led"] and not is_of_money:
        return None
    return stated if _is_spanish(stated["p3"], stated["led"], text) else None


def _is_spanish(word: str | None, before: str | None, text: str) -> bool:
    """Return whether a word for thousand is no English mile: led by "en" or followed by "de", if it is "miles"."""
    return (word or "").casefold() != "miles" or (before or "").casefold() == "en" or "miles de " in text.casefold()


def _makes_exceptions(text: str) -> bool:
    """Return whether a text states a magnitude that some numbers lack, or several, as for amounts and for shares."""
    return _EXCEPT.search(text) is not None or len(_powers(text)) > 1


def _powers(text: str) -> list[int]:
    """Return the different powers of ten that a text states, in order."""
    found = (one for one in _SCALE.finditer(text) if _is_spanish(one["p3"], one["led"], text))
    return list(dict.fromkeys(map(_power, found)))


def _power(found: re.Match[str]) -> int:
    """Return the power of ten of "thousand", "T€" or "£000"."""
    named = (power for power, _ in _SCALES if found[f"p{power}"])
    return next(named, SHORT_SCALES.get(found["before"] or found["after"], 3))


def _stated_scale(text: str) -> int:
    """Return the power of ten that a text states; 0 where it makes exceptions."""
    return 0 if _makes_exceptions(text) else next(iter(_powers(text)), 0)


def _read(text: str, found: Measure) -> None:
    if found.unit or found.currency:
        return
    for inside in (text, *_in_brackets(text)):
        _name(inside.strip(), found)
    if not found.currency and not found.unit:
        known = {
            CURRENCIES.get(word, word)
            for word in (*re.findall(r"\b[A-Z]{3}\b|[€£]", text), *map(_sign, _SCALE.finditer(text)))
            if word in CODES or word in CURRENCIES
        }
        named = _WORD_CURRENCY.search(text)
        if named is not None:
            known.add(_NAMED[named[1].lower()])
        if len(known) == 1:
            found.currency = known.pop()


def _currency(text: str) -> str:
    _read(text, found := Measure())
    return found.currency


def _sign(found: re.Match[str]) -> str:
    return found["of"] or found["sign"] or found["money"] or ""


def _in_brackets(text: str) -> list[str]:
    """Return the text in brackets that may be a unit, without "in" before it."""
    found = [match[1].strip() for match in _BRACKETS.finditer(text)]
    found = [one[3:].lstrip() if one.startswith("in ") else one for one in found]
    return [one for one in found if 0 < len(one) <= _LONGEST_UNIT]


def _name(text: str, found: Measure) -> None:
    if text in CODES or text in CURRENCIES:
        found.currency = CURRENCIES.get(text, text)
    elif text in ("%", "percent", "per cent", "Prozent", "pour cent", "por ciento"):
        found.unit = "%"
    elif text in UNITS:
        found.unit = text
