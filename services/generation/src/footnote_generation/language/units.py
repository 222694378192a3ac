# ruff: noqa: E501 - tables read better in rows
"""Words for units, currencies, magnitudes, months and numbers in English and French."""

from __future__ import annotations

MAGNITUDES: dict[str, float] = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "mille": 1e3, "million": 1e6, "millions": 1e6, "mn": 1e6, "mio": 1e6,
    "billion": 1e9, "billions": 1e9, "bn": 1e9, "milliard": 1e9, "milliards": 1e9, "md": 1e9, "trillion": 1e12, "trillions": 1e12,
    "万": 1e4, "亿": 1e8, "万亿": 1e12, "百万": 1e6, "千万": 1e7, "千": 1e3,
    "millier": 1e3, "milliers": 1e3, "thousands": 1e3,
}  # fmt: skip

CURRENCIES: dict[str, str] = {
    "$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "USD": "USD", "EUR": "EUR", "GBP": "GBP",
    "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "JPY": "JPY",
}  # fmt: skip

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_FAMILIES: dict[str, dict[float, str]] = {
    "time": {
        1e-6: "µs microsecond microseconds microseconde microsecondes",
        1e-3: "ms millisecond milliseconds milliseconde millisecondes",
        1.0: "s sec secs second seconds seconde secondes",
        _MINUTE: "min mins mn minute minutes 分钟",
        _HOUR: "h hr hrs hour hours heure heures 小时",
        _DAY: "day days jour jours 天",
        7 * _DAY: "week weeks semaine semaines",
    },
    # Months and years have no fixed number of days: a dimension of their own.
    "months": {1.0: "month months mois 个月", 12.0: "year years yr yrs an ans année années annee annees", 3.0: "quarter quarters trimestre trimestres", 120.0: "decade decades décennie décennies", 1200.0: "century centuries siècle siècles"},
    "length": {
        1e-9: "nm nanometre nanometres nanometer nanometers", 1e-6: "µm micrometre micrometres micron microns",
        1e-3: "mm millimetre millimetres millimeter millimeters millimètre millimètres",
        1e-2: "cm centimetre centimetres centimeter centimeters centimètre centimètres",
        1.0: "m metre metres meter meters mètre mètres 米", 1e3: "km kilometre kilometres kilometer kilometers kilomètre kilomètres 公里 千米",
        1609.344: "mile miles mi", 0.3048: "ft foot feet", 0.0254: "inch inches pouce pouces", 0.9144: "yard yards yd",
    },
    "area": {1.0: "m² m2", 1e6: "km² km2", 1e4: "ha hectare hectares", 4046.86: "acre acres", 2_589_988.0: "sq mi"},
    "mass": {
        1e-6: "mg milligram milligrams milligramme milligrammes", 1e-3: "g gram grams gramme grammes",
        1.0: "kg kilo kilos kilogram kilograms kilogramme kilogrammes 公斤 千克", 1e3: "t tonne tonnes ton tons 吨", 0.4536: "lb lbs pound pounds", 0.02835: "oz ounce ounces",
    },
    "volume": {1e-3: "ml millilitre millilitres milliliter milliliters", 1e-2: "cl centilitre centilitres", 1.0: "l litre litres liter liters", 1e3: "m³ m3", 3.785: "gallon gallons"},
    "data": {1.0: "byte bytes octet octets", 1e3: "kb ko", 1e6: "mb mo megabyte megabytes mégaoctet mégaoctets", 1e9: "gb go gigabyte gigabytes gigaoctet gigaoctets", 1e12: "tb to terabyte terabytes"},
    "percent": {1.0: "% ％ percent per\u00a0cent pourcent pour\u00a0cent pct", 1e-1: "‰"},
    "points": {1.0: "percentage\u00a0point percentage\u00a0points pp"},
    "temperature:C": {1.0: "°c ºc celsius degrés\u00a0celsius degrees\u00a0celsius"},
    "temperature:F": {1.0: "°f ºf fahrenheit degrees\u00a0fahrenheit degrés\u00a0fahrenheit"},
    "temperature": {1.0: "° degree degrees degré degrés"},
    "power": {1.0: "w watt watts", 1e3: "kw kilowatt kilowatts", 1e6: "mw megawatt megawatts mégawatt mégawatts", 1e9: "gw"},
    "energy": {1.0: "wh", 1e3: "kwh", 1e6: "mwh", 1e9: "gwh"},
    "frequency": {1.0: "hz hertz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz"},
    "voltage": {1.0: "v volt volts", 1e3: "kv"},
    "speed": {1.0: "km/h kph kmh kilometres\u00a0per\u00a0hour kilometers\u00a0per\u00a0hour kilomètres\u00a0par\u00a0heure", 1.609344: "mph miles\u00a0per\u00a0hour", 3.6: "m/s metres\u00a0per\u00a0second meters\u00a0per\u00a0second mètres\u00a0par\u00a0seconde"},
    "pressure": {1.0: "bar bars", 1e-3: "mbar", 1e-5: "pa", 1e-2: "kpa hpa", 10.0: "mpa"},
    "money:USD": {1.0: "dollar dollars usd us\u00a0dollars", 1e-2: "cent cents"},
    "money:EUR": {1.0: "€ euro euros eur"},
    "money:GBP": {1.0: "£ sterling gbp"},
    "money:CNY": {1.0: "元 人民币"},
    "money:CHF": {1.0: "chf francs\u00a0suisses"},
    "money:JPY": {1.0: "yen yens jpy"},
}  # fmt: skip
UNITS: dict[str, tuple[str, float]] = {
    word.replace("\u00a0", " "): (dimension, factor)
    for dimension, scale in _FAMILIES.items()
    for factor, words in scale.items()
    for word in words.split(" ")
}

MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        ("january jan janvier janv", "february feb février fevrier févr", "march mar mars", "april apr avril avr", "may mai",
         "june jun juin", "july jul juillet juil", "august aug août aout", "september sep sept septembre",
         "october oct octobre", "november nov novembre", "december dec décembre decembre déc"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip

NUMBER_WORDS: dict[str, float] = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000, "dozen": 12, "twice": 2,
    "zéro": 0, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "onze": 11,
    "douze": 12, "treize": 13, "quatorze": 14, "quinze": 15, "seize": 16, "vingt": 20, "vingts": 20, "trente": 30, "quarante": 40,
    "cinquante": 50, "soixante": 60, "cent": 100, "cents": 100, "mille": 1000,
}  # fmt: skip


# These read as ordinary words unless written just so.
CASED_UNITS = {
    "mo": {"Mo", "MO"},
    "go": {"Go", "GO"},
    "to": {"To", "TO"},
    "ko": {"Ko", "KO", "ko"},
    "v": {"V"},
    "w": {"W"},
    "pa": {"Pa"},
}


def unit_words() -> list[str]:
    """Return every word or sign for a unit, in lower case."""
    return list(UNITS)
