"""Finds numbers, amounts, dates and times in a text of any language, as comparable values.

Words and signs come from Unicode's CLDR for the text's language; "1,500" in an unknown language has both readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from footnote_kit.memoise import memoised
from footnote_text.digits import latin_digits
from footnote_text.lexical import is_unspaced

from footnote_generation.language.cldr import Writing, plain, writing

QUANTITY_BYTES = 450
"""Approximate memory of a quantity."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit; `start:end` is its place.

    `values` are its readings in the own unit of `dimension`. That is "" for a bare number, "percent", "money:USD",
    "time" (seconds), "months", "year", "ordinal", "clock" (minutes), or "date". A date is year * 10000 + month * 100 +
    day, with 0 for missing parts. Other dimensions are CLDR's kinds of unit. `spelled` means that it is written in
    words.
    """

    values: frozenset[float]
    dimension: str
    start: int
    end: int
    text: str
    spelled: bool = field(default=False, compare=False)
    numbers: frozenset[float] = frozenset()
    """Its readings as written, in any unit; `values` if not set."""


_SPACES = " \u00a0\u202f\u2009"
_NUMBER = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,'’]\d+)*"
# Letters of scripts with spaces: a number after one is part of a name, "C12", "COVID-19".
_LETTER = r"A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
# Digits with Han powers of ten: "3万5千", "1億2000万". 千 before other characters may begin a unit, 千克.
_PART = r"\d++(?:,\d{3})*+(?:\.\d++)?+"
_MIXED = rf"""(?:{_PART}(?:[百千]++(?=[\d万亿億円元])[万亿億]{{0,2}}+|[万亿億]{{1,2}}+|兆(?=\d)))++
    (?:{_PART}[百千]|\d{{2,4}}+(?![\d.,年月日号時时点]))?+"""
_TOKEN = re.compile(
    rf"""(?x)
      (?P<iso>(?<!\d)\d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\d))
    | (?P<dotted>(?<![\d.,])(?P<a>\d{{1,2}})(?P<sep>[./-])[ ]?(?P<b>\d{{1,2}})(?P=sep)[ ]?(?P<y>\d{{4}})(?![\d]))
    | (?P<cjk>\d{{4}}[ ]?年(?:[ ]?\d{{1,2}}[ ]?月(?:[ ]?\d{{1,2}}[ ]?[日号])?)?|\d{{1,2}}[ ]?月[ ]?\d{{1,2}}[ ]?[日号])
    | (?P<clock>(?<![\d.,:])(?:[01]?\d|2[0-4])(?::|[ ]?h[ ]?)[0-5]\d(?![\d:])(?:[ ]?[apAP]\.?[mM]\b)?)
    | (?P<mixed>(?<![{_LETTER}0-9])(?<![{_LETTER}]-)(?:{_MIXED}))
    | (?P<number>(?<![{_LETTER}0-9])(?<![{_LETTER}]-)(?:{_NUMBER}))
    | (?P<han>[〇零一二三四五六七八九十百千两兩]+[万亿億]?)
    | (?P<word>(?:(?![一二三四五六七八九两兩][十百千万亿億])[^\W\d_])+(?:[-'’.][^\W\d_]+)*)
    | (?P<sign>[%％‰°℃€$£¥₹/²³])"""
)
_SIGN = re.compile(r"(?:(?<=^)|(?<=[\s(\[:;=|]))[-−+]\Z")
_MONEY = frozenset("€$£¥₹")
_SHARED_SIGNS = {
    "money:$": frozenset(f"money:{code}" for code in ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "BRL")),
    "money:¥": frozenset({"money:JPY", "money:CNY"}),
}
_LINKS = frozenset({"de", "of", "del", "di", "d'", "van", "von"})
_HAN = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_BIG = {"万": 1e4, "亿": 1e8, "億": 1e8, "兆": 1e12}
_UNIT_TOKENS = 3
_LONG = 9
"""Digits from which two numbers are compared as written: 1234567890 and 1234567891 are within the rounding of units."""
_SPELLED_TOKENS = 4


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@memoised(2 * 2**20, lambda found: QUANTITY_BYTES * len(found))
def find(text: str, language: str = "") -> tuple[Quantity, ...]:
    """Return the quantities of a text in order; `language` is ISO 639-1, "" if unknown."""
    latin = latin_digits(text)
    tokens = [
        _Token(
            str(match.lastgroup if match.lastgroup not in {"a", "b", "sep", "y"} else "dotted"), match[0], *match.span()
        )
        for match in _TOKEN.finditer(latin)
    ]
    found = _quantities(latin, tokens, writing(language), known=bool(language), english=language in {"", "en"})
    if latin == text:
        return tuple(found)
    return tuple(replace(one, text=text[one.start : one.end]) for one in found)


def _quantities(text: str, tokens: list[_Token], how: Writing, *, known: bool, english: bool) -> Iterator[Quantity]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        found: tuple[Quantity, int] | None = None
        if token.kind in {"iso", "dotted", "cjk"}:
            found = _made(text, tokens, at, at, _date_values(token, english), "date"), at + 1
        elif token.kind == "clock":
            found = _made(text, tokens, at, at, frozenset([_minutes(token.text)]), "clock"), at + 1
        elif token.kind == "number":
            found = _dated(text, tokens, at, how) or _counted(
                text, tokens, at, at, numeral(token.text, how, known), how
            )
        elif token.kind == "word":
            found = _dated(text, tokens, at, how) or _spelled(text, tokens, at, how)
        elif token.kind == "mixed":
            found = _counted(text, tokens, at, at, frozenset([_han(token.text)]), how)
        elif token.kind == "han" and how.scales.get("万"):
            value = _han(token.text)
            found = _counted(text, tokens, at, at, frozenset([value]), how, spelled=True)
        if found is None:
            at += 1
            continue
        yield found[0]
        at = found[1]


def numeral(text: str, how: Writing, known: bool = True) -> frozenset[float]:
    """Return a numeral's readings; a lone group of three may be thousands or decimals if nothing settles it."""
    bare = re.sub(rf"[{_SPACES}'’]", "", text)
    commas, points = bare.count(","), bare.count(".")
    if commas and points:
        last = max(bare.rfind(","), bare.rfind("."))
        whole, rest = re.sub("[.,]", "", bare[:last]), bare[last + 1 :]
        return frozenset([_float(f"{whole}.{rest}")])
    if not commas and not points:
        return frozenset([_float(bare)])
    separator = "," if commas else "."
    groups = bare.split(separator)
    if len(groups) > 2:
        return frozenset([_float("".join(groups))])
    decimal, grouped = _float(".".join(groups)), _float("".join(groups))
    if len(groups[1]) != 3 or not 1 <= len(groups[0]) <= 3 or groups[0] == "0":
        return frozenset([decimal])
    if known:
        return frozenset([decimal if separator == how.decimal else grouped])
    return frozenset([decimal, grouped])


def _float(text: str) -> float:
    try:
        return float(unicodedata.normalize("NFKC", text))
    except ValueError:
        return float("nan")


def _counted(
    text: str, tokens: list[_Token], first: int, last: int, values: frozenset[float], how: Writing,
    spelled: bool = False,
) -> tuple[Quantity, int]:  # fmt: skip
    """Return a number with its magnitude and unit, or a currency sign before it, and the next token."""
    start, after = tokens[first].start, last + 1
    dimension, factor, scaled = "", 1.0, False
    scale: float | None = None
    if first and tokens[first - 1].text in _MONEY and tokens[first - 1].end + 1 >= start:
        dimension, start = how.units[tokens[first - 1].text][0], tokens[first - 1].start
    if not spelled and _SIGN.search(text[max(0, start - 2) : start]) and text[start - 1 : start] != "+":
        values = frozenset(-value for value in values)
        start -= 1
    while after < len(tokens) and tokens[after].start - tokens[after - 1].end <= 1:
        ending = tokens[after]
        if ending.kind == "word" and ending.start == tokens[last].end and re.fullmatch(how.ordinal, ending.text):
            return Quantity(values, "ordinal", start, ending.end, text[start : ending.end], spelled), after + 1
        power = how.scales.get(plain(ending.text)) or _leading(ending, how.scales)
        if not power or (scale is not None and power <= scale):
            break
        # "mil millones", "hundred thousand"
        scale = power * (scale or 1.0)
        factor, scaled, after = scale, True, after + 1
        if is_unspaced(ending.text[0]):
            break
    end = tokens[after - 1].end
    if scaled and is_unspaced(tokens[after - 1].text[0]):
        word = next(key for key in sorted(how.scales, key=len, reverse=True) if tokens[after - 1].text.startswith(key))
        end = tokens[after - 1].start + len(word)
    unit = _unit(text, tokens, after, end, how, linked=scaled)
    if unit is not None and not dimension:
        (dimension, more), end, after = unit
        factor *= more
    numbers = frozenset(value * (scale or 1.0) for value in values)
    values = frozenset(round(value * factor, 9) for value in values)
    value = next(iter(values))
    if not dimension and not spelled and factor == 1 and 1000 <= value <= 2100 and len(tokens[first].text) == 4:
        dimension = "year"
    return Quantity(values, dimension, start, end, text[start:end], spelled, numbers), after


def _leading(token: _Token, words: Mapping[str, float]) -> float | None:
    """Return the known word at the start of a run of letters without spaces: "万元"."""
    if token.kind != "word" or not is_unspaced(token.text[0]):
        return None
    sizes = range(min(4, len(token.text)), 0, -1)
    return next((words[word] for size in sizes if (word := plain(token.text[:size])) in words), None)


def _unit(
    text: str, tokens: list[_Token], at: int, end: int, how: Writing, linked: bool
) -> tuple[tuple[str, float], int, int] | None:
    """Return a unit directly after a number, its end, and the next token."""
    rest = text[end : end + 8]
    if at <= len(tokens) and rest and is_unspaced(rest.lstrip()[:1]):
        begin = end + len(rest) - len(rest.lstrip())
        for size in range(min(4, len(text) - begin), 0, -1):
            if (known := how.unit(text[begin : begin + size])) is not None:
                # Only as far as the unit: a date or another number may follow.
                return known, begin + size, at + (at < len(tokens) and tokens[at].start < begin + size)
        return None
    if at < len(tokens) and linked and plain(tokens[at].text) in _LINKS:
        at += 1
    if at >= len(tokens) or text[end : tokens[at].start].strip(_SPACES + ".-dD'’e"):
        return None
    for last in range(min(at + _UNIT_TOKENS, len(tokens)) - 1, at - 1, -1):
        if tokens[last].end - tokens[at].start > 40 or any(one.kind == "number" for one in tokens[at : last + 1]):
            continue
        written = text[tokens[at].start : tokens[last].end]
        for word in (written, written.partition("'")[2], written.partition("’")[2]):
            if word and (known := how.unit(word)) is not None:
                return known, tokens[last].end, last + 1
    return None


def _spelled(text: str, tokens: list[_Token], at: int, how: Writing) -> tuple[Quantity, int] | None:
    if plain(tokens[at].text) not in how.begins:
        return None
    for last in range(min(at + _SPELLED_TOKENS, len(tokens)) - 1, at - 1, -1):
        if tokens[last].end - tokens[at].start > 40:
            continue
        value = how.spelled.get(plain(text[tokens[at].start : tokens[last].end]))
        if value is None:
            continue
        found = _counted(text, tokens, at, last, frozenset([value]), how, spelled=True)
        # "One" alone is often an article.
        return found if value > 1 or found[0].dimension or found[0].values != {value} else None
    return None


def _dated(text: str, tokens: list[_Token], at: int, how: Writing) -> tuple[Quantity, int] | None:
    """Return a date with its month's name: "3 March 2024", "le 1er mars", "March 3, 2024", "März 2024"."""

    def number(index: int, most: int) -> int:
        if index >= len(tokens) or tokens[index].kind != "number":
            return 0
        text = tokens[index].text
        value = int(text) if text.isdigit() and len(text) <= 4 else 0  # no day or year is longer
        return value if 1 <= value <= most else 0

    def month(index: int) -> int:
        return (
            how.months.get(plain(tokens[index].text), 0) if index < len(tokens) and tokens[index].kind == "word" else 0
        )

    def past_links(index: int) -> int:
        while index < len(tokens) and (
            plain(tokens[index].text) in _LINKS or re.fullmatch(how.ordinal, tokens[index].text)
        ):
            index += 1
        return index

    day, last = number(at, 31), at
    if day:
        last = past_links(at + 1)
        if not (named := month(last)) or tokens[last].start - tokens[at].end > 12:
            return None
    elif named := month(at):
        if (day := number(at + 1, 31)) and len(tokens[at + 1].text) <= 2 and tokens[at + 1].start - tokens[at].end <= 2:
            last = past_links(at + 1) if past_links(at + 1) > at + 1 else at + 1
        else:
            day = 0
    else:
        return None
    after = past_links(last + 1)
    year = number(after, 2999) if after < len(tokens) and tokens[after].start - tokens[last].end <= 6 else 0
    if year >= 1000:
        last = after
    elif not day:
        return None  # a month by itself: "may" is also a word
    else:
        year = 0
    return _made(text, tokens, at, last, frozenset([float(year * 10_000 + named * 100 + day)]), "date"), last + 1


def _made(text: str, tokens: list[_Token], first: int, last: int, values: frozenset[float], dimension: str) -> Quantity:
    start, end = tokens[first].start, tokens[last].end
    return Quantity(values, dimension, start, end, text[start:end])


def _date_values(token: _Token, english: bool) -> frozenset[float]:
    parts = [int(part) for part in re.findall(r"\d+", token.text)]
    if token.kind == "iso" or (token.kind == "cjk" and "年" in token.text):
        year, month, day = (*parts, 0, 0)[:3]
        return frozenset([float(year * 10_000 + month * 100 + day)])
    if token.kind == "cjk":
        return frozenset([float(parts[0] * 100 + parts[1])])
    first, second, year = parts
    both = {(second, first)} | ({(first, second)} if english else set())
    found = frozenset(float(year * 10_000 + month * 100 + day) for month, day in both if 1 <= month <= 12)
    return found or frozenset([float(year * 10_000 + first * 100 + second)])


def _minutes(text: str) -> float:
    hour, minute = (int(part) for part in re.findall(r"\d+", text)[:2])
    half = re.search(r"[ap](?=\.?m)", text.lower())
    if half is not None and hour <= 12:
        hour = hour % 12 + 12 * (half[0] == "p")
    return float(hour * 60 + minute)


def _han(text: str) -> float:
    """Return a number in Han characters, or in digits with Han powers of ten."""
    if len(text) > 1 and all(char in _HAN for char in text):
        return float("".join(str(_HAN[char]) for char in text))
    total = section = current = 0.0
    for part in re.findall(r"[\d.,]+|.", text):
        if part in _POWERS:
            section, current = section + (current or 1) * _POWERS[part], 0.0
        elif part in _BIG:
            # 亿 multiplies a smaller number before it, as in 1万2千亿 and 5万亿; 万 is added to 亿.
            counted, power = section + current, _BIG[part]
            total = (total + counted) * power if total < power else total + counted * power
            section = current = 0.0
        else:
            current = float(_HAN[part]) if part in _HAN else float(part.replace(",", ""))
    return total + section + current


def same_value(left: Quantity, right: Quantity) -> bool:
    """Return whether two quantities may be one value; a date without a year matches that day of any year.

    Beside a number without a unit, another counts as written: "in 4" for "in 4 hours".
    """
    bare = not left.dimension or not right.dimension
    for one in (left.numbers or left.values) if bare else left.values:
        for other in (right.numbers or right.values) if bare else right.values:
            if left.dimension == right.dimension == "date" and min(one, other) < 10_000:
                one, other = one % 10_000, other % 10_000
            if one == other or abs(one - other) <= 1e-9 * max(abs(one), abs(other)):
                return not _digits_differ(left.text, right.text)
    return False


def _digits_differ(left: str, right: str) -> bool:
    """Return whether numbers are written with as many digits, too many for a float to tell, and with other ones."""
    one, other = (
        "".join(str(unicodedata.decimal(char)) for char in text if char.isdecimal()).lstrip("0")
        for text in (left, right)
    )
    return len(one) == len(other) >= _LONG and one != other


def same_dimension(left: Quantity, right: Quantity) -> bool:
    """Return whether two quantities may have one dimension; a bare number fits any."""
    one, other = left.dimension, right.dimension
    if one == other or not one or not other or {one, other} <= {"year", "ordinal", ""}:
        return True
    # "$" is any dollar, "°" any degree.
    shared = {sign: codes for sign, codes in _SHARED_SIGNS.items() if sign in (one, other)}
    if shared:
        return any(one in codes or other in codes for codes in shared.values())
    return one.startswith(f"{other}:") or other.startswith(f"{one}:")
