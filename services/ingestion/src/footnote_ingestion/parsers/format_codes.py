"""Format codes of Office Open XML: how a number is shown, with percents, decimals, thousands and currency signs.

ECMA-376 part 1, 18.8.31; sheets and charts use them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from footnote_ingestion.parsers.numbers import of_value, sign_measure

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<symbol>[^\[\]-]*+)[^\[\]]*+\]|\[[^\[\]]*+\]'
    r"|(?P<number>[#0?](?:[#0?,.]*[#0?])?)|(?P<percent>%)|(?P<sign>[-+$() ]|[^\x00-\x7f])|(?P<other>.)"
)
_CONDITIONS = ("[<", "[>", "[=")
_SIGNS = "-+() "
_PLACES = [Decimal(1).scaleb(-places) for places in range(31)]  # a workbook's formats have at most 30 decimals
_MOST_DIGITS = 255
_ROUNDING = Context(prec=64, rounding=ROUND_HALF_UP)
_EXACT = 1e15  # beyond this, a float's digits are not the cell's


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What is displayed around and of a number."""

    before: str
    after: str
    percent: bool
    thousands: bool
    decimals: int
    fixed: bool
    """Whether to show all decimals, including zeros."""
    digits: int = 1
    """How many digits to show before the decimals at least, with zeros in front."""
    below: str = ""
    """What is displayed before a negative number, if it is other than a sign and `before`."""
    after_below: str = ""
    """What is displayed after a negative number, if it is other than `after`; `below` is then before it, if empty."""

    def show(self, value: object) -> str | None:
        """Return the number as the sheet shows it; None for other values and when it is too large to be exact."""
        if not isinstance(value, int | float):
            return None
        scaled = value * 100 if self.percent else value
        if abs(scaled) >= _EXACT:
            return None
        exact = Decimal(f"{abs(scaled):.15g}")  # the digits that a sheet has
        rounded = exact.quantize(_PLACES[self.decimals], context=_ROUNDING)
        grouping = "," if self.thousands else ""
        text = f"{rounded:{grouping}f}"
        if self.digits > 1:
            whole, point, decimals = text.partition(".")
            commas = (self.digits - 1) // 3 if self.thousands else 0
            text = f"{int(whole.replace(',', '')):0{self.digits + commas}{grouping}}{point}{decimals}"
        if not self.fixed and "." in text:
            text = text.rstrip("0").rstrip(".")
        before, after = self.before, self.after
        if scaled < 0 and text.strip("0.,"):
            before = self.below if self.below or self.after_below else f"-{before.lstrip('+')}"
            after = self.after_below or after
        return f"{before}{text}{'%' if self.percent else ''}{after}".strip()

    def typed(self, value: object) -> bytes:
        """Return a number as the fields of `Cell`, percents as displayed, with unit and currency."""
        if not isinstance(value, int | float):
            return of_value(value)
        return of_value(
            round(value * 100, 12) if self.percent else value, sign_measure(self.percent, self.before, self.after)
        )


@lru_cache(maxsize=512)
def parse(code: str) -> NumberFormat | None:
    """Parse a format code's section for positive numbers, and what the next one has around negative ones.

    None for dates, fractions, exponents, General, and a section under a condition, which is not for all numbers.
    """
    if code.lower().startswith("general"):
        return None
    first = _first_section(code)
    positive = _section(first)
    if positive is None:
        return None
    before, number, after, percent = positive
    negative = _section(_first_section(code[len(first) + 1 :]))
    below = negative[0].replace("(", "").lstrip() if negative is not None else ""
    whole, _, decimals = number.partition(".")
    after = _spaced(after)
    after_below = _spaced(negative[2]) if negative is not None and "(" not in negative[0] else ""
    if after_below.strip(_SIGNS) in ("", after.strip(_SIGNS)):
        after_below = ""
    return NumberFormat(
        before.lstrip(),
        after,
        percent,
        "," in number,
        min(len(decimals.replace(",", "")), len(_PLACES) - 1),
        not set(decimals) & set("#?"),
        min(max(whole.count("0"), 1), _MOST_DIGITS),
        below if after_below or below.strip(_SIGNS) != before.strip(_SIGNS) else "",
        after_below,
    )


def _spaced(after: str) -> str:
    """Return a text after a number with at most one space before it."""
    return f" {after.strip()}" if after.startswith(" ") and after.strip() else after.strip()


def _section(code: str) -> tuple[str, str, str, bool] | None:
    """Return what stands before a section's digits, these, what stands after them, and whether it is a percent."""
    before, after, number, percent = "", "", "", False
    for match in _TOKEN.finditer(code):
        if match["other"] or match[0].startswith(_CONDITIONS):
            return None
        if match["number"]:
            if number:
                return None
            number = match["number"]
            continue
        percent = percent or bool(match["percent"])
        literal = match["quoted"] or match["escaped"] or match["symbol"] or match["sign"] or ""
        if number:
            after += literal
        else:
            before += literal
    return (before, number, after, percent) if number else None


def _first_section(code: str) -> str:
    """Return the text before the first unquoted semicolon."""
    return re.match(r'(?:"[^"]*"|\\.|[^;"\\])*', code)[0]  # type: ignore[index]  # it matches the empty text too
