"""Judges a statement against one source without a verifier: QUOTED, CELLS, or a differing value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from footnote.types.v1.answer_pb2 import (
    BASIS_CELLS,
    BASIS_QUOTED,
    BASIS_UNSPECIFIED,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNSUPPORTED,
    Basis,
    Verdict,
)
from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NOT_READ,
    CLAIM_REASON_OTHER_PLACE,
    CLAIM_REASON_OTHER_VALUE,
    CLAIM_REASON_SOURCE_EMPTY,
    CLAIM_REASON_TOO_LONG,
)
from footnote_text import sentences
from footnote_text.lexical import fold
from footnote_text.sentences import QUESTION_MARKS
from footnote_text.stopwords import STOP_WORDS
from footnote_text.turning import CONDITIONAL, LACKING

from footnote_generation.language import text_language
from footnote_generation.language.phrases import is_finder_notice
from footnote_generation.language.quantities import Quantity, find
from footnote_generation.verification import cells, lead_ins, quoted, values, weighing
from footnote_generation.verification.cells import Named, without_places
from footnote_generation.verification.evidence import ROOT, Evidence, roots
from footnote_generation.verification.explanations import NONE, ClaimIssue
from footnote_generation.verification.normalised import denies, folded, tokens

# Shares of true statements among unconfirmed ones, by the share of their words in the source's most similar part.
# tests/bench/test_bench_likeness.py fits and prints them.
_LIKELIHOODS = ((0.0, 0.1), (0.5, 0.3), (1.0, 0.5))
MAX_STATEMENT = 2000
"""Maximum characters of a checked statement; a longer one is not confirmed."""
SURE, WRONG = 1.0, 0.0
_FEWEST_OWN = 2  # words of a sentence that says something of its own
_CLAUSE_END = re.compile(r"[,;](?=\s)|[，；、،؛]")
_SHOWN = 80  # characters shown of a place's text


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on a statement against one source; `start:end` is its support, or the most similar place.

    `cell` is the single cell concerned. `settled` means that no verifier is asked about it.
    """

    support: Verdict.ValueType
    score: float
    start: int
    end: int
    issue: ClaimIssue = NONE
    basis: Basis.ValueType = BASIS_UNSPECIFIED
    cell: tuple[int, int] | None = None
    settled: bool = False


def judge(
    statement: str, lead: str, evidence: Evidence, named: Named | None, mark: str = "", *, spoken: bool = False,
    question: str = "",
) -> Judgement:  # fmt: skip
    """Return the verdict without a verifier; `lead` introduces the statement, `named` is the place that it names.

    `mark` is that of the statement's list item; `spoken` means that it is part of a longer quotation of the answer.
    What confirms the statement alone counts only if `lead` has nothing that may turn it, see `_may_turn`.
    """
    if not evidence.text.strip():
        return Judgement(VERDICT_NOT_CONFIRMED, WRONG, 0, 0, ClaimIssue(CLAIM_REASON_SOURCE_EMPTY), settled=True)
    near = evidence.nearest(statement[:MAX_STATEMENT])
    share, start, end = near[0] if near else (0.0, 0, 0)
    if len(statement) > MAX_STATEMENT:
        return Judgement(VERDICT_NOT_CONFIRMED, share, start, end, ClaimIssue(CLAIM_REASON_TOO_LONG), settled=True)
    plain = without_places(statement, evidence.source)
    ways = _ways(plain, evidence)
    last = _last(lead, evidence)
    introduced = [f"{one} {plain}" for one in dict.fromkeys((lead, last)) if one]
    # Without "According to the manual,". The built-in answerer's notice says what it does, not what holds.
    is_notice = is_finder_notice(last)
    introduction = "" if is_notice or not last else _ways(introduced[-1], evidence)[-1][: -len(plain) or None]

    def turned(span: tuple[int, int]) -> bool:
        return bool(introduction) and _may_turn(introduction, question, evidence, span)

    unconfirmed = Judgement(VERDICT_NOT_CONFIRMED, share, start, end, ClaimIssue(CLAIM_REASON_NOT_READ))
    if named is not None and named.cell:
        for said in ways:
            found = cells.at(said, named.spans, evidence.source, evidence.cells)
            if found is not None:
                if found.holds and turned((found.start, found.end)):
                    return unconfirmed
                return _of_cell(found, evidence, CLAIM_REASON_OTHER_PLACE, named.label)
            if (found := cells.check(said, evidence.cells)) is not None:
                if (found.start, found.end) in named.spans:
                    return _of_cell(found, evidence, CLAIM_REASON_OTHER_PLACE, named.label)
                return _misplaced(named, evidence)
    asks = plain.rstrip(" \"'”»」*_").endswith(QUESTION_MARKS)
    for said in (*ways, *introduced):
        span = quoted.find(tokens(said, evidence.decimal), asks, evidence.index, mark, spoken=spoken)
        if span is None or (said not in introduced and turned(span)):
            continue
        if named is None or any(first < span[1] and span[0] < last for first, last in named.spans):
            return Judgement(VERDICT_SUPPORTED, SURE, *span, basis=BASIS_QUOTED, settled=True)
        return _misplaced(named, evidence)
    for said in ways:
        changed = quoted.altered(tokens(said, evidence.decimal), evidence.index)
        # The same number in another sentence of the source may be about something else.
        if changed and (changed[2] not in evidence.numbers or changed[2] in _there(evidence, changed)):
            issue = ClaimIssue(CLAIM_REASON_OTHER_VALUE, stated=changed[2], found=changed[3])
            return Judgement(VERDICT_UNSUPPORTED, WRONG, *changed[:2], issue, settled=True)
    for said in ways if named is None else ():
        if (found := cells.check(said, evidence.cells)) is not None:
            if found.holds and turned((found.start, found.end)):
                return unconfirmed
            return _of_cell(found, evidence, CLAIM_REASON_OTHER_VALUE, "")
    return unconfirmed


def _may_turn(lead: str, question: str, evidence: Evidence, span: tuple[int, int]) -> bool:
    """Return whether an answer's own introduction of a list may deny, narrow or date what is quoted.

    It may by a word that does so, by a picture that denies, and by a number or name that the source has not; not by
    words of the source's title and of the headings above the place, nor where the place denies the same. The question
    excuses names, limits, times without a number, other numbers, and what is denied in a condition. A single digit or a
    bare number before a word only counts: "Step 1", "12 options".
    """
    above = (part.heading for part in evidence.index.parts if part.start < span[1] and span[0] < part.end)
    columns = (text for row in evidence.rows for cell in row.cells if cell.start == span[0] for text in cell.headers)
    said = [*folded(tokens(" . ".join(columns))), *evidence.names]
    known = {fold(word)[:ROOT] for word in (*said, *(token.text for heading in above for token in heading))}
    language = text_language.of(lead, evidence.language) or evidence.language or "en"
    found = tokens(lead, evidence.decimal)
    if any(denies(token.text[0]) for token in found):
        return True
    if _denies(lead, question, language, known, _introduced(evidence.text, span)):
        return True
    is_dated, asked = False, {word[:ROOT] for word in _parted(question)}
    for after, phrase in _bounds(lead, language):
        beginnings = {word[:ROOT] for word in phrase}
        if not beginnings <= known:
            if not beginnings <= asked:
                return True
            is_dated = is_dated or after > 0
    stated = [one for one in find(lead, language) if not one.spelled and not _counts(one, lead)]
    given = () if is_dated else find(question, language)
    if stated and values.missing(stated, [*evidence.quantities, *given]):
        return True
    common = STOP_WORDS.get(language, frozenset())
    if language != evidence.language or common.isdisjoint(folded(found)):
        return False
    # In a title, "Key Points", capitals show no name.
    written = [token.text for token in found if token.text[0].isalpha() and token.text.casefold() not in common]
    is_title = all(word[0].isupper() for word in written)
    return not is_title and bool(weighing.unknown_name(lead, language, evidence.words | roots(question)))


def _denies(lead: str, question: str, language: str, known: Set[str], there: str) -> bool:
    """Return whether a line denies or restricts what neither `known` words nor the text `there` excuse.

    The question excuses what it denies in a condition, up to the end of the clause, and what it says to be lacking.
    """
    asked = _parted(question)
    held = {one[1:] for one in _denied(_parted(there), language) if one[2]}
    held |= {one[1:] for one in _denied(asked, language) if one[2] and one[1] in LACKING}
    begun, conditions = {word[:ROOT] for word in asked}, CONDITIONAL.get(language, "").split()
    for words in map(_parted, _CLAUSE_END.split(lead)):
        condition = next((at for at, word in enumerate(words) if word in conditions), len(words))
        for at, word, denied in _denied(words, language):
            is_excused = word[:ROOT] in known or (word[:ROOT] in begun and at > condition)
            if not is_excused and (word, denied) not in held:
                return True
    return False


def _last(lead: str, evidence: Evidence) -> str:
    """Return the last sentence of a line, with those before it where it only points back: "These are:"."""
    own, idle = 0, lead_ins.limiting(text_language.of(lead, evidence.language) or evidence.language or "en")[1]
    for start, end in reversed(sentences.split(lead)):
        own += sum(word not in idle for word in _parted(lead[start:end]))
        if own >= _FEWEST_OWN:
            return lead[start:]
    return lead


def _parted(text: str) -> list[str]:
    """Return the folded words of a text; "don't" and "cannot" are two."""
    said = (token.text.replace("n't", " not").replace("cannot", "can not") for token in tokens(text))
    return [fold(word) for one in said for word in one.split()]


def _denied(words: Sequence[str], language: str) -> Iterator[tuple[int, str, str]]:
    """Yield where a word denies or restricts, the word, and how the next one begins that says more, "" for none."""
    limits, idle = lead_ins.limiting(language)
    denied = ""
    for at in range(len(words) - 1, -1, -1):
        if words[at] in limits:
            yield at, words[at], denied
        elif words[at] not in idle:
            denied = words[at][:ROOT]


def _bounds(lead: str, language: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the limits and times in a line, and how many words of its clause each has to have after it."""
    bounds = lead_ins.bounds(language)
    sizes = {len(phrase) for phrase in bounds}
    for words in map(_parted, _CLAUSE_END.split(lead)):
        for size in sizes:
            for end in range(size, len(words) + 1):
                phrase = tuple(words[end - size : end])
                if end + (after := bounds.get(phrase, len(words))) <= len(words):
                    yield after, phrase


def _introduced(text: str, span: tuple[int, int]) -> str:
    """Return the text at a place, after the source's own line that introduces the list with it, if one does."""
    before = text[: span[0]]
    colon = max(before.rfind(":\n"), before.rfind("：\n"))
    near = colon >= 0 and "\n\n" not in before[colon:].strip(":：\n")
    return (before[before.rfind("\n", 0, colon) + 1 : colon] if near else "") + "\n" + text[span[0] : span[1]]


def _counts(number: Quantity, text: str) -> bool:
    return not number.dimension and (len(number.text) == 1 or text[number.end :].lstrip()[:1].isalpha())


def _ways(statement: str, evidence: Evidence) -> list[str]:
    """Return a statement as written, and without its lead-ins."""
    stated = tokens(statement, evidence.decimal)
    return [statement, *(statement[rest[0].start :] for rest in lead_ins.without(stated, statement, evidence.names))]


def _there(evidence: Evidence, changed: tuple[int, int, str, str]) -> set[str]:
    return {token.text for token in tokens(evidence.text[changed[0] : changed[1]], evidence.decimal)}


def _misplaced(named: Named, evidence: Evidence) -> Judgement:
    """Return the verdict on a statement that is in the source, but not at the place that it names."""
    first, last = named.spans[0][0], named.spans[-1][1]
    issue = ClaimIssue(CLAIM_REASON_OTHER_PLACE, found=_short(evidence.text[first:last]), subject=named.label)
    return Judgement(VERDICT_UNSUPPORTED, WRONG, first, last, issue, settled=True)


def _of_cell(found: cells.Found, evidence: Evidence, reason: int, subject: str) -> Judgement:
    cell = (found.start, found.end)
    # The whole line: a row's first header is before its first cell.
    start = evidence.text.rfind("\n", 0, found.row_start) + 1
    end = evidence.text.find("\n", found.row_end)
    row = (start, end if end >= 0 else len(evidence.text))
    if found.holds:
        return Judgement(VERDICT_SUPPORTED, SURE, *row, basis=BASIS_CELLS, cell=cell, settled=True)
    held = _short(evidence.text[found.start : found.end])
    issue = ClaimIssue(reason, stated=found.stated, found=held, subject=subject)  # type: ignore[arg-type]
    return Judgement(VERDICT_UNSUPPORTED, WRONG, *row, issue, cell=cell, settled=True)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1].rstrip() + "…"


def likelihood(support: Verdict.ValueType, score: float) -> float:
    """Return a verdict's score from 0 to 1: for NOT_CONFIRMED it depends on similarity alone. Never raises."""
    if support == VERDICT_SUPPORTED:
        return score
    if support != VERDICT_NOT_CONFIRMED:
        return min(score, 0.05)
    for (low, at_low), (high, at_high) in pairwise(_LIKELIHOODS):
        if score <= high:
            return at_low + (at_high - at_low) * max(0.0, score - low) / (high - low)
    return _LIKELIHOODS[-1][1]
