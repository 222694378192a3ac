"""How well a passage bears out a statement: words covered, and nothing contrary in numbers, negations or names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, VERDICT_UNSUPPORTED, VERDICT_WEAK, Verdict
from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_NOT_SAID,
    CLAIM_REASON_NOTHING_TO_CHECK,
    CLAIM_REASON_OTHER_LANGUAGE,
    CLAIM_REASON_PARTLY_IN_SOURCE,
    CLAIM_REASON_SOURCE_EMPTY,
    CLAIM_REASON_TOO_LONG,
)
from footnote_text import language as languages
from footnote_text import sentences

from footnote_generation.language import lexicon
from footnote_generation.language.words import Analysed, Word, analyse
from footnote_generation.verification import contradictions, polarity
from footnote_generation.verification.doubts import NONE, Doubt

# Chosen with PAIRS of tests/support/verification_pairs.py in view; HELD_OUT and FRESH there, and the development
# split of WiCE, did not choose them. The limits below bound the work; of what chose the weights after them nothing is
# kept.
SUPPORTED_AT = 0.66
WEAK_AT = 0.34
_MAX_WINDOW = 3
_CENTRES = 5
_MAX_SOURCE = 12_000
MAX_STATEMENT = 2_000
"""Characters of a sentence that are checked; a longer one is at most WEAK, since the rest of it was not."""
# A name weighs more than another word, a word such as "indicates" less.
_NAME, _WORD, _LIGHT, _QUANTITY = 1.5, 1.0, 0.25, 1.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a statement stands to a passage; `start:end` is the supporting stretch of the passage's text."""

    support: Verdict.ValueType
    score: float
    start: int
    end: int
    doubt: Doubt = NONE


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source made ready: its sentences, and the words of its title and headings, which its text takes for granted."""

    text: str
    language: str
    spans: tuple[tuple[int, int], ...]
    context: frozenset[str]
    context_text: str


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of sentences `first` to `last` of a source, and how much of a statement it covers."""

    start: int
    end: int
    score: float
    first: int
    last: int


def prepare(text: str, context: str = "", language: str = "") -> Evidence:
    """Make a source ready for any number of statements; `context` is its label, title and headings."""
    text = text[:_MAX_SOURCE]
    language = language or languages.detect(text, ("en", "fr"))
    spans: list[tuple[int, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        spans.extend((offset + start, offset + end) for start, end in sentences.split(line, language))
        offset += len(line)
    return Evidence(text, language, tuple(spans), analyse(context, language).stems, context)


def _weight(word: Word) -> float:
    if word.name:
        return _NAME
    return _LIGHT if all(stem in lexicon.light_stems() for stem in word.stems) else _WORD


def _similar(stem: str, others: frozenset[str]) -> bool:
    """Whether a stem and another one share all but their endings: "manag" and "manager", "calcul" and "calculateur"."""
    if len(stem) < 5:
        return False
    for other in others:
        short, long = (stem, other) if len(stem) <= len(other) else (other, stem)
        if len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 5:
            return True
    return False


def credit(
    word: Word, given: Analysed, context: frozenset[str], given_groups: frozenset[int], given_pairs: frozenset[int]
) -> float:
    """How far a word of a statement is found in a stretch: 1 itself, a little less for a synonym or in the headings."""
    best = 0.0
    # An opposite is on the subject too; whether the sense agrees is for the search for contradictions to say.
    if not word.name and any(pair in given_pairs for pair, _ in polarity.polar_of(word)):
        best = 0.9
    for stem in word.stems:
        if stem in given.stems:
            return 1.0
        if (not word.name and lexicon.groups(stem) & given_groups) or stem in context:
            best = max(best, 0.9)
        elif _similar(stem, given.stems):
            best = max(best, 0.85)
    return best


def _groups(stems: frozenset[str]) -> frozenset[int]:
    return frozenset(group for stem in stems for group in lexicon.groups(stem))


def coverage(claim: Analysed, given: Analysed, context: frozenset[str]) -> tuple[float, list[Word]]:
    """Return the share of a statement's meaning found in a stretch, and the weighty words not found."""
    groups = _groups(given.stems)
    pairs = frozenset(pair for word in given.words for pair, _ in polarity.polar_of(word))
    total = found = 0.0
    missing: list[Word] = []
    named = frozenset(stem for item in claim.quantities for stem in lexicon.dimension_stems(item.dimension))
    known: dict[tuple[str, tuple[str, ...], bool, bool], tuple[float, float]] = {}
    for word in claim.content:
        same = (word.text, word.stems, word.name, word.negation)
        if same not in known:
            known[same] = (_weight(word), credit(word, given, context, groups, pairs))
        weight, value = known[same]
        if value == 0 and named and set(word.stems) & named:
            continue
        total += weight
        found += weight * value
        if value == 0 and weight >= _WORD:
            missing.append(word)
    matched: dict[tuple[frozenset[float], str, str], bool] = {}
    for quantity in claim.quantities:
        total += _QUANTITY
        equal = (quantity.values, quantity.dimension, quantity.text)
        if equal not in matched:
            matched[equal] = contradictions.quantity_match(quantity, given) is not None
        found += _QUANTITY if matched[equal] else 0.0
    return (found / total if total else 0.0), missing


def judge(claim_text: str, evidence: Evidence) -> Judgement:
    """Return the verdict on one statement against one source.

    Stretches of one to three sentences are tried from the best covered on; a contradiction in all good ones makes the
    statement UNSUPPORTED, one in the best alone still leaves the others to speak for it.
    """
    if len(claim_text) > MAX_STATEMENT:
        cut = claim_text.rfind(" ", 0, MAX_STATEMENT)
        part = judge(claim_text[: cut if cut > 0 else MAX_STATEMENT], evidence)
        support = part.support if part.support == VERDICT_UNSUPPORTED else VERDICT_WEAK
        return replace(part, support=support, doubt=part.doubt or Doubt(CLAIM_REASON_TOO_LONG))
    whole = _verbatim(claim_text, evidence)
    if whole is not None:
        return Judgement(VERDICT_SUPPORTED, 1.0, *whole)
    claim = analyse(claim_text, evidence.language)
    if not claim.content and not claim.quantities:
        return Judgement(VERDICT_WEAK, 0.0, 0, 0, Doubt(CLAIM_REASON_NOTHING_TO_CHECK))
    windows = find_windows(claim, evidence)
    if not windows:
        doubt = _absent(claim, evidence) if evidence.spans else Doubt(CLAIM_REASON_SOURCE_EMPTY)
        return Judgement(VERDICT_UNSUPPORTED, 0.0, 0, 0, doubt)
    if is_foreign(claim_text, evidence):
        return _judge_foreign(claim, evidence, windows)
    best = windows[0]
    first = NONE
    weakest: Judgement | None = None
    for window in windows[:6]:
        if window.score < max(WEAK_AT, best.score * 0.8):
            break
        given = analyse(evidence.text[window.start : window.end], evidence.language)
        _, missing = coverage(claim, given, evidence.context)
        conflict = contradictions.find_conflict(claim, given, evidence.context)
        if conflict:
            first = first or conflict
            continue
        doubt = _doubt(missing)
        if not doubt and window.score >= SUPPORTED_AT:
            return Judgement(VERDICT_SUPPORTED, window.score, window.start, window.end)
        if weakest is None:
            weakest = Judgement(
                VERDICT_WEAK, window.score, window.start, window.end, doubt or Doubt(CLAIM_REASON_PARTLY_IN_SOURCE)
            )
    if weakest is not None and not (first and weakest.score < best.score * 0.9):
        return weakest
    doubt = first or _absent(claim, evidence)
    return Judgement(VERDICT_UNSUPPORTED, min(best.score, WEAK_AT), best.start, best.end, doubt)


def is_foreign(statement: str, evidence: Evidence) -> bool:
    """Whether a statement is in another language than its source."""
    language = languages.detect(statement, (evidence.language or "en",))
    return bool(language and evidence.language and language != evidence.language)


def find_windows(claim: Analysed, evidence: Evidence) -> list[Window]:
    """Return stretches of sentences, best covered first; a longer one must cover more to go before a shorter.

    Longer ones are built around the best single sentences only: what none of those covers, no stretch does.
    """
    spans = evidence.spans
    singles = [_window(claim, evidence, index, index) for index in range(len(spans))]
    found = [window for window in singles if window.score > 0]
    found.sort(key=lambda item: -item.score)
    seen: set[tuple[int, int]] = set()
    for centre in [window.first for window in found[:_CENTRES]]:
        for first in range(max(0, centre - _MAX_WINDOW + 1), centre + 1):
            for last in range(max(centre, first + 1), min(first + _MAX_WINDOW, len(spans))):
                if (first, last) not in seen:
                    seen.add((first, last))
                    found.append(_window(claim, evidence, first, last))
    return sorted(found, key=lambda item: (-round(item.score - 0.04 * (item.last - item.first), 4), item.start))


def _window(claim: Analysed, evidence: Evidence, first: int, last: int) -> Window:
    start, end = evidence.spans[first][0], evidence.spans[last][1]
    score, _ = coverage(claim, analyse(evidence.text[start:end], evidence.language), evidence.context)
    return Window(start, end, score, first, last)


# What a quoted sentence may leave off; a condition ("if approved, …") it may not.
_LEADING = rf"\W{{0,16}}+(?:\d{{1,4}}[-*•.)\s]{{1,4}}+){{0,3}}(?:(?:{lexicon.LEADS}),\s{{1,8}}+)?"
# Between two words of a quoted sentence stand so many characters at most, so that the search for it stays linear.
_BETWEEN, _AROUND = r"\W{1,40}+", r"\W{0,40}+"


def _verbatim(claim_text: str, evidence: Evidence) -> tuple[int, int] | None:
    """Return where a statement stands word for word as whole sentences, a leading "However," aside.

    Part of a sentence is not enough: what stands before it may deny it.
    """
    words = re.findall(r"\w+", claim_text)
    if not 3 <= len(words) <= len(evidence.text):
        return None
    pattern = re.compile(_LEADING + _AROUND + _BETWEEN.join(map(re.escape, words)) + _AROUND, re.IGNORECASE)
    cut_short = claim_text.rstrip().endswith("…")
    for start, _ in evidence.spans:
        match = pattern.match(evidence.text, start)
        if match is not None and (
            cut_short or any(end <= match.end() and end > match.end() - 8 for _, end in evidence.spans)
        ):
            return start, match.end()
    return None


def _judge_foreign(claim: Analysed, evidence: Evidence, windows: Sequence[Window]) -> Judgement:
    """Return a statement in another language than its source: names and numbers can be checked, the rest cannot."""
    whole = analyse(evidence.text, evidence.language)
    absent = [quantity.text for quantity in claim.quantities if contradictions.quantity_match(quantity, whole) is None]
    best = windows[0]
    if absent:
        doubt = Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=absent[0])
        return Judgement(VERDICT_UNSUPPORTED, 0.0, best.start, best.end, doubt)
    doubt = Doubt(CLAIM_REASON_OTHER_LANGUAGE)
    return Judgement(VERDICT_WEAK, max(best.score, WEAK_AT), best.start, best.end, doubt)


def _doubt(missing: Sequence[Word]) -> Doubt:
    """Why a well-covered statement is still not borne out: a word of weight that the source has in no form.

    One such word can be all the difference ("contractors" for "employees"), so it makes the verdict WEAK, not worse:
    it may as well be a synonym that we do not know.
    """
    return Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=missing[0].text) if missing else NONE


def _absent(claim: Analysed, evidence: Evidence) -> Doubt:
    whole = analyse(evidence.text, evidence.language)
    _, missing = coverage(claim, whole, evidence.context)
    return _doubt(missing) or Doubt(CLAIM_REASON_NOT_SAID)
