"""A Chinese question taken apart: the sort of value, its attribute, and what must be there as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from footnote_generation.adapters.extractive.chinese.words import HAN, TURN, YEAR, listed, pairs, plain

_SORTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sort, re.compile(pattern))
    for sort, pattern in (
        ("other", "为什么|为何|如何|怎么|怎样|吗[？?]?$|哪些|区别"),
        ("time", "时间|日期|什么时候|何时|哪一?年|哪天|几月|几号"),
        ("amount", "多少|几[个位次届]|[一-鿿]率[？?]?$|震级|多[久长大高远重]"),
        ("place", "在哪|哪里|哪儿|哪个?(?:国家|城市|省)|什么地方|[办席]国|首都|国家[？?]?$"),
        ("party", "冠军|哪支|哪个队|哪家"),
        ("person", "谁|哪位|导演|作者|编剧|主演|[长统官理][？?]?$|主席"),
        ("thing", "[是叫]什么|什么[名类]"),
    )
)
_ASKING = re.compile(
    r"是?什么(?:时候|地方)?|多(?:少|久|长|大|高|远|重)[个人名位天次元年]?|是?谁|[哪几](?:一?年|里|儿|[个位支家点号天名次届月])?"
    r"|何时|[吗呢]|日期|时间|国家|[到的在是了于被有？?：:\s]"
)
_TITLE = re.compile("《([^》]{1,200}+)》")
_MODEL = re.compile(rf"[a-z]++\d*+[a-z]*+|[{HAN}]{{2}}\d{{1,2}}(?![\d年月日号届])")
_NAMED = re.compile(rf"(?:年度?|赛季|届)?([{HAN}]{{1,4}})")


@dataclass(frozen=True, slots=True)
class Pin:
    """A year, edition or model that must be there, as written plainly, and what it is the year of, "" if unsaid."""

    text: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's sort of value, the words of its attribute, what must be there as it is, and pairs of the rest."""

    text: str
    sort: str
    attribute: frozenset[str]
    pins: tuple[Pin, ...]
    years: frozenset[str]
    turns: frozenset[str]
    titles: frozenset[str]
    subject: frozenset[str]


@lru_cache(maxsize=256)
def read(text: str) -> Asked | None:
    """Take a Chinese question apart; None when it is none, or asks for no single value."""
    sort = next((sort for sort, pattern in _SORTS if pattern.search(text)), "other")
    if sort == "other" or re.search("[\u3040-\u30ff\uac00-\ud7a3]", text):
        return None
    titles = frozenset(_TITLE.findall(text))
    untitled = _TITLE.sub("|", text)
    rest = _ASKING.sub("|", re.sub(r"[A-Za-z0-9\-–]+年?", "|", untitled))
    pieces = [part for part in re.split(rf"[^{HAN}]+", rest) if part]
    single = {word for line in listed("same") for word in line.split() if len(word) == 1}
    parts = [part for part in pieces if len(part) > 1 or part in single] or pieces
    attribute = _attribute(parts)
    subject = frozenset(
        pair
        for part in (*parts, *titles)
        for pair in pairs(part)
        if not any(pair in word or word in pair for word in attribute)
    )
    years, turns = frozenset(YEAR.findall(text)), frozenset(TURN.findall(text))
    return Asked(text, sort, attribute, _pins(untitled), years, turns, titles, subject)


def _pins(text: str) -> tuple[Pin, ...]:
    found = [
        Pin(match.group(), named[1] if (named := _NAMED.match(_ASKING.sub("|", text[match.end() :]))) else "")
        for pattern in (YEAR, TURN)
        for match in pattern.finditer(text)
    ]
    return (*found, *(Pin(match.group()) for match in _MODEL.finditer(plain(text))))


def _attribute(parts: Sequence[str]) -> frozenset[str]:
    """Return the words that the asked value stands beside: known ones of the last two parts, or the last part."""
    for part in reversed(parts[-2:]):
        known = [
            group
            for group in (line.split() for line in listed("same"))
            if any(word in part and (len(word) > 1 or word == part) for word in group)
        ]
        if known:
            return frozenset(word for group in known for word in group)
    return frozenset(parts[-1][-size:] for size in (2, 3, 4)) if parts else frozenset()
