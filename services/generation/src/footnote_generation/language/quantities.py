"""Numbers, amounts, dates and times in English and French text, brought to comparable values."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from footnote_kit.memoise import kept
from footnote_text.lexical import is_unspaced, terms

from footnote_generation.language.units import (
    CASED_UNITS,
    CURRENCIES,
    MAGNITUDES,
    MONTHS,
    NUMBER_WORDS,
    UNITS,
    unit_words,
)

QUANTITY_BYTES = 450
"""About what a quantity takes in memory."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts.

    `values` are its readings in the base unit of `dimension` ("1,500" may be 1500 or 1.5); `dimension` is "" for a bare
    number, "percent", "money:USD", "time", "year", "date", "clock", …; `noun` is the word counted when that is no unit.
    """

    values: frozenset[float]
    dimension: str
    start: int
    end: int
    text: str
    noun: str = field(default="", compare=False)
    approximate: bool = False


_SPACE = "   "
_NUMBER = rf"\d{{1,3}}(?:[{_SPACE}]\d{{3}})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,'’]\d+)*"


def _one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of the words, longest first; most places are turned down by their first letter."""
    ordered = sorted(words, key=len, reverse=True)
    first = "".join(sorted({re.escape(word[0]) for word in ordered}))
    return f"(?=[{first}])(?:{'|'.join(map(re.escape, ordered))})"


_MONTH = _one_of(MONTHS)
_MAGNITUDE = _one_of(MAGNITUDES)
_UNIT = _one_of(unit_words())
_SYMBOL = "|".join(re.escape(symbol) for symbol in CURRENCIES if not symbol.isalpha())
_WORDS = _one_of(NUMBER_WORDS)

# Letters of scripts with spaces; beside Chinese or Japanese ones a number stands on its own.
_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
_DATE = re.compile(
    rf"""(?ix)(?<![{_LETTER}.,/-])(?:
      (?P<cjk_y>\d{{4}})年(?:(?P<cjk_m>\d{{1,2}})月(?:(?P<cjk_d>\d{{1,2}})[日号])?)?
    | (?P<cjk_m2>\d{{1,2}})月(?P<cjk_d2>\d{{1,2}})[日号]
    | (?P<iso_y>\d{{4}})-(?P<iso_m>\d{{1,2}})-(?P<iso_d>\d{{1,2}})
    | (?P<num_a>\d{{1,2}})[/.](?P<num_b>\d{{1,2}})[/.](?P<num_y>\d{{4}})
    | (?P<dmy_d>\d{{1,2}})(?:st|nd|rd|th|er)?[ ](?:of[ ]
      |de[ ])?(?P<dmy_m>{_MONTH})\.?,?(?:[ ](?:de[ ])?(?P<dmy_y>\d{{4}}))?
    | (?P<mdy_m>{_MONTH})\.?[ ](?P<mdy_d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?[ ](?P<mdy_y>\d{{4}}))?
    | (?P<my_m>{_MONTH})\.?,?[ ](?:of[ ]|de[ ])?(?P<my_y>\d{{4}})
    )(?![{_LETTER}/-])"""
)
_CLOCK = re.compile(
    r"(?ix)(?<![\w:.,])(?:(?P<h>[01]?\d|2[0-4])(?::|[ ]?h[ ]?)(?P<m>[0-5]\d)(?::[0-5]\d)?|(?P<h2>[01]?\d"
    r"|2[0-4])[ ]?(?:o'clock|heures(?=[ ]pile))"
    r"|(?P<h3>1[0-2]|0?\d)(?=[ ]?[ap]\.?m\b))[ ]?(?P<half>[ap]\.?m\b\.?)?(?!\w)"
)
_QUANTITY = re.compile(
    rf"""(?ix)
    (?P<symbol>{_SYMBOL}|\b(?:USD|EUR|GBP|CHF|CAD|AUD|JPY)[ ]?)?[ ]?
    (?<![{_LETTER}])(?P<sign>[-−+](?=\d))?(?P<number>{_NUMBER})(?P<ordinal>st|nd|rd|th|er|ère|e|ème|eme)?(?![\d])
    (?:[ {_SPACE}-]?(?P<magnitude>{_MAGNITUDE})(?![{_LETTER}]))?
    (?:[ {_SPACE}-]{{0,2}}(?:(?:de|d'|d’|of)[ ]?)?(?P<unit>{_UNIT})(?![{_LETTER}]))?"""
)
_WORDED = re.compile(
    rf"(?i)(?<![\w-])(?P<words>(?:{_WORDS})(?:(?:[ -](?:and[ -]|et[ -])?)(?:{_WORDS}))*)"
    rf"(?:[ -](?P<magnitude>{_MAGNITUDE})(?!\w))?(?:[ -](?:(?:de|d'|d’|of)[ ]?)?(?P<unit>{_UNIT})(?!\w))?(?![\w])"
)
_ABOUT = re.compile(
    r"(?i)\b(?:about|around|approximately|roughly|nearly|almost|some|over|more than|environ|presque|pr[eè]s de"
    r"|plus de|autour de|quelque|~|≈)\W*$"
)
_NOUN = re.compile(r"[ \u00a0-]?(?:of |de |d['’])?([^\W\d_]{3,})")


def readings(text: str) -> frozenset[float]:
    """Return what a numeral may stand for: a lone group of three after "," or "." may be thousands or decimals."""
    plain = re.sub(rf"[{_SPACE}'’]", "", text)
    commas, points = plain.count(","), plain.count(".")
    if commas and points:
        last = max(plain.rfind(","), plain.rfind("."))
        return frozenset([_float(re.sub("[.,]", "", plain[:last]) + "." + plain[last + 1 :])])
    separator = "," if commas else "."
    if commas + points == 0:
        return frozenset([_float(plain)])
    groups = plain.split(separator)
    if len(groups) > 2:
        return frozenset([_float("".join(groups))])
    readings = {_float(".".join(groups))}
    if len(groups[1]) == 3 and 1 <= len(groups[0]) <= 3 and groups[0] != "0":
        readings.add(_float("".join(groups)))
    return frozenset(readings)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _word_value(words: str) -> float:
    """Return the value of number words: "twenty-five", "deux cents", "quatre-vingt-dix"."""
    total = current = 0.0
    lowered = re.sub(r"[ -](?:and|et)[ -]", " ", words.lower())
    for name in re.findall(rf"(?:{_WORDS})(?!\w)", lowered):
        value = NUMBER_WORDS[name]
        if value in (100, 1000):
            current = max(current, 1.0) * value
            if value == 1000:
                total, current = total + current, 0.0
        elif value == 20 and current == 4 and name.startswith("vingt"):
            current = 80.0
        else:
            current += value
    return total + current


def _date_code(year: int, month: int, day: int) -> float:
    return float(year * 10_000 + month * 100 + day)


def _dates(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    for match in _DATE.finditer(text):
        group = match.groupdict()
        readings: set[float] = set()
        if group["iso_y"]:
            readings.add(_date_code(int(group["iso_y"]), int(group["iso_m"]), int(group["iso_d"])))
        elif group["cjk_y"]:
            readings.add(_date_code(int(group["cjk_y"]), int(group["cjk_m"] or 0), int(group["cjk_d"] or 0)))
        elif group["cjk_m2"]:
            readings.add(_date_code(0, int(group["cjk_m2"]), int(group["cjk_d2"])))
        elif group["num_y"]:
            a, b, year = int(group["num_a"]), int(group["num_b"]), int(group["num_y"])
            readings.update(_date_code(year, m, d) for m, d in ((a, b), (b, a)) if 1 <= m <= 12 and 1 <= d <= 31)
        else:
            for kind in ("dmy", "mdy", "my"):
                if group[f"{kind}_m"]:
                    month = MONTHS[group[f"{kind}_m"].lower()]
                    readings.add(_date_code(int(group[f"{kind}_y"] or 0), month, int(group.get(f"{kind}_d") or 0)))
        if readings:
            found.append(Quantity(frozenset(readings), "date", match.start(), match.end(), match.group()))
    return found


def _clocks(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    for match in _CLOCK.finditer(text):
        hour = int(match["h"] or match["h2"] or match["h3"])
        minute = int(match["m"] or 0)
        half = (match["half"] or "").lower().replace(".", "")
        if half == "pm" and hour < 12:
            hour += 12
        elif half == "am" and hour == 12:
            hour = 0
        found.append(
            Quantity(frozenset([float(hour * 60 + minute)]), "clock", match.start(), match.end(), match.group())
        )
    return found


def _build(match: re.Match[str], text: str, readings: frozenset[float], worded: bool) -> Quantity:
    group = match.groupdict()
    scale = MAGNITUDES[group["magnitude"].lower()] if group["magnitude"] else 1.0
    if group["magnitude"] in ("K", "k") and text[match.start("magnitude") - 1] == "-":
        scale = 1.0  # "10-K" is a form, not ten thousand
    unit = (group["unit"] or "").lower()
    if unit in CASED_UNITS and group["unit"] not in CASED_UNITS[unit]:
        unit = ""
    symbol = (group.get("symbol") or "").strip().upper()
    dimension, factor = "", 1.0
    if symbol:
        dimension = f"money:{CURRENCIES[symbol]}"
    elif unit:
        dimension, factor = UNITS.get(unit, ("", 1.0))
    end = match.end()
    if group["unit"] and not unit:
        end = match.start("unit")
        end -= len(text[:end]) - len(text[:end].rstrip())
    noun = ""
    if not dimension and not group.get("ordinal"):
        following = _NOUN.match(text, end)
        # "150 for" counts nothing, "150 units" does.
        noun = following[1].lower() if following and terms(following[1], "en") and terms(following[1], "fr") else ""
    values = frozenset(round(value * scale * factor, 9) for value in readings)
    if group.get("sign") in ("-", "−"):
        values = frozenset(-value for value in values)
    if not dimension and not worded and not group["magnitude"] and not group.get("ordinal"):
        number = match["number"]
        if len(number) == 4 and number.isdigit() and 1000 <= int(number) <= 2199:
            dimension = "year"
    if group.get("ordinal"):
        dimension = "ordinal"
    start = match.start("symbol") if symbol else match.start("words" if worded else "number")
    about = bool(_ABOUT.search(text[max(0, start - 20) : start]))
    return Quantity(values, dimension, start, end, text[start:end].strip(), noun, about)


_DIGIT = re.compile("[0-9]")


@kept(2**20, lambda found: QUANTITY_BYTES * len(found))
def find(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a text in order, without overlaps; "one" and "un" are left out as too often mere articles."""
    digits = bool(_DIGIT.search(text)) if text.isascii() else any(map(str.isdigit, text))
    found = _dates(text) if digits else []
    taken = sorted((item.start, item.end) for item in found)

    def free(start: int, end: int) -> bool:
        """Whether a stretch touches none of those taken, which do not overlap themselves."""
        at = bisect_left(taken, (end, 0))
        return at == 0 or taken[at - 1][1] <= start

    for item in _clocks(text) if digits else ():
        if free(item.start, item.end):
            found.append(item)
            insort(taken, (item.start, item.end))
    for match in _QUANTITY.finditer(text) if digits else ():
        # A digit inside a name ("C12", "COVID-19") is part of that name.
        before = text[max(0, match.start("number") - 2) : match.start("number")]
        if before and (
            (before[-1].isalnum() and not is_unspaced(before[-1]))
            or before[-1] in "_#"
            or (len(before) == 2 and before[1] in "-." and before[0].isalpha())
        ):
            continue
        if free(match.start("number"), match.end("number")):
            item = _build(match, text, readings(match["number"]), worded=False)
            found.append(item)
            insort(taken, (item.start, item.end))
    for match in _WORDED.finditer(text):
        if free(match.start("words"), match.end("words")):
            item = _build(match, text, frozenset([_word_value(match["words"])]), worded=True)
            found.append(item)
            insort(taken, (item.start, item.end))
    return share_units(text, sorted(found, key=lambda item: item.start))


_SCALED = re.compile(rf"(?i)\d[ {_SPACE}-]?(?:{_MAGNITUDE})")
_RANGE = re.compile(
    r"(?<!\s)\s*+(?:-|–|to|and|à|et|bis|or|ou|und|oder|a|y|e|o|tot|en|of|até|hasta|至|到|~)\s*+", re.IGNORECASE
)


def share_units(
    text: str, found: list[Quantity], units: Mapping[str, tuple[str, float]] = UNITS
) -> tuple[Quantity, ...]:
    """Give the first number of a range the unit of the second: "from 10 to 80 percent"."""
    for index in range(len(found) - 2, -1, -1):
        left, right = found[index], found[index + 1]
        if left.dimension or not right.dimension or right.dimension in {"date", "year", "clock", "ordinal"}:
            continue
        if _RANGE.fullmatch(text[left.end : right.start]):
            factor = _factor(right, units)
            values = frozenset(round(value * factor, 9) for value in left.values)
            found[index] = replace(left, values=values, dimension=right.dimension, noun="")
    return tuple(found)


def _factor(quantity: Quantity, units: Mapping[str, tuple[str, float]]) -> float:
    """Return what a number is multiplied with by the unit it ends in: "twelve years" by 12 months."""
    unit = re.sub(r"^[^a-zA-Z°%€$£À-ÿ]+", "", quantity.text).lower()
    while unit and unit not in units:
        unit = unit.partition(" ")[2].lstrip()
    return units.get(unit, ("", 1.0))[1]


def same_value(claimed: Quantity, given: Quantity) -> bool:
    """Whether two quantities agree in value: a year matches a date in it, a rounding its number."""
    if claimed.dimension == "date" or given.dimension == "date":
        return _same_date(claimed, given)
    for left in claimed.values:
        for right in given.values:
            if abs(left - right) <= 1e-9 * max(abs(left), abs(right), 1.0):
                return True
            # "about 1.9 billion" for 1,932 million: equal once rounded to the claim's own figures.
            if claimed.approximate and right and abs(left - right) <= 0.05 * abs(right):
                return True
            if _is_rounding(left, right, claimed.text):
                return True
    return False


def _is_rounding(claimed: float, given: float, text: str) -> bool:
    """Whether a claim written with a magnitude ("1.9 billion") is its number rounded to the figures written."""
    if given == 0 or claimed == 0 or not _SCALED.search(text):
        return False
    digits = re.sub(r"\D", "", re.split(r"[A-Za-z]", text, maxsplit=1)[0]).lstrip("0")
    return len(digits) >= 2 and float(f"{given:.{len(digits) - 1}e}") == float(f"{claimed:.{len(digits) - 1}e}")


def _same_date(claimed: Quantity, given: Quantity) -> bool:
    for left in claimed.values:
        for right in given.values:
            a = _parts(left, claimed.dimension)
            b = _parts(right, given.dimension)
            if a is None or b is None:
                continue
            # What both say must agree, and the claim must not say more than the source.
            if all(x == y or x == 0 for x, y in zip(a, b, strict=True)):
                return True
    return False


def _parts(value: float, dimension: str) -> tuple[int, int, int] | None:
    if dimension == "date":
        code = int(value)
        return code // 10_000, code // 100 % 100, code % 100
    return (int(value), 0, 0) if dimension == "year" else None


def same_dimension(claimed: Quantity, given: Quantity) -> bool:
    """Whether two quantities count the same kind of thing; a bare number goes with anything but a contrary unit."""
    left, right = claimed.dimension, given.dimension
    if left == right:
        return True
    if {left, right} <= {"date", "year"}:
        return True
    loose = {"", "year"}
    if not right and given.noun and left not in {"", "year"}:
        return False  # "150 kg" for "150 units"
    # "150" for "150 kg" leaves the unit out; "150 kg" for "150" adds one that the source does not give there.
    return left in loose or (right in loose and not left.startswith("money") and left not in {"percent"})
