"""Who does what to whom where a statement and its place differ in voice: "A hired B" is "B was hired by A"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from footnote.types.v1.reasons_pb2 import CLAIM_REASON_ROLES_SWAPPED

from footnote_generation.language.grammar import Grammar, load, stem
from footnote_generation.language.reading import Item
from footnote_generation.language.units import UNITS
from footnote_generation.verification.doubts import NONE, Doubt

_TO_AGENT = 3
"""Words from "by" to the one who acts: "by the former director"."""
_ARTICLES = {"pt": frozenset({"a", "as"})}
"""Prepositions that are articles as well."""
_YEAR = 4  # digits
_VERB_LAST = frozenset({"de", "nl"})
"""Languages whose passive ends in its verb."""


@dataclass(frozen=True, slots=True)
class Passive:
    """A clause in the passive that names who acts: indices of the first word it is done to and of the one who acts."""

    patient: int
    agent: int


def passive(items: Sequence[Item], used: set[int] | None, grammar: Grammar) -> Passive | None:
    """Return the first clause, of those used, that says by whom something is done; linear in the words."""
    patient = copula = -1
    for index, item in enumerate(items):
        if used is not None and item.segment not in used:
            continue
        if item.plain in grammar.copulas:
            copula = index
        elif item.plain in grammar.passive and 0 <= patient < copula:
            after = range(index + 1, min(index + 1 + _TO_AGENT, len(items)))
            agent = next((at for at in after if items[at].content and items[at].segment == item.segment), -1)
            # "A day per week" names nobody who acts.
            if agent >= 0 and not measures(items[agent], grammar) and items[index + 1].quantity < 0:
                return Passive(patient, agent)
        elif item.content and patient < 0 and not _hangs(index, items, grammar):
            patient = index
    return None


def swapped(
    claim: Sequence[Item], chosen: Mapping[int, int], place: Sequence[Item], used: set[int], grammar: Grammar
) -> Doubt:
    """Say that who acts in one text is whom it is done to in the other; `chosen` is by the start of a claim's word."""
    mine, theirs = passive(claim, None, grammar), passive(place, used, grammar)
    if mine is not None and theirs is None:
        agent, patient = chosen.get(claim[mine.agent].start), chosen.get(claim[mine.patient].start)
        if agent is not None and patient is not None and patient < agent:
            return Doubt(CLAIM_REASON_ROLES_SWAPPED, stated=claim[mine.agent].text, found=place[patient].text)
    if theirs is not None and mine is None:
        found = {chosen[item.start]: index for index, item in enumerate(claim) if item.start in chosen}
        agent, patient = found.get(theirs.agent), found.get(theirs.patient)
        if agent is not None and (_hangs(agent, claim, grammar) or (patient is not None and patient < agent)):
            return Doubt(CLAIM_REASON_ROLES_SWAPPED, stated=claim[agent].text, found=place[theirs.patient].text)
    if mine is None and theirs is None:
        return _suffers(claim, chosen, place, grammar)
    return NONE


def _suffers(claim: Sequence[Item], chosen: Mapping[int, int], place: Sequence[Item], grammar: Grammar) -> Doubt:
    """Say that a statement has done to somebody what that one does to another: "B was advised" for "B advised C"."""
    subject = next((at for at, item in enumerate(claim) if item.content and not _hangs(at, claim, grammar)), -1)
    acting = chosen.get(claim[subject].start) if subject >= 0 else None
    if acting is None or any(item.plain in grammar.copulas for item in place if item.segment == place[acting].segment):
        return NONE
    copula = next((at for at in range(subject, len(claim)) if claim[at].plain in grammar.copulas), -1)
    if copula < 0:
        return NONE
    words = [item for item in claim[copula + 1 :] if item.content and item.segment == claim[copula].segment]
    verb = words[-1 if grammar.code in _VERB_LAST else 0] if words else None
    at = chosen.get(verb.start) if verb is not None else None
    if at is None or at < acting:
        return NONE
    after = next((index for index in range(at + 1, min(at + 1 + _TO_AGENT, len(place))) if place[index].content), -1)
    if after < 0 or after in chosen.values() or place[after].segment != place[at].segment:
        return NONE
    if _hangs(after, place, grammar) or any(item.quantity >= 0 for item in place[at + 1 : after]):
        return NONE
    if place[after].stem in grammar.light or measures(place[after], grammar):
        return NONE  # "once", "a whole day": when, not whom
    return Doubt(CLAIM_REASON_ROLES_SWAPPED, stated=claim[subject].text, found=place[after].text)


@cache
def _periods(code: str) -> frozenset[str]:
    """Return the stems of the names of spans of time."""
    grammar = load(code)
    lines = [line for kind, line in (grammar.units if grammar else {}).items() if kind in {"time", "months"}]
    words = {name for line in lines for part in line.split() for name in part.partition("=")[0].split(",")}
    words |= {word for word, (dimension, _) in UNITS.items() if dimension in {"time", "months"}}
    return frozenset(stem(word, code) for word in words)


def measures(item: Item, grammar: Grammar) -> bool:
    """Whether a word names a span of time: "day", "years"."""
    return item.stem in _periods(grammar.code)


def governing(index: int, items: Sequence[Item], grammar: Grammar, reach: int) -> list[Item]:
    """Return the prepositions among the words right before one that may govern it, not a year between: "since 2012"."""
    found: list[Item] = []
    for at in range(index - 1, max(-1, index - 1 - reach), -1):
        if items[at].segment != items[index].segment or (items[at].quantity >= 0 and _is_year(items[at])):
            break
        if items[at].plain in grammar.prepositions:
            found.append(items[at])
    return found


def _is_year(item: Item) -> bool:
    return len(item.text) == _YEAR and item.text.isdigit()


def _hangs(index: int, items: Sequence[Item], grammar: Grammar) -> bool:
    """Whether a word stands in the phrase of a preposition that is not that of who acts."""
    articles = _ARTICLES.get(grammar.code, frozenset())
    return any(item.plain not in grammar.passive | articles for item in governing(index, items, grammar, 2))
