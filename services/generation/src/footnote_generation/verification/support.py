"""How well a passage bears out a statement: words covered, and nothing contrary in numbers, negations or names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, VERDICT_UNSUPPORTED, Verdict
from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_DENIED,
    CLAIM_REASON_NOT_DENIED,
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_NOT_SAID,
    CLAIM_REASON_NOTHING_TO_CHECK,
    CLAIM_REASON_OPPOSITE,
    CLAIM_REASON_OTHER_LANGUAGE,
    CLAIM_REASON_OTHER_NAME,
    CLAIM_REASON_OTHER_NUMBER,
    CLAIM_REASON_OTHER_VALUE,
    CLAIM_REASON_PARTLY_IN_SOURCE,
    CLAIM_REASON_ROLES_SWAPPED,
    CLAIM_REASON_SOURCE_EMPTY,
    CLAIM_REASON_TOO_LONG,
    CLAIM_REASON_VALUE_OF_ANOTHER,
)
from footnote_kit.memoise import kept
from footnote_text import sentences

from footnote_generation.language import grammar as grammars
from footnote_generation.language import lexicon, tongues
from footnote_generation.language.grammar import Grammar
from footnote_generation.language.reading import Reading, bytes_of, read
from footnote_generation.language.table_rows import TableRow
from footnote_generation.language.words import Analysed, Word, analyse, polar_of, quantity_match
from footnote_generation.verification import quotations
from footnote_generation.verification.binding import choose, misplaced
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.facts import (
    ABOVE,
    BEFORE,
    HERE,
    Alignment,
    align,
    unfounded,
)
from footnote_generation.verification.places import Place, cut
from footnote_generation.verification.records import misread
from footnote_generation.verification.senses import turned

# Chosen with PAIRS of tests/support/verification_pairs.py in view; HELD_OUT and FRESH there, and the development
# split of WiCE, did not choose them. The limits below bound the work; of what chose the weights after them nothing is
# kept.
SUPPORTED_AT = 0.66
WEAK_AT = 0.34
_RANGES = {
    VERDICT_UNSUPPORTED: (0.0, WEAK_AT), VERDICT_NOT_CONFIRMED: (WEAK_AT, SUPPORTED_AT),
    VERDICT_SUPPORTED: (SUPPORTED_AT, 1.0),
}  # fmt: skip
"""What a verdict's confidence lies between."""
_MAX_WINDOW = 3
_CENTRES = 5
_MAX_SOURCE = 12_000
_PLACE_BYTES = 1500  # besides its reading
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
    places: tuple[Place, ...] = ()
    rows: tuple[TableRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of sentences `first` to `last` of a source, and how much of a statement it covers."""

    start: int
    end: int
    score: float
    first: int
    last: int


def confidence(support: Verdict.ValueType, score: float) -> float:
    """Return how far to trust a statement, 0 to 1: what of it was found, within the range of its verdict.

    All words of a statement stand in its denial too, so that the share of words alone says less than the verdict.
    """
    low, high = _RANGES.get(support, (0.0, 1.0))
    return low + (high - low) * score


def prepare(text: str, context: str = "", language: str = "", rows: tuple[TableRow, ...] = ()) -> Evidence:
    """Make a source ready for any number of statements; `context` is its label, title and headings."""
    text = text[:_MAX_SOURCE]
    language = language or tongues.of(text)
    spans: list[tuple[int, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        spans.extend((offset + start, offset + end) for start, end in sentences.split(line, language))
        offset += len(line)
    places = cut(text, context, language, rows)
    return Evidence(text, language, tuple(spans), analyse(context, language).stems, context, places, rows)


def _bytes(evidence: Evidence) -> int:
    return 200 * len(evidence.spans) + sum(_PLACE_BYTES + bytes_of(one.reading) for one in evidence.places)


@kept(8 * 2**20, _bytes)
def prepared(text: str, context: str = "", language: str = "", rows: tuple[TableRow, ...] = ()) -> Evidence:
    """Return `prepare` of the same, kept: the same sources serve answer after answer, and nothing changes them."""
    return prepare(text, context, language, rows)


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
    if not word.name and any(pair in given_pairs for pair, _ in polar_of(word)):
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
    pairs = frozenset(pair for word in given.words for pair, _ in polar_of(word))
    total = found = 0.0
    missing: list[Word] = []
    named = frozenset(stem for item in claim.quantities for stem in lexicon.dimension_stems(item.dimension))
    known: dict[tuple[str, tuple[str, ...], bool], tuple[float, float]] = {}
    for word in claim.content:
        same = (word.text, word.stems, word.name)
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
            matched[equal] = quantity_match(quantity, given) is not None
        found += _QUANTITY if matched[equal] else 0.0
    return (found / total if total else 0.0), missing


def judge(claim_text: str, evidence: Evidence) -> Judgement:
    """Return the verdict on one statement against one source.

    SUPPORTED is what one place of the source bears out whole: every word of weight and every number, belonging together
    there as they do in the statement, and with the same sense. Words alone make it WEAK.
    """
    if len(claim_text) > MAX_STATEMENT:
        cut_at = claim_text.rfind(" ", 0, MAX_STATEMENT)
        part = judge(claim_text[: cut_at if cut_at > 0 else MAX_STATEMENT], evidence)
        support = part.support if part.support == VERDICT_UNSUPPORTED else VERDICT_NOT_CONFIRMED
        return replace(part, support=support, doubt=part.doubt or Doubt(CLAIM_REASON_TOO_LONG))
    whole = quotations.find(claim_text, evidence.text, evidence.spans)
    if whole is not None:
        return Judgement(VERDICT_SUPPORTED, 1.0, *whole)
    evidence = understood(claim_text, evidence)
    grammar = grammars.load(evidence.language)
    if grammar is None or is_foreign(claim_text, evidence):
        return _by_words(claim_text, evidence)
    claim = read(claim_text, evidence.language)
    if not claim.content() and not claim.quantities:
        return Judgement(VERDICT_NOT_CONFIRMED, 0.0, 0, 0, Doubt(CLAIM_REASON_NOTHING_TO_CHECK))
    if not evidence.places:
        return Judgement(VERDICT_UNSUPPORTED, 0.0, 0, 0, Doubt(CLAIM_REASON_SOURCE_EMPTY))
    return _by_facts(claim, evidence, grammar)


def understood(statement: str, evidence: Evidence) -> Evidence:
    """Return a source whose own words do not show its language, as rows of a table, read in the statement's.

    A statement that does not show its own either counts where the source may be in its language as well as in another.
    """
    if tongues.sure(evidence.text):
        return evidence
    language = tongues.sure(statement)
    if not language:
        language = tongues.of(statement)
        if not language or tongues.of(evidence.text, language) != language:
            return evidence
    if language == evidence.language:
        return evidence
    return prepared(evidence.text, evidence.context_text, language, evidence.rows)


def _by_facts(claim: Reading, evidence: Evidence, grammar: Grammar) -> Judgement:
    found = [(align(claim, place, grammar), place) for place in evidence.places]
    ranked = sorted(found, key=lambda item: (-round(item[0].score, 4), item[1].start))
    best, place = ranked[0]
    first = NONE
    for alignment, candidate in ranked[:_CENTRES]:
        if alignment.score < max(WEAK_AT, best.score * 0.6):
            break
        doubt = _against(alignment, claim, candidate, evidence, grammar)
        if not doubt:
            return Judgement(VERDICT_SUPPORTED, alignment.score, candidate.start, candidate.end)
        first = first or doubt
    spread = _together(claim, [item for item, _ in found], grammar)
    score = max(best.score, spread)
    if score < WEAK_AT or not first:
        absent = first or unfounded(best, claim, place, grammar) or Doubt(CLAIM_REASON_NOT_SAID)
        return Judgement(VERDICT_UNSUPPORTED, score, place.start, place.end, absent)
    contrary = first.reason in CONTRARY or (
        # A count in words ("four of them") may be a sum of what stands there; a number in digits is a statement.
        any(item.dimension or any(map(str.isdigit, item.text)) for item in best.absent)
        and all(item.absent for item, _ in found)
    )
    support = VERDICT_UNSUPPORTED if contrary else VERDICT_NOT_CONFIRMED
    return Judgement(support, score, place.start, place.end, first)


def _against(alignment: Alignment, claim: Reading, place: Place, evidence: Evidence, grammar: Grammar) -> Doubt:
    """Return what keeps a place from bearing out a statement; NONE when it does."""
    doubt = unfounded(alignment, claim, place, grammar)
    if doubt:
        return doubt
    here = sum(1 for link in alignment.links if link.where == HERE) + len(alignment.matches)
    above = sum(1 for link in alignment.links if link.where in {ABOVE, BEFORE})
    if not here or (here < above and not alignment.matches):
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE)
    chosen = choose(alignment, place)
    return (
        misread(alignment, claim, place, grammar, evidence.places)
        or turned(alignment, chosen, claim, place, grammar)
        or misplaced(alignment, claim, place, grammar)
    )


def _together(claim: Reading, alignments: Sequence[Alignment], grammar: Grammar) -> float:
    """Return the share of a statement found in any three places in a row."""
    parts = [
        (
            {link.item.start for link in item.links if link.at} | {match.quantity.start for match in item.matches},
            item.score,
        )
        for item in alignments
    ]
    weights = {
        item.start: 0.25 if item.stem in grammar.light else 1.5 if item.name else 1.0 for item in claim.content()
    }
    weights |= {quantity.start: 1.5 for quantity in claim.quantities}
    total = sum(weights.values()) or 1.0
    best = 0.0
    for at in range(len(parts)):
        union = set().union(*(part for part, _ in parts[at : at + _MAX_WINDOW]))
        best = max(best, sum(weights.get(start, 0.0) for start in union) / total)
    return best


CONTRARY = frozenset(
    {
        CLAIM_REASON_OTHER_VALUE, CLAIM_REASON_VALUE_OF_ANOTHER, CLAIM_REASON_OPPOSITE, CLAIM_REASON_NOT_DENIED,
        CLAIM_REASON_DENIED, CLAIM_REASON_ROLES_SWAPPED, CLAIM_REASON_OTHER_NAME, CLAIM_REASON_OTHER_NUMBER,
    }
)  # fmt: skip


def _by_words(claim_text: str, evidence: Evidence) -> Judgement:
    """Judge by numbers and shared words alone, at most WEAK: languages differ, or how this one denies is not known."""
    claim = analyse(claim_text, evidence.language)
    if not claim.content and not claim.quantities:
        return Judgement(VERDICT_NOT_CONFIRMED, 0.0, 0, 0, Doubt(CLAIM_REASON_NOTHING_TO_CHECK))
    windows = find_windows(claim, evidence)
    if not windows:
        doubt = Doubt(CLAIM_REASON_NOT_SAID) if evidence.spans else Doubt(CLAIM_REASON_SOURCE_EMPTY)
        return Judgement(VERDICT_UNSUPPORTED, 0.0, 0, 0, doubt)
    return _judge_foreign(claim, evidence, windows)


def is_foreign(statement: str, evidence: Evidence) -> bool:
    """Whether a statement is in another language than its source."""
    language = tongues.of(statement, evidence.language)
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


def _judge_foreign(claim: Analysed, evidence: Evidence, windows: Sequence[Window]) -> Judgement:
    """Return a statement in another language than its source: names and numbers can be checked, the rest cannot."""
    whole = analyse(evidence.text, evidence.language)
    absent = [quantity.text for quantity in claim.quantities if quantity_match(quantity, whole) is None]
    best = windows[0]
    if absent:
        doubt = Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=absent[0])
        return Judgement(VERDICT_UNSUPPORTED, 0.0, best.start, best.end, doubt)
    doubt = Doubt(CLAIM_REASON_OTHER_LANGUAGE)
    return Judgement(VERDICT_NOT_CONFIRMED, max(best.score, WEAK_AT), best.start, best.end, doubt)
