"""Whether a statement and a stretch of text agree in what they affirm and deny."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.reasons_pb2 import CLAIM_REASON_DENIED, CLAIM_REASON_NOT_DENIED, CLAIM_REASON_OPPOSITE
from footnote_text.lexical import fold
from footnote_text.wordlists import word_set

from footnote_generation.language import lexicon
from footnote_generation.language.quantities import same_dimension, same_value
from footnote_generation.language.words import Analysed, Word
from footnote_generation.verification.doubts import NONE, Doubt

_SCOPE_ENDS = word_set("and but et mais")


@dataclass(frozen=True, slots=True)
class _Denial:
    """A negation and the stems that it denies."""

    clause: int
    scope: frozenset[str]
    heart: frozenset[str]
    words: tuple[Word, ...]
    polar: Word | None


def _denials(text: Analysed) -> list[_Denial]:
    """Return the negations with the words each applies to: the next few of its clause, else those before it."""
    found: list[_Denial] = []
    skip_until = -1
    for index, word in enumerate(text.words):
        if not word.negation or word.start < skip_until:
            continue
        scope: list[Word] = []
        for other in text.words[index + 1 :]:
            if other.clause != word.clause or (scope and other.text.lower() in _SCOPE_ENDS):
                break
            if other.negation:
                skip_until = other.end  # "ne … aucun", "not … any more": one denial
                continue
            if other.stems:
                scope.append(other)
            if len(scope) == 3:
                break
        # "ne" is elided or left out of the list; "le stock n'est pas de 200" denies what stands before.
        before = [other for other in text.words[:index] if other.clause == word.clause and other.stems]
        # The opposite it turns round is the modal right before it ("may not"), else the first one after it.
        modal = text.words[index - 1] if index and polar_of(text.words[index - 1]) else None
        polar = modal or next((item for item in scope if polar_of(item)), None)
        heart = scope or before[-2:]
        near = [*before[-2:], *scope] if len(scope) < 2 else [*before[-1:], *scope]
        found.append(_Denial(word.clause, _stems_of(near), _stems_of(heart), tuple(near), polar))
    return found


def polar_of(word: Word) -> tuple[tuple[int, int], ...]:
    """Return (pair, sign) for the pairs of opposites of a word; function words ("before") count by their form."""
    pairs = {pair for stem in (*word.stems, fold(word.text)) for pair in lexicon.polarity(stem)}
    return tuple(pairs)


def _signs(text: Analysed, denials: Sequence[_Denial], clauses: frozenset[int] | None) -> dict[int, set[int]]:
    """Return the sign of each pair of opposites in some clauses, turned round where it is denied."""
    signs: dict[int, set[int]] = {}
    for word in text.words:
        if clauses is not None and word.clause not in clauses:
            continue
        turned = sum(1 for denial in denials if denial.polar is word) % 2
        for pair, sign in polar_of(word):
            signs.setdefault(pair, set()).add(-sign if turned else sign)
    return signs


def _speaking(claim: Analysed, given: Analysed) -> frozenset[int]:
    """Return the clauses of a stretch that speak most of what a statement speaks of, polar words left aside."""
    wanted = {stem for word in claim.content if not polar_of(word) for stem in word.stems}
    groups = {group for stem in wanted for group in lexicon.groups(stem)}
    score: dict[int, float] = {}
    for word in given.content:
        if polar_of(word):
            continue
        if set(word.stems) & wanted:
            score[word.clause] = score.get(word.clause, 0.0) + 1.0
        elif any(lexicon.groups(stem) & groups for stem in word.stems):
            score[word.clause] = score.get(word.clause, 0.0) + 0.9
    for quantity in given.quantities:
        if any(same_value(item, quantity) and same_dimension(item, quantity) for item in claim.quantities):
            clause = next((word.clause for word in given.words if word.start >= quantity.start), 0)
            score[clause] = score.get(clause, 0.0) + 1.0
    best = max(score.values(), default=0.0)
    return frozenset(clause for clause, value in score.items() if value >= best - 0.01)


def conflict(claim: Analysed, given: Analysed) -> Doubt:
    """Say that a stretch denies a statement or says its opposite; NONE when it does neither."""
    claim_denials, given_denials = _denials(claim), _denials(given)
    clauses = _speaking(claim, given)
    claim_signs = _signs(claim, claim_denials, None)
    given_signs = _signs(given, given_denials, clauses)
    settled: set[int] = set()
    for pair in claim_signs.keys() & given_signs.keys():
        if not claim_signs[pair] & given_signs[pair]:
            return Doubt(CLAIM_REASON_OPPOSITE)
        settled.add(pair)
    # A denial whose word belongs to a pair compared above has been weighed already.
    open_claim = [item for item in claim_denials if not _weighed(item, settled)]
    open_given = [item for item in given_denials if not _weighed(item, settled)]
    claim_stems = claim.stems
    here = [item for item in open_given if item.clause in clauses]
    for denial in open_claim:
        if _conditional(claim, denial) and _EXCEPTION.search(given.text):
            continue
        if not any(_meet(denial.scope, other.scope) for other in here):
            return Doubt(CLAIM_REASON_NOT_DENIED)
    for denial in here:
        answered = any(_meet(denial.scope, other.scope) for other in open_claim)
        if _meet(denial.heart, claim_stems) and not answered:
            return Doubt(CLAIM_REASON_DENIED)
    return NONE


_EXCEPTION = re.compile(r"(?i)\b(?:unless|except|sauf|hormis|à moins)\b")


def _conditional(text: Analysed, denial: _Denial) -> bool:
    """Whether a denial states a condition: "if nobody has reserved it" for "unless somebody has"."""
    words = {word.text.lower() for word in text.words if word.clause == denial.clause}
    return bool(words & {"if", "si", "s'il", "when", "provided"})


def _weighed(denial: _Denial, settled: set[int]) -> bool:
    return denial.polar is not None and any(pair in settled for pair, _ in polar_of(denial.polar))


def _stems_of(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in word.stems)


def _meet(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether two sets of stems share one that carries meaning, or a synonym of it."""
    light = lexicon.light_stems()
    if any(stem in right for stem in left if stem not in light):
        return True
    groups = {group for stem in right for group in lexicon.groups(stem)}
    return any(lexicon.groups(stem) & groups for stem in left)
