"""Typed values of cells: a number with its unit, currency or percent sign, or a day, if the text is unambiguous.

"1.234" is a thousand in one country and a fraction in another. It is a number only if other cells show which mark is
the decimal separator. Uncertain values stay text. Values are returned as the bytes of `Cell`'s fields, since a large
table has millions of them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from functools import lru_cache
from itertools import zip_longest

from footnote.types.v1.table_pb2 import Cell, Measure
from footnote_text.digits import latin_digits

NOTHING = b""
_EXACT_DIGITS = 15
"""Numbers with more digits before the decimals than a double holds exactly are identifiers."""
_DOUBLE = struct.Struct("<d")
_NUMBER_TAG = bytes([Cell.NUMBER_FIELD_NUMBER << 3 | 1])
_DATE_TAG = bytes([Cell.DATE_FIELD_NUMBER << 3 | 2])
_BOOLEAN_TAG = bytes([Cell.BOOLEAN_FIELD_NUMBER << 3])
_MEASURE_TAG = bytes([Cell.MEASURE_FIELD_NUMBER << 3 | 2])

CURRENCIES = {"€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "zł": "PLN", "US$": "USD",
              "A$": "AUD", "C$": "CAD", "HK$": "HKD", "R$": "BRL", "$": "$", "¥": "¥", "₪": "ILS", "₱": "PHP",
              "฿": "THB", "₫": "VND", "₴": "UAH", "₦": "NGN", "₸": "KZT", "₾": "GEL", "Rs": "Rs", "Rp": "IDR",
              "kr": "kr", "Kč": "CZK", "lei": "RON"}  # fmt: skip
"""Currency signs with their codes, of CLDR; a sign that several countries use stays a sign. Single letters are none."""
_CODE_WORDS = (
    "AED AUD BRL CAD CHF CNY CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MAD MXN MYR NOK NZD PHP PLN RON RUB SAR "
    "SEK SGD THB TRY USD ZAR"
)
CODES = frozenset(_CODE_WORDS.split())
_UNIT_WORDS = (
    "kg g mg µg t km m cm mm µm nm l L ml mL cl hl W kW MW GW TW Wh kWh MWh GWh TWh V kV A mA Hz kHz MHz GHz kB MB GB "
    "TB KiB MiB GiB °C °F K ha m² m³ km² cm² cm³ m2 m3 km2 km/h m/s bar Pa kPa hPa MPa N kN J kJ MJ ppm dB lm lx rpm "
    "min h lb oz ft mph Mbit/s Gbit/s MB/s GB/s kcal"
)
UNITS = frozenset(_UNIT_WORDS.split())
SHORT_SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "mn": 6, "Mn": 6, "MM": 6, "bn": 9, "Bn": 9, "B": 9}
"""Powers of ten of letters beside a currency, where they are no units: "£5m", "(€bn)"."""
_STARTS = frozenset("0123456789-+−–(.$€£¥₹₩₽₺－＋．＄￡￥" + "".join(one[0] for one in (*CODES, *CURRENCIES)))
_SIGNS = re.compile(
    "|".join(
        re.escape(sign) + (r"\.?(?![^\W\d_])" if sign[-1].isalpha() else "")
        for sign in sorted(CURRENCIES, key=len, reverse=True)
    )
)
_POINT = re.compile(r"-?(?:0|[1-9][0-9]{0,19}+)\.[0-9]++")
"""A number when a point is known to be the decimal separator."""
_BODY = re.compile(r"[0-9]{1,3}(?:[ '’][0-9]{3})+(?:[.,][0-9]+)?|[0-9][0-9.,]*|[.,][0-9]+")
_TAIL = re.compile(r"([0-9.,'’ ]{0,30}[0-9]) ?([^0-9]{1,8})")
_WIDE = dict(zip("－＋．％＄￡￥", "-+.%$£¥", strict=True))
"""Full-width signs of numbers. Brackets are none of them, since "（１）" numbers a row."""
_BLANKS = str.maketrans({"\xa0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "–": "-"} | _WIDE)
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?))?")
_YEAR_FIRST_DAY = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})")
_CLOCK = r"(?:,? ([0-9]{2}:[0-9]{2}(?::[0-9]{2})?))?"
_POINT_DAY = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})" + _CLOCK)
_SLASH_DAY = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})" + _CLOCK)
_TRUTH = {"true": True, "false": False}
_MAYBE = _STARTS | frozenset("tTfF")
_LONGEST, _MOST_KNOWN = 40, 4096
_LEAST_BARE = 100
"""A whole number from here on shows that the marks of its column separate thousands: the others would be far less."""


def of_value(value: object, measure: bytes = NOTHING) -> bytes:
    """Return the number, day or truth value that the file itself holds; nothing for texts."""
    kind = type(value)
    if kind is float or kind is int:
        return _NUMBER_TAG + _DOUBLE.pack(value) + measure
    if kind is bool:
        return _BOOLEAN_TAG + (b"\x01" if value else b"\x00")
    if isinstance(value, datetime):
        whole = (value.hour, value.minute, value.second) == (0, 0, 0)
        return _day(value.date().isoformat() if whole else value.isoformat(timespec="seconds"))
    return _day(value.isoformat()) if isinstance(value, date) else NOTHING


def is_number(value: bytes) -> bool:
    """Return whether a cell's value is a number."""
    return value[:1] == _NUMBER_TAG


@lru_cache(maxsize=256)
def measure_bytes(unit: str = "", currency: str = "", scale: int = 0) -> bytes:
    """Return the unit of a number, as the bytes of the cell's field."""
    if not (unit or currency or scale):
        return NOTHING
    data = Measure(unit=unit, currency=currency, scale=scale).SerializeToString()
    return _MEASURE_TAG + bytes([len(data)]) + data


@lru_cache(maxsize=256)
def sign_measure(percent: bool, before: str, after: str) -> bytes:
    """Return the measure around a number, as the bytes of the cell's field."""
    signs = {one.strip("()-+ ") for one in (before, after)} - {"", "%"}
    sign = signs.pop() if len(signs) == 1 else ""
    currency = CURRENCIES.get(sign, sign if sign in CODES else "")
    return measure_bytes("%" if percent else sign if sign in UNITS else "", currency)


def _day(text: str) -> bytes:
    data = text.encode()
    return _DATE_TAG + bytes([len(data)]) + data


class Numbers:
    """Parses the cells of one document; the separators seen in one cell apply to the others.

    Where `commas_delimit` cells, points separate decimals unless a cell shows otherwise: files with decimal commas are
    delimited by semicolons.
    """

    def __init__(self, *, commas_delimit: bool = False) -> None:
        self._decimal = ""  # the decimal separator, "?" if cells disagree
        self._commas_delimit = commas_delimit
        self._day_first: bool | None = None
        self._known: dict[str, bytes] = {}

    def learn(self, rows: Iterable[Sequence[str]], own: Sequence[Sequence[bytes] | None] = ()) -> None:
        """Look at the first rows of a table before parsing it; `own` are the values that the file itself holds.

        A column with "987" and "1,234" has no decimals: its mark separates thousands. So has a column of a sheet whose
        numbers are whole. Whole numbers below 100 say nothing: "2" and "1.234" may be ratios. Where commas delimit,
        "987", "1.234" and "2.500" may be either, and no such cell is a number.
        """
        repeated: set[int] = set()
        bare: set[int] = set()
        broken: set[int] = set()
        marked: dict[int, str] = {}
        for row, values in zip_longest(rows, own):
            for column, text in enumerate(row):
                if not text or (text[0] not in _STARTS and not text[0].isdecimal()):
                    continue
                if values and is_number(value := values[column]):
                    number = _DOUBLE.unpack_from(value, 1)[0]
                    if not number.is_integer():
                        broken.add(column)
                    elif abs(number) >= _LEAST_BARE:
                        bare.add(column)
                    self.cell(text)
                    continue
                body = _plainly(text).strip("-+()$€£ ")
                if body.isdecimal():
                    if len(body) == 3 and int(body) >= _LEAST_BARE:
                        bare.add(column)
                    continue
                self.cell(text)
                if len(body) in (5, 6, 7) and body[-4] in ".," and (body[:-4] + body[-3:]).isdecimal():
                    if column in marked:
                        repeated.add(column)
                    marked[column] = body[-4] if marked.get(column, body[-4]) == body[-4] and body[0] != "0" else ""
        for column, mark in marked.items():
            if not mark or column not in bare - broken or self._decimal:
                continue
            if mark == "," or not self._commas_delimit:
                self._shows("," if mark == "." else ".")
            elif column in repeated:
                self._known.clear()
                self._decimal = "?"

    def cell(self, text: str) -> bytes:
        """Return the value of a cell as the fields of `Cell`; nothing for text or an uncertain value."""
        if not text or (text[0] not in _MAYBE and not text[0].isdecimal()):
            return NOTHING
        if text.isdecimal() and text.isascii():
            if len(text) > _EXACT_DIGITS or (text[0] == "0" and len(text) > 1):
                return NOTHING
            return _NUMBER_TAG + _DOUBLE.pack(int(text))
        if self._decimal == "." and len(text) <= _EXACT_DIGITS and _POINT.fullmatch(text) is not None:
            return _NUMBER_TAG + _DOUBLE.pack(float(text))
        known = self._known.get(text)
        if known is None:
            known = self._read(text) if len(text) <= _LONGEST else NOTHING
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[text] = known
        return known

    def _read(self, text: str) -> bytes:
        if not text.isascii():
            if "\u066b" in text or "\u066c" in text:
                self._shows(".")  # the Arabic decimal and thousands signs are read as "." and ","
            native = any(char.isdecimal() and not ("0" <= char <= "9" or "０" <= char <= "９") for char in text)
            text = _plainly(text)
            if native:
                return self._number(text)  # such a day may be of another calendar: the Persian, Islamic or Thai one
        if text[0].isalpha():
            if text[:3] not in CODES and _SIGNS.match(text) is None:
                return NOTHING if text.lower() not in _TRUTH else _BOOLEAN_TAG + bytes([_TRUTH[text.lower()]])
        elif text.count(".") == 2 and (day := self._date(text)):
            return day
        return self._number(text) or self._date(text)

    def _number(self, text: str) -> bytes:
        negative, unit, currency, scale = False, "", "", 0
        if text[0] == "(" and text.endswith((")", ")%", ") %")):
            negative, text = True, text[1:].replace(")", "", 1)
        if text[:1] in "+-" and text:
            negative, text = text[0] == "-", text[1:].lstrip()
        if text and not text[0].isdigit():
            sign = _SIGNS.match(text)
            found = sign[0] if sign else text[:3] if text[:3] in CODES else ""
            if found:
                sign_alone = found.rstrip(".")
                currency, text = CURRENCIES.get(sign_alone, sign_alone), text[len(found) :].lstrip()
                if text[:1] == "-":
                    negative, text = True, text[1:].lstrip()
                if text[:1] == "(" and text.endswith(")"):
                    negative, text = True, text[1:-1]
        if text and not text[-1].isdigit():
            tail = _TAIL.fullmatch(text)
            if tail is None:
                return NOTHING
            text, found = tail[1], tail[2].strip()
            if currency:  # no unit stands beside one
                scale = SHORT_SCALES.get(found, 0)
                if not scale:
                    return NOTHING
            elif found in CURRENCIES or found in CODES:
                currency = CURRENCIES.get(found, found)
            elif found == "%" or found in UNITS:
                unit = found
            else:
                return NOTHING
        value = self._plain(text)
        if value is None:
            return NOTHING
        return _NUMBER_TAG + _DOUBLE.pack(-value if negative else value) + measure_bytes(unit, currency, scale)

    def _plain(self, text: str) -> float | None:
        """Return an unsigned number if its separators are unambiguous."""
        if _BODY.fullmatch(text) is None:
            return None
        points, commas = text.count("."), text.count(",")
        # A coordinate has more decimals than a double holds: it is rounded, and no identifier.
        whole = text.replace(",", ".").partition(".")[0] if points + commas == 1 else text
        if sum(map(str.isdigit, whole)) > _EXACT_DIGITS:
            return None
        for blank in " '’":
            text = text.replace(blank, "")
        if points and commas:
            decimal = "." if text.rfind(".") > text.rfind(",") else ","
            if (points if decimal == "." else commas) > 1:
                return None
        elif points + commas > 1:
            decimal = "," if points else "."
        elif points + commas == 1:
            mark = "." if points else ","
            before, _, after = text.partition(mark)
            if len(after) != 3 or not 0 < len(before) < 4 or before[0] == "0":
                decimal = mark
            elif not self._decimal and mark == "." and self._commas_delimit:
                return float(text)
            elif self._decimal in ("", "?"):
                return None
            else:
                return float(before + (("." + after) if mark == self._decimal else after))
        else:
            return float(text) if text[0] != "0" or text == "0" else None
        group = "," if decimal == "." else "."
        whole, _, fraction = text.partition(decimal)
        groups = whole.split(group)
        if whole[:1] == "0" and whole != "0":
            return None
        if len(groups) > 1 and not _are_groups([len(one) for one in groups], group):
            return None
        if 2 in map(len, groups[1:-1]) and decimal not in text:
            # Lakhs. A list "1,23,456" looks the same, so it shows no separator.
            return float("".join(groups)) if self._decimal in ("", ".") else None
        self._shows(decimal)
        return float("".join(groups) + "." + (fraction or "0"))

    def _shows(self, decimal: str) -> None:
        """Record the decimal separator that a number shows; later cells are parsed with it."""
        if self._decimal != decimal:
            if self._decimal != "?":
                self._known.clear()
            self._decimal = decimal if not self._decimal else "?"

    def _date(self, text: str) -> bytes:
        """Return a day; 03/04/2024 only if another cell shows whether day or month comes first."""
        if (found := _ISO_DAY.fullmatch(text)) is not None:
            return _valid(int(found[1]), int(found[2]), int(found[3]), found[4] or "")
        if (found := _YEAR_FIRST_DAY.fullmatch(text)) is not None:
            return _valid(int(found[1]), int(found[2]), int(found[3]))
        if (found := _POINT_DAY.fullmatch(text)) is not None:
            return _valid(int(found[3]), int(found[2]), int(found[1]), found[4] or "")
        if (found := _SLASH_DAY.fullmatch(text)) is not None:
            first, second, year = int(found[1]), int(found[2]), int(found[3])
            if (first > 12) != (second > 12):
                if self._day_first is None:
                    self._known.clear()
                self._day_first = first > 12
            if self._day_first is not None:
                month, day = (second, first) if self._day_first else (first, second)
                return _valid(year, month, day, found[4] or "")
        return NOTHING


def _plainly(text: str) -> str:
    """Write digits of other scripts, full-width signs, blanks and dashes of a cell in ASCII.

    A full-width comma separates thousands of full-width digits only: "1，200" is a list.
    """
    if text.isascii():
        return text
    if "，" in text and not any("0" <= char <= "9" for char in text):
        text = text.replace("，", ",")
    return latin_digits(text).translate(_BLANKS)


def _are_groups(sizes: Sequence[int], mark: str) -> bool:
    """Return whether digits between marks are thousands, "1,500,000", or lakhs and crores, "15,00,000"."""
    first, *middle, last = sizes
    lakhs = mark == "," and first in (1, 2) and set(middle) == {2}
    return last == 3 and (lakhs or (first in (1, 2, 3) and set(middle) <= {3}))


def _valid(year: int, month: int, day: int, clock: str = "") -> bytes:
    try:
        text = date(year, month, day).isoformat()
    except ValueError:
        return NOTHING
    if not clock:
        return _day(text)
    return _day(f"{text}T{clock}{':00' if len(clock) == 5 else ''}") if clock[:2] < "24" else NOTHING
