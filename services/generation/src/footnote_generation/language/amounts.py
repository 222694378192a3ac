"""Numbers, amounts, dates and times of the languages that have a grammar, brought to comparable values."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from footnote_kit.memoise import kept
from footnote_text.lexical import fold

from footnote_generation.language import quantities
from footnote_generation.language.grammar import load
from footnote_generation.language.quantities import Quantity
from footnote_generation.language.units import CURRENCIES, UNITS

# Signs of units that every language writes alike.
_SIGNS = [
    "%",
    "％",
    "‰",
    "€",
    "£",
    "kg",
    "g",
    "mg",
    "km",
    "m",
    "cm",
    "mm",
    "µm",
    "nm",
    "l",
    "ml",
    "cl",
    "m²",
    "m2",
    "km²",
    "km2",
    "ha",
    "m³",
    "m3",
    "h",
    "min",
    "s",
    "ms",
    "kw",
    "mw",
    "w",
    "kwh",
    "mwh",
    "wh",
    "hz",
    "khz",
    "mhz",
    "ghz",
    "v",
    "bar",
    "kb",
    "mb",
    "gb",
    "tb",
    "°c",
    "ºc",
    "°f",
    "°",
    "km/h",
    "m/s",
    "t",
    "eur",
    "usd",
    "gbp",
    "chf",
]
_ACCENTS = str.maketrans(
    {char: fold(char) for code in range(0xC0, 0x250) if len(fold(char := chr(code))) == 1 and fold(char) != char}
    | {"ẞ": "ß", "º": "º"}
)
_SPACE = " \u00a0\u202f"
_NUMBER = rf"\d{{1,3}}(?:[{_SPACE}]\d{{3}})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,'’]\d+)*"
_CHINESE = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
# Numerals of one character stand in many words; with one of these after them they count.
_MEASURES = "个名位天日年月周次人件条项种份台张家间套元块分岁倍层座本米吨升度小星公千毫克季"


@dataclass(frozen=True, slots=True)
class _Tables:
    months: Mapping[str, int]
    scales: Mapping[str, float]
    units: Mapping[str, tuple[str, float]]
    numbers: Mapping[str, float]
    date: re.Pattern[str]
    clock: re.Pattern[str]
    number: re.Pattern[str]
    worded: re.Pattern[str]


def find(text: str, language: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order, without overlaps; those of English and French where no file is."""
    if load(language) is None:
        return quantities.find(text)
    found = quantities.find(text) if language in {"en", "fr"} else _find(text, language)
    spans = _spans(text, language)
    if not spans:
        return found
    apart = [item for item in found if all(item.end <= span.start or span.end <= item.start for span in spans)]
    return tuple(sorted([*apart, *spans], key=lambda item: item.start))


def _spans(text: str, language: str) -> list[Quantity]:
    """Return spans of time that are said without a numeral: "half an hour"."""
    known, pattern = _span_words(language)
    plain = text.translate(_ACCENTS).lower()
    if len(plain) != len(text):
        plain = text
    return [
        Quantity(frozenset([known[match[0]]]), "time", match.start(), match.end(), text[match.start() : match.end()])
        for match in pattern.finditer(plain)
    ]


@cache
def _span_words(language: str) -> tuple[Mapping[str, float], re.Pattern[str]]:
    grammar = load(language)
    known = _entries(grammar.numbers["spans"]) if grammar else {}
    edge = "" if language == "zh" else r"(?!\w)"
    return known, re.compile(("" if language == "zh" else r"(?<!\w)") + _one_of(known) + edge)


@kept(2**20, lambda found: quantities.QUANTITY_BYTES * len(found))
def _find(text: str, language: str) -> tuple[Quantity, ...]:
    tables = _tables(language)
    plain = text.translate(_ACCENTS).lower()
    if len(plain) != len(text):
        plain = text
    found: list[Quantity] = []
    taken: list[tuple[int, int]] = []
    for item in _all(plain, text, tables, language):
        at = bisect_left(taken, (item.end, 0))
        if at == 0 or taken[at - 1][1] <= item.start:
            insort(taken, (item.start, item.end))
            found.append(item)
    return quantities.share_units(text, sorted(found, key=lambda item: item.start), tables.units)


def unit(word: str, language: str) -> tuple[str, float]:
    """Return the dimension of a unit as a column's name gives it, and its factor; "" for what is no unit."""
    plain = word.translate(_ACCENTS).lower()
    if word.upper() in CURRENCIES:
        return f"money:{CURRENCIES[word.upper()]}", 1.0
    known = UNITS if language in {"en", "fr"} or load(language) is None else _tables(language).units
    return known.get(word.lower()) or known.get(plain) or ("", 1.0)


def _all(plain: str, text: str, tables: _Tables, language: str) -> Iterator[Quantity]:
    if any(char.isdigit() for char in plain):
        yield from _dates(plain, text, tables)
        yield from _clocks(plain, text, tables)
        yield from _numerals(plain, text, tables)
    yield from (_chinese(plain, text, tables) if language == "zh" else _worded(plain, text, tables))


def _dates(plain: str, text: str, tables: _Tables) -> Iterator[Quantity]:
    for match in tables.date.finditer(plain):
        group = match.groupdict()
        codes: set[float] = set()
        if group["iso_y"]:
            codes.add(_code(group["iso_y"], group["iso_m"], group["iso_d"]))
        elif group["cjk_y"]:
            codes.add(_code(group["cjk_y"], group["cjk_m"], group["cjk_d"]))
        elif group["cjk_m2"]:
            codes.add(_code(None, group["cjk_m2"], group["cjk_d2"]))
        elif group["num_y"]:
            a, b = int(group["num_a"]), int(group["num_b"])
            pairs = ((month, day) for month, day in ((a, b), (b, a)) if 1 <= month <= 12 and 1 <= day <= 31)
            codes.update(float(int(group["num_y"]) * 10_000 + month * 100 + day) for month, day in pairs)
        elif group["dmy_m"]:
            codes.add(_code(group["dmy_y"], str(tables.months[group["dmy_m"]]), group["dmy_d"]))
        else:
            codes.add(_code(group["my_y"], str(tables.months[group["my_m"]]), None))
        if codes:
            yield Quantity(frozenset(codes), "date", match.start(), match.end(), text[match.start() : match.end()])


def _code(year: str | None, month: str | None, day: str | None) -> float:
    return float(int(year or 0) * 10_000 + int(month or 0) * 100 + int(day or 0))


def _clocks(plain: str, text: str, tables: _Tables) -> Iterator[Quantity]:
    for match in tables.clock.finditer(plain):
        hour = int(match["h"] or match["h2"] or match["h3"])
        minute = int(match["m"] or match["m2"] or (30 if match["half"] else 0))
        if match["part"] in {"下午", "晚上"} and hour < 12:
            hour += 12
        values = frozenset([float(hour * 60 + minute)])
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        yield Quantity(values, "clock", start, match.end(), text[start : match.end()])


def _numerals(plain: str, text: str, tables: _Tables) -> Iterator[Quantity]:
    for match in tables.number.finditer(plain):
        start = match.start("number")
        before = plain[max(0, start - 2) : start]
        if before and (
            (before[-1].isascii() and before[-1].isalnum())
            or before[-1] in "_#"
            or (len(before) == 2 and before[1] in "-." and before[0].isalpha() and before[0].isascii())
        ):
            continue  # a digit inside a name ("C12", "COVID-19") is part of that name
        yield _quantity(match, text, quantities.readings(match["number"]), tables, worded=False)


def _worded(plain: str, text: str, tables: _Tables) -> Iterator[Quantity]:
    for match in tables.worded.finditer(plain):
        total = current = 0.0
        for word in re.findall(r"[^\W\d_]+", match["number"]):
            value = tables.numbers.get(word)
            if value is None:
                continue
            if value in (100.0, 1000.0):
                current = max(current, 1.0) * value
                if value == 1000.0:
                    total, current = total + current, 0.0
            else:
                current += value
        yield _quantity(match, text, frozenset([total + current]), tables, worded=True)


def _chinese(plain: str, text: str, tables: _Tables) -> Iterator[Quantity]:
    for match in tables.worded.finditer(plain):
        digits = match["number"]
        after = plain[match.end("number") : match.end("number") + 1]
        before = plain[match.start() - 1 : match.start()]
        if before in {"第", "周", "期", "统", "之"} or (len(digits) == 1 and (not after or after not in _MEASURES)):
            continue
        total = section = digit = 0.0
        for char in digits:
            if char in _CHINESE:
                digit = _CHINESE[char]
            elif _SCALES[char] >= 10_000:
                total, section, digit = total + (section + digit or 1.0) * _SCALES[char], 0.0, 0.0
            else:
                section, digit = section + (digit or 1.0) * _SCALES[char], 0.0
        yield _quantity(match, text, frozenset([total + section + digit]), tables, worded=True)


def _quantity(match: re.Match[str], text: str, values: frozenset[float], tables: _Tables, *, worded: bool) -> Quantity:
    group = match.groupdict()
    scale = tables.scales.get(group.get("scale") or "", 1.0)
    symbol, unit = (group.get("symbol") or "").strip(), group["unit"] or ""
    dimension, factor = tables.units.get(unit, ("", 1.0))
    if group.get("percent"):
        dimension, factor = "percent", 1.0
    elif symbol:
        dimension, factor = f"money:{CURRENCIES[symbol.upper()]}", 1.0
    values = frozenset(round(value * scale * factor, 9) for value in values)
    if group.get("sign"):
        values = frozenset(-value for value in values)
    if not dimension and scale == 1.0 and not worded:
        number = match["number"]
        if len(number) == 4 and number.isdigit() and 1000 <= int(number) <= 2199:
            dimension = "year"
    start = match.start("symbol") if symbol else match.start()
    start += len(text[start : match.end()]) - len(text[start : match.end()].lstrip())
    return Quantity(values, dimension, start, match.end(), text[start : match.end()].strip())


def _one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of the words, longest first; most places are turned down by their first letter."""
    ordered = sorted(set(words), key=len, reverse=True)
    if not ordered:
        return "(?!)"
    first = "".join(sorted({re.escape(word[0]) for word in ordered}))
    return f"(?=[{first}])(?:{'|'.join(map(re.escape, ordered))})"


def _entries(line: str) -> dict[str, float]:
    """Return the words of a line like "tag,tage=86400 vierkante meter=1" with their factors."""
    found: dict[str, float] = {}
    names, *rest = line.split("=")
    for part in rest:
        factor, _, following = part.partition(" ")
        found.update({name.strip(): float(factor) for name in names.split(",")})
        names = following
    return found


@cache
def _tables(language: str) -> _Tables:
    grammar = load(language)
    if grammar is None:
        raise LookupError(f"no grammar of {language!r}")
    months = {
        form: number
        for number, forms in enumerate(grammar.numbers["months"].split(), start=1)
        for form in forms.split(",")
    }
    scales = _entries(grammar.numbers["magnitudes"])
    units = {sign: UNITS[sign] for sign in _SIGNS if sign in UNITS}
    for dimension, line in grammar.units.items():
        units.update({word: (dimension, factor) for word, factor in _entries(line).items()})
    words = _numbers(grammar.numbers)
    return _Tables(months, scales, units, words, *_patterns(language, months, scales, units, words, grammar.numbers))


def _numbers(data: Mapping[str, str]) -> dict[str, float]:
    """Return the number words, those that are written as one of two ("einundzwanzig") made of their parts."""
    words = _entries(data["words"])
    joined = data.get("joined", "")
    if not joined:
        return words
    units = {word: value for word, value in words.items() if 2 <= value <= 9}
    units[{"{unit}und{ten}": "ein", "{unit}en{ten}": "een"}.get(joined, "uno")] = 1.0
    tens = {word: value for word, value in words.items() if 20 <= value <= 90}
    for unit, one in units.items():
        for ten, value in tens.items():
            cut = ten[:-1] if joined.startswith("{ten}") and unit[0] in "uo" else ten
            words[joined.format(unit=unit, ten=cut)] = value + one
        for hundred in ("hundert", "honderd", "cento"):
            if hundred in words and one > 1:
                words[unit + hundred] = 100 * one
        for thousand in ("tausend", "duizend"):
            if thousand in words and one > 1:
                words[unit + thousand] = 1000 * one
    for word in [word for word in words if "ss" in word]:
        words[word.replace("dreissig", "dreißig")] = words[word]
    return words


def _patterns(
    language: str,
    months: Mapping[str, int],
    scales: Mapping[str, float],
    units: Mapping[str, tuple[str, float]],
    words: Mapping[str, float],
    data: Mapping[str, str],
) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # Beside Chinese letters a number stands on its own.
    letter = r"a-z0-9_\u00df-\u024f\u0370-\u04ff"
    month, unit, scale = _one_of(months), _one_of(units), _one_of(scales)
    symbol = "|".join(re.escape(sign) for sign in CURRENCIES if not sign.isalpha())
    date = re.compile(
        rf"""(?x)(?<![{letter}.,/-])(?:
          (?P<cjk_y>\d{{4}})[ ]?年(?:[ ]?(?P<cjk_m>\d{{1,2}})[ ]?月(?:[ ]?(?P<cjk_d>\d{{1,2}})[ ]?[日号])?)?
        | (?P<cjk_m2>\d{{1,2}})[ ]?月[ ]?(?P<cjk_d2>\d{{1,2}})[ ]?[日号]
        | (?P<iso_y>\d{{4}})-(?P<iso_m>\d{{1,2}})-(?P<iso_d>\d{{1,2}})
        | (?P<num_a>\d{{1,2}})[/.][ ]?(?P<num_b>\d{{1,2}})[/.][ ]?(?P<num_y>\d{{4}})
        | (?P<dmy_d>\d{{1,2}})[.ºo°]?[ ](?:de[ ])?(?P<dmy_m>{month})\.?(?![{letter}])
          (?:[ ](?:de[l]?[ ])?(?P<dmy_y>\d{{4}}))?
        | (?P<my_m>{month})\.?[ ](?:de[l]?[ ])?(?P<my_y>\d{{4}})
        )(?![{letter}/-])"""
    )
    word = data.get("clock", "h")
    clock = re.compile(
        rf"""(?x)(?<![\d:.,])(?P<part>上午|下午|晚上|早上)?[ ]?(?:
          (?P<h>[01]?\d|2[0-4])(?::|h)(?P<m>[0-5]\d)(?!\d)(?:[ ]?(?:{word}|h)(?![{letter}]))?
        | (?P<h2>[01]?\d|2[0-4])\.(?P<m2>[0-5]\d)[ ]?(?:{word})(?![{letter}])
        | (?P<h3>[01]?\d|2[0-4])[ ]?(?:{word if word != "uur" else "h"}|点钟?|时)(?P<half>半)?(?![{letter}])
        )"""
    )
    tail = rf"(?:[ {_SPACE}-]?(?P<scale>{scale})(?![{letter}]))?(?:[ {_SPACE}-]{{0,2}}(?:de[ ])?(?P<unit>{unit})"
    tail += r")?" if language == "zh" else rf"(?![{letter}]))?"
    number = re.compile(
        rf"(?P<percent>百分之)?(?P<symbol>{symbol})?[ ]?(?<![{letter}])(?P<sign>[-−](?=\d))?"
        rf"(?P<number>{_NUMBER})(?!\d){tail}"
    )
    if language == "zh":
        numerals = "".join((*_CHINESE, *_SCALES))
        return date, clock, number, re.compile(rf"(?P<percent>百分之)?(?P<number>[{numerals}]+)(?P<unit>{unit})?")
    linker = rf"(?:[ -](?:{data['linker']}[ ])?)" if "linker" in data else "[ -]"
    some = _one_of(words)
    worded = re.compile(rf"(?<![\w-])(?P<number>(?:{some})(?!\w)(?:{linker}(?:{some})(?!\w))*){tail}(?!\w)")
    return date, clock, number, worded
