"""How a language writes numbers, dates and units: Unicode's CLDR, read through Babel and unicode-rbnf."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from babel import Locale, UnknownLocaleError
from footnote_text.lexical import fold
from footnote_text.stopwords import STOP_WORDS
from unicode_rbnf import RbnfEngine

DIMENSIONS: dict[str, dict[str, float]] = {
    "duration": {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "millisecond": 1e-3},
    "months": {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200},
    "length": {"millimeter": 1e-3, "centimeter": 1e-2, "meter": 1, "kilometer": 1e3, "mile": 1609.344, "foot": 0.3048,
               "inch": 0.0254, "yard": 0.9144, "micrometer": 1e-6, "nanometer": 1e-9},
    "area": {"square-meter": 1, "square-centimeter": 1e-4, "square-kilometer": 1e6, "hectare": 1e4, "acre": 4046.86},
    "mass": {"milligram": 1e-6, "gram": 1e-3, "kilogram": 1, "tonne": 1e3, "pound": 0.4536, "ounce": 0.02835},
    "volume": {"milliliter": 1e-3, "centiliter": 1e-2, "deciliter": 0.1, "liter": 1, "cubic-meter": 1e3,
               "gallon": 3.785},
    "digital": {"byte": 1, "kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12},
    "power": {"milliwatt": 1e-3, "watt": 1, "kilowatt": 1e3, "megawatt": 1e6, "gigawatt": 1e9},
    "energy": {"kilowatt-hour": 1, "joule": 1 / 3.6e6, "kilojoule": 1 / 3600},
    "frequency": {"hertz": 1, "kilohertz": 1e3, "megahertz": 1e6, "gigahertz": 1e9},
    "electric": {"volt": 1}, "ampere": {"ampere": 1, "milliampere": 1e-3},
    "speed": {"kilometer-per-hour": 1, "meter-per-second": 3.6, "mile-per-hour": 1.609344},
    "pressure": {"bar": 1, "millibar": 1e-3, "pascal": 1e-5, "hectopascal": 1e-3, "kilopascal": 1e-2, "megapascal": 10,
                 "pound-force-per-square-inch": 0.0689476},
    "celsius": {"celsius": 1}, "fahrenheit": {"fahrenheit": 1},
    "percent": {"percent": 1, "permille": 0.1},
}  # fmt: skip
"""CLDR's units by what they measure, in the dimension's own unit. Months and years have no fixed days."""
_NAMES = {"duration": "time", "celsius": "temperature:C", "fahrenheit": "temperature:F", "digital": "data"}
_UNITS = {
    unit: (_NAMES.get(dimension, dimension), float(factor))
    for dimension, units in DIMENSIONS.items()
    for unit, factor in units.items()
}
_SIGNS = {"%": ("percent", 1.0), "％": ("percent", 1.0), "‰": ("percent", 0.1), "°C": ("temperature:C", 1.0),
          "℃": ("temperature:C", 1.0), "°F": ("temperature:F", 1.0), "°": ("temperature", 1.0)}  # fmt: skip
_CURRENCIES = [
    "USD",
    "EUR",
    "GBP",
    "CHF",
    "JPY",
    "CNY",
    "CAD",
    "AUD",
    "NZD",
    "SEK",
    "NOK",
    "DKK",
    "PLN",
    "CZK",
    "HUF",
    "RON",
    "RUB",
    "UAH",
    "TRY",
    "INR",
    "BRL",
    "MXN",
    "KRW",
    "ZAR",
    "ILS",
    "SGD",
    "HKD",
    "AED",
    "SAR",
]
# A bare "$" or "¥" is the sign of several currencies, and goes with any of them; so does a bare "dollars".
_MONEY_SIGNS = {
    "€": "EUR", "£": "GBP", "₹": "INR", "元": "CNY", "円": "JPY", "$": "$", "¥": "¥", "dollar": "$", "dollars": "$"
}  # fmt: skip
_MOST_SPELLED = 100
_ORDINAL = {"en": r"st|nd|rd|th", "fr": r"er|ère|re|e|ème|eme|nd|nde", "es": r"[ºª]", "it": r"[ºª°]", "pt": r"[ºª]"}


@dataclass(frozen=True, slots=True)
class Writing:
    """How one language writes: keys are folded words. `unit` values are a dimension and a factor into its own unit.

    Of units that differ by case alone, as "mW" and "MW" do, the keys are as written.
    """

    decimal: str
    group: str
    months: Mapping[str, int]
    spelled: Mapping[str, float]
    scales: Mapping[str, float]
    units: Mapping[str, tuple[str, float]]
    ordinal: str
    begins: frozenset[str]
    """The first words of numbers that are spelled."""

    def unit(self, word: str) -> tuple[str, float] | None:
        """Return what a unit measures, None for another word."""
        return self.units.get(plain(word)) or self.units.get(_spaced(word))


@lru_cache(maxsize=20_000)
def plain(word: str) -> str:
    """Return a word as the tables have it: in lower case, without a final full stop, with single spaces."""
    return " ".join(fold(word).replace("\u200f", "").strip(" .").split())


def _spaced(word: str) -> str:
    return " ".join(word.strip(" .").split())


@lru_cache(maxsize=32)
def writing(language: str) -> Writing:
    """Return how a language (ISO 639-1) writes; for an unknown one, English."""
    locale = _locale(language)
    symbols = locale.number_symbols["latn"]
    return Writing(
        symbols["decimal"],
        symbols["group"],
        _months(locale),
        spelled := _spelled(locale.language),
        _scales(locale),
        _units(locale),
        _ORDINAL.get(locale.language, r"\.(?=\s)"),
        frozenset(word.split(" ")[0] for word in spelled),
    )


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language or "en")
    except (UnknownLocaleError, ValueError):
        return Locale.parse("en")


def _months(locale: Locale) -> dict[str, int]:
    found: dict[str, int] = {}
    for form in ("format", "stand-alone"):
        for width in ("abbreviated", "wide"):
            for number, name in locale.months[form][width].items():
                key = plain(name)
                if any(char.isalpha() for char in key) and not any(char.isdigit() for char in key):
                    found.setdefault(key, number)
    return found


@cache
def _dotted_months() -> frozenset[str]:
    """Return the names of months where the day before them has a full stop: "12. März", "12. Okt."."""
    known = [locale for code in STOP_WORDS if "d. " in (locale := _locale(code)).date_formats["long"].pattern]
    short = {f"{name}." for locale in known for name in _months(locale)}
    names = (locale.months[form]["wide"].values() for locale in known for form in ("format", "stand-alone"))
    return frozenset(short.union(*({plain(name) for name in some} for some in names)))


_DATED = re.compile(r"(?<!\s)\s*+(?:[-*•–·‣]\s++)?(?P<day>\d{1,2})\.\s++(?:(?P<month>[^\W\d_]++\.?)|\d{1,2}\.\s)")


def date_begin(line: str) -> int:
    """Return where the date is that a line or list item begins with, "12. März" or "12. 3. 2024"; -1 for none."""
    found = _DATED.match(line)
    if found is None or ((month := found["month"]) and not {fold(month), plain(month)} & _dotted_months()):
        return -1
    return found.start("day")


@lru_cache(maxsize=32)
def _spelled(language: str) -> Mapping[str, float]:
    """Return the words of whole numbers up to a hundred, in every form that the language's rules know."""
    try:
        engine = RbnfEngine.for_language(language)
    except ValueError:
        return {}
    found: dict[str, float] = {}
    for number in range(_MOST_SPELLED, -1, -1):
        for kind, text in engine.format_number(number).text_by_ruleset.items():
            word = plain(text)
            if "cardinal" in kind or kind == "spellout-numbering":
                found[word] = float(number)
    return {word: value for word, value in found.items() if word and not word[0].isdigit()}


def _scales(locale: Locale) -> dict[str, float]:
    """Return words for powers of ten: "hundred", "million", "Mio.", "万"."""
    found: dict[str, float] = {}
    spelled = _spelled(locale.language)
    hundred = next((word for word in spelled if spelled[word] == 100), "")
    found[hundred.split(" ")[-1]] = 100.0  # the last word of "one hundred"
    found.pop("", None)
    for width in ("long", "short"):
        for forms in locale.compact_decimal_formats[width].values():
            for power, pattern in forms.items():
                shown = pattern.pattern
                digits = sum(char == "0" for char in shown)
                word = plain(re.sub(r"['0¤\s]", " ", shown))
                if word and digits and (len(word) > 1 or not word.isascii()):
                    found.setdefault(word, float(power) / 10 ** (digits - 1))
    return found


def _units(locale: Locale) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {plain(sign): value for sign, value in _SIGNS.items()}
    written: dict[str, tuple[str, float]] = {}
    patterns = [*locale._data["unit_patterns"].items()]
    if locale.language == "en":
        patterns += Locale.parse("en_GB")._data["unit_patterns"].items()  # "metres" beside "meters"
    for id, widths in patterns:
        known = _UNITS.get(id.partition("-")[2]) or _UNITS.get(id)
        if known is None:
            continue
        for word in _forms(widths):
            found.setdefault(plain(word), known)
            written.setdefault(_spaced(word), known)
    names = locale._data["currency_names_plural"]
    for code in _CURRENCIES:
        spoken = (locale.currencies.get(code, ""), *names.get(code, {}).values())
        for name in (code, *spoken, locale.currency_symbols.get(code, "")):
            if len(word := plain(name)) > 1:
                found.setdefault(word, (f"money:{code}", 1.0))
    by_case = {word for word, known in written.items() if found[plain(word)] != known}
    shared = {plain(word) for word in by_case}
    found = {word: known for word, known in found.items() if word not in shared}
    found |= {word: known for word, known in written.items() if plain(word) in shared}
    # "in" is an inch and a word: a unit that is also another word is more often that word.
    common = STOP_WORDS.get(locale.language, frozenset())
    found = {word: known for word, known in found.items() if word not in common}
    return found | {sign: (f"money:{code}", 1.0) for sign, code in _MONEY_SIGNS.items()}


def _forms(widths: Any) -> Iterator[str]:
    for width, pattern in widths.items():
        if width == "narrow":
            continue  # single letters, which have too many meanings
        for text in pattern.values() if hasattr(pattern, "values") else [pattern]:
            if isinstance(text, str) and "{0}" in text:
                word = text.replace("{0}", " ")
                if plain(word) and plain(word)[0] != "/":
                    yield word
