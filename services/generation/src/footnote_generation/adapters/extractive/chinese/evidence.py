"""How strongly the sources' sentences hold the value that a Chinese question asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote_generation.adapters.extractive.chinese.candidates import candidates, fits, lived
from footnote_generation.adapters.extractive.chinese.question import Asked, Pin
from footnote_generation.adapters.extractive.chinese.words import HAN, TURN, YEAR, bare, plain
from footnote_generation.adapters.extractive.passages import Unit

# "该片": the passage speaks of its subject without naming it again.
_BACK = re.compile("[该本此](?:[片剧书届次场机型]|作品|电影|影片|游戏|公司|赛事|组织)")
_CLAUSES = re.compile(r"(?:(?!\.\.\.)[^。！？?!；;\n…])+[？?]?")
# How many characters off a value may stand before it counts for a third: dates lead their sentence, names touch.
_REACH = {"time": 25, "amount": 4, "place": 8, "party": 16, "person": 12, "thing": 3}
# What a value weighs at least in a passage that shares nothing with the question: it was retrieved for it after all.
_FLOOR = 0.4
# What is left of a value beside another year, edition or part than the one asked about.
_OTHER = 0.2
# What is left of one that is only planned, feared or moved.
_HEDGED = 0.4
# What a year in the passage is worth that is not the year of what the question speaks of.
_LOOSE = 0.5
# Chosen on the even lines of a set of answerable and unanswerable questions: nine of ten answerable ones lie above.
_ENOUGH = 0.256
_HEDGE = re.compile(
    "预计|预测|预期|可能|有望|原定|推迟|延期|取消|计划|拟于|传闻|据传|如果|倘若|若能|争取|前一天|次日|翌日"
)
_MODEL = re.compile(r"(?<![a-z\d])[a-z]+\d+[a-z]*(?![a-z\d])")
_BEATEN = re.compile("(?:战胜|击败|力克|淘汰|打败|大胜|险胜|力压|逆转|轻取)(?:了|过)?$")
# After a name, a part that its bearer has; after a place, what makes it the name of a body or of somebody from there.
_ROLES = re.compile("(?:等?领衔|监制|主演|出演|编剧|执导|导演|作曲|摄影|制片|出品|[、和兼及])+")
_BODY = re.compile("足协|政府|国家队|队|人|媒体|记者|公司|总统|总理|代表|[语籍]")
# Before and after an attribute, what makes it that of something else: "副议长", "导演奖", "首都区".
_BEFORE = re.compile("(?:前|原|副|候任|代理|卫冕|上届|下届|第一副)$")
_AFTER = re.compile("奖|区|领地|机场|协会|学院|队伍|戒指|赛(?!季)|师")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The strongest value of each sentence, 0 to 1, and how strong the sources are together for one value, up to 2."""

    strengths: tuple[float, ...]
    agreed: float


def mostly(units: Sequence[Unit]) -> bool:
    """Whether the sentences are written in Chinese for a good part: of others these signs know nothing."""
    return sum(len(re.findall(f"[{HAN}]", unit.text)) for unit in units) > 0.3 * sum(len(unit.text) for unit in units)


def values(asked: Asked, text: str, source: str) -> dict[str, float]:
    """Return the values found in a sentence of a source, each with its strength, 0 to 1."""
    whole = _held(asked, plain(source))
    found: dict[str, float] = {}
    for clause in _CLAUSES.findall(text):
        places = _places(asked, clause)
        held = whole
        subject = (_share(asked, source) + _share(asked, clause)) / 2
        if _BACK.search(clause):
            subject, held = max(subject, 0.7), max(held, 0.7)
        weight = (_FLOOR + (1 - _FLOOR) * subject) * (0.3 + 0.7 * held) * _clash(asked, clause, source)
        if clause.endswith(("?", "？")):
            weight *= _OTHER  # it asks the same
        places += lived(asked, clause)
        for match in candidates(asked, clause):
            if asked.sort == "place" and clause[match.end() : match.end() + 2] in asked.subject:
                gap = 0  # "2012年伦敦奥运会": the place is part of the event's name
            elif places:
                gap = min(max(0, start - match.end(), match.start() - end) for start, end in places)
            else:
                continue
            strength = weight * fits(asked, match.group()) * math.exp(-max(0, gap - 1) / _REACH[asked.sort])
            strength *= _said(asked, clause, match)
            found[match.group()] = max(strength, found.get(match.group(), 0.0))
    return found


def _places(asked: Asked, clause: str) -> list[tuple[int, int]]:
    """Return where the attribute stands in a clause, unless as part of the word for something else."""
    return [
        match.span()
        for word in asked.attribute
        for match in re.finditer(re.escape(word), clause)
        if not (_BEFORE.search(clause[: match.start()]) and not _BEFORE.search(asked.text.partition(word)[0]))
        and not (_AFTER.match(clause, match.end()) and not _AFTER.match(asked.text.partition(word)[2]))
    ]


def _said(asked: Asked, clause: str, match: re.Match[str]) -> float:
    """Return less than 1 for a value that the clause does not hold to be so, or that lost."""
    around = clause[max(0, match.start() - 12) : match.end() + 4]
    factor = _HEDGED if _HEDGE.search(around) and not _HEDGE.search(asked.text) else 1.0
    part = _ROLES.match(clause, match.end())
    if asked.sort == "person" and part and len(part[0]) > 1 and not any(word in part[0] for word in asked.attribute):
        factor *= _OTHER
    if asked.sort == "place" and _BODY.match(clause, match.end()):
        factor *= _OTHER
    if asked.sort == "party" and _BEATEN.search(clause[: match.start()]):
        factor *= _OTHER
    return factor


def _share(asked: Asked, text: str) -> float:
    return sum(pair in text for pair in asked.subject) / len(asked.subject) if asked.subject else 1.0


def _held(asked: Asked, source: str) -> float:
    """Return how much of what must be there as it is a source holds, written plainly."""
    shares = [_pinned(pin, source) for pin in asked.pins]
    shares += [float(bare(title) in bare(source)) for title in asked.titles]
    return sum(shares) / len(shares) if shares else 1.0


def _pinned(pin: Pin, source: str) -> float:
    """Return 1 for a year or edition of what the question says it is of, a half for one of something else."""
    best = 0.0
    for match in re.finditer(rf"(?<![a-z\d]){re.escape(plain(pin.text))}(?![a-z\d])", source):
        if not pin.of:
            return 1.0
        after = re.split("[，。；！？,;!?]", source[match.end() : match.end() + 14])[0]
        if re.match(r"\s?年\s?\d", after):
            after = ""  # a date, not the year of an event
        place = shared = 0
        for char in pin.of:
            found = after.find(char, place)
            if found >= 0:
                shared += 1
                place = found + 1
        best = max(best, _LOOSE + (1 - _LOOSE) * shared / len(pin.of))
    return best


def _clash(asked: Asked, clause: str, source: str) -> float:
    """Return less than 1 for a clause on another year, or on a sequel ("《流浪地球2》" for "《流浪地球》")."""
    factor = 1.0
    years = set(YEAR.findall(clause))
    if asked.years and years and not years & asked.years:
        factor *= _OTHER
    turns = set(TURN.findall(clause))
    if asked.turns and turns and not asked.turns & turns:
        factor *= _OTHER
    models = set(_MODEL.findall(plain(clause)))
    if (
        models
        and not any(pin.text in models for pin in asked.pins)
        and any(_MODEL.fullmatch(pin.text) for pin in asked.pins)
    ):
        factor *= _OTHER
    for title in asked.titles:
        about = clause if title in clause else source
        if re.search(rf"{re.escape(title)}\d", about) and f"《{title}》" not in about:
            factor *= _OTHER
    return factor


def evidence(asked: Asked, units: Sequence[Unit]) -> Evidence:
    """Weigh the values in all sentences of the sources; sources that name the same value bear each other out."""
    texts: dict[int, str] = {}
    for unit in units:
        texts[unit.source] = texts.get(unit.source, "") + unit.text
    best: dict[str, dict[int, float]] = {}
    strengths: list[float] = []
    for unit in units:
        found = values(asked, unit.text, texts[unit.source])
        strengths.append(max(found.values(), default=0.0))
        for value, strength in found.items():
            by_source = best.setdefault(re.sub(r"\s", "", value), {})
            by_source[unit.source] = max(strength, by_source.get(unit.source, 0.0))
    agreed = max((sum(by_source.values()) for by_source in best.values()), default=0.0)
    return Evidence(tuple(strengths), min(2.0, agreed))


def support(found: Evidence) -> float:
    """How sure it is that the question is answered, 0 to 1: a half at the agreement that is enough."""
    return 1 / (1 + math.exp(-4 * (found.agreed - _ENOUGH)))
