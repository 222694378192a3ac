"""What a statement says beside the names of a cell: its linking words, and the value, compared with the cell's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from footnote_text import tables

from footnote_generation.language.quantities import Quantity, find, same_dimension, same_value
from footnote_generation.verification.lead_ins import is_glue, linked, says_something
from footnote_generation.verification.normalised import Token, tokens

STAND_IN = "document"  # replaces a place's words, since a lead-in can name a document too
_IDLE = frozenset([*"/&+=§-", STAND_IN])
"""Tokens allowed between headers and value: signs, and the word for a place that the statement names."""
_SYMBOL = 3
"""Most letters of a unit that are written in one case: "mW", "Mb"."""


def parts(text: str, decimal: str) -> tuple[Token, ...]:
    """Return the folded tokens of a text, an elided article apart from its word: "l'article"."""
    found: list[Token] = []
    for token in tokens(text, decimal):
        word = token.text.casefold()
        if word[1:2] == "'" and len(word) > 2 and not is_glue(word):
            after = max(token.start + 1, token.end - len(word) + 2)
            found += [Token(word[0], token.start, token.start + 1), Token(word[2:].strip(), after, token.end)]
        else:
            found.append(Token(word, token.start, token.end))
    return tuple(found)


def words(text: str, decimal: str) -> tuple[str, ...]:
    """Return the texts of these tokens."""
    return tuple(token.text for token in parts(text, decimal))


def written(found: Iterable[Token]) -> str:
    """Return the texts of tokens, with spaces."""
    return " ".join(token.text for token in found)


def linking(rest: tuple[Token, ...], statement: str, language: str) -> frozenset[int]:
    """Return which tokens of a rest are signs or linking words of one language, by their places.

    One that says something else in the source's language (ISO 639-1; "" for English) is one only in a statement of
    another language, beside what is none of the rest. Directly after a number a letter, or a last word, is its unit:
    "5 W", "6 in".
    """
    language = language or "en"
    last = max((token.end for token in rest), default=0)
    idle: set[int] = set()
    glue: dict[int, str] = {}
    for at, token in enumerate(rest):
        before, after = statement[max(0, token.start - 1) : token.start], statement[token.end : token.end + 1]
        if token.text in _IDLE or (token.text == "s" and before in ("'", "’")):
            # What touches the end of a word is part of it: "BBB+".
            if not (token.text in "+-" and before.isalnum() and not after.isalnum()):
                idle.add(at)
        elif is_glue(token.text):
            is_counted = at > 0 and rest[at - 1].text[0].isdigit()
            is_counted = is_counted and not statement[rest[at - 1].end : token.start].strip()
            if not (is_counted and (len(token.text) == 1 or token.end == last)):
                glue[at] = token.text
    if not glue:
        return frozenset(idle)
    words, is_other = linked(frozenset(glue.values()), language)
    blocked = says_something(language)
    return frozenset(
        idle | {
            at for at, word in glue.items()
            if word in words and (word not in blocked or (is_other and _is_between(at, rest, statement, glue)))
        }
    )  # fmt: skip


def _is_between(at: int, rest: Sequence[Token], statement: str, glue: Collection[int]) -> bool:
    """Return whether a word stands before a name, a number or another linking word, or else directly after a name."""
    if at + 1 < len(rest) and (at + 1 in glue or rest[at + 1].text[0].isdigit()):
        return True
    following = statement[rest[at].end : rest[at + 1].start if at + 1 < len(rest) else len(statement)]
    before = statement[rest[at - 1].end if at else 0 : rest[at].start].rstrip()
    return any(map(str.isalnum, following)) or before[-1:].isalnum()


def tied(rest: tuple[Token, ...], statement: str, language: str) -> tuple[Token, ...]:
    """Return a rest without what links it, a single token whole."""
    idle = linking(rest, statement, language) if len(rest) > 1 else ()
    return tuple(token for at, token in enumerate(rest) if at not in idle)


def is_text(value: tuple[str, ...], rest: tuple[Token, ...], statement: str, language: str) -> bool:
    """Return whether a rest is a whole text and what links it: a value's own words are not left out."""
    plain = tuple(token.text for token in rest)
    if not value or plain == value or tuple(token.text for token in tied(rest, statement, language)) == value:
        return bool(value)
    idle, size = linking(rest, statement, language), len(value)
    return any(
        plain[begin : begin + size] == value and idle.issuperset((*range(begin), *range(begin + size, len(plain))))
        for begin in range(len(plain) - size + 1)
    )


def same_case(tied: Sequence[Token], statement: str, text: str) -> bool:
    """Return whether what stands after numbers, which may be units, is written as in a text: "5 mW" is not "5 MW"."""
    said = {statement[one.start : one.end] for before, one in pairwise(tied) if before.text[0].isdigit()}
    return all(one in text or len(one) > _SYMBOL for one in said if one.casefold() in text.casefold())


def is_same(cell: tables.Cell, given: Quantity, language: str, *, by_place: bool = False) -> bool | None:
    """Return whether a cell without a certain number holds a quantity alone, and the one given.

    Where a statement names the cell by its place, what the number counts may be left to the cell: 150 of "150 units".
    """
    if given.dimension == "date" and (day := cell.message.date):
        if "T" in day or len(given.values) > 1 or any(one % 100 == 0 for one in given.values):
            return None
        held = Quantity(frozenset([float(day.replace("-", ""))]), "date", 0, 0, "")
        return same_value(held, given)
    text = find(cell.text, language)
    if len(text) != 1 or not same_dimension(text[0], given):
        return None
    if (beside := outside(cell.text, text[0])) and not (by_place and _is_counted(cell.text, text[0], beside)):
        return None
    if text[0].dimension == "date" and max(len(text[0].values), len(given.values)) > 1:
        return None  # 03/04/2025
    halves = {any(map(str.isalpha, one.text)) for one in (text[0], given)}
    if text[0].dimension == given.dimension == "clock" and len(halves) > 1 and not same_value(text[0], given):
        hours = {one % 720 for one in (*text[0].values, *given.values)}
        return None if len(hours) == 1 else False  # "12:30" of "12:30 am"
    return same_value(text[0], given)


def bare_number(text: str, language: str) -> float | None:
    """Return the number that a text is and nothing but a currency, None if there is no one way to read it."""
    found = find(text, language)
    if len(found) != 1 or len(found[0].values) != 1 or outside(text, found[0]).strip("-−–()"):
        return None
    is_money = found[0].dimension.startswith("money") and text.rstrip(" )€$£¥")[-1:].isdigit()  # not "$5m"
    return abs(next(iter(found[0].values))) if is_money or not found[0].dimension else None


def spoken(rest: Iterable[Token], statement: str, decimal: str) -> str:
    """Return tokens as a text again, in their places and case, with the language's decimal sign."""
    return " ".join(
        token.text.replace(".", decimal) if token.text[0].isdigit() else statement[token.start : token.end]
        for token in sorted(rest, key=lambda token: token.start)
    )


def _is_counted(text: str, quantity: Quantity, beside: str) -> bool:
    """Return whether a text is a number and one word after it, which says what is counted."""
    after = text[quantity.end : quantity.end + 1]
    return not quantity.dimension and not text[: quantity.start].strip() and after.isspace() and beside.isalpha()


def outside(text: str, quantity: Quantity) -> str:
    """Return what a text has beside a quantity, but for spaces and a last full stop."""
    return f"{text[: quantity.start]}{text[quantity.end :]}".strip(" .\u00a0\u202f")
