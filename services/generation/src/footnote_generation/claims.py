"""The sentences of an answer, which citations each has, and the verdict on each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from footnote.types.v1.answer_pb2 import (
    SUPPORT_NOT_A_CLAIM,
    SUPPORT_SUPPORTED,
    SUPPORT_UNCITED,
    SUPPORT_UNSUPPORTED,
    SUPPORT_WEAK,
    Citation,
    Claim,
    Source,
    Support,
)
from footnote.types.v1.locator_pb2 import Span
from footnote_text import locators, sentences

from footnote_generation import phrases
from footnote_generation.contradictions import quantity_match
from footnote_generation.support import Evidence, Verdict, judge, prepare
from footnote_generation.words import analyse


@dataclass(frozen=True, slots=True)
class PlacedMarker:
    """A citation marker in the finished text; `words` says that it is part of the sentence, not a bracket after it."""

    start: int
    end: int
    number: int
    words: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer without the markers before and after it, and the markers that are its own.

    `text` is what it reads without its markers, places named in words included.
    """

    start: int
    end: int
    text: str
    markers: tuple[PlacedMarker, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with its verdict and its footnotes."""

    claim: Claim
    citations: tuple[Citation, ...]


_LINE = re.compile(r"[^\n]+")
_LIST_MARK = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)]|#{1,6})\s+")
_DECORATION = re.compile(r"[*_#`>|]+")


def segment(text: str, markers: Sequence[PlacedMarker]) -> list[Sentence]:
    """Cut an answer into sentences. A marker belongs to the sentence it stands in or follows on the same line."""
    brackets = [marker for marker in markers if not marker.words]
    result: list[Sentence] = []
    for line in _LINE.finditer(text):
        plain, origin = _without(text, line.start(), line.end(), brackets)
        spans = sentences.split(plain)
        head = _LIST_MARK.match(plain)
        bounds: list[tuple[int, int]] = []
        for start, end in spans:
            if head and start < head.end():
                start = min(head.end(), end)
            if start < end and any(char.isalnum() for char in plain[start:end]):
                bounds.append((origin[start], origin[end - 1] + 1))
        own: list[list[PlacedMarker]] = [[] for _ in bounds]
        for marker in markers:
            if line.start() <= marker.start < line.end() and bounds:
                # The last sentence that began before it; a marker before the first one goes with that.
                index = max((i for i, (start, _) in enumerate(bounds) if start < marker.end), default=0)
                if marker.words:
                    index = next((i for i, (start, end) in enumerate(bounds) if start <= marker.start < end), index)
                own[index].append(marker)
        for (start, end), mine in zip(bounds, own, strict=True):
            inner = _DECORATION.sub(" ", _without(text, start, end, markers)[0])
            result.append(Sentence(start, end, " ".join(inner.split()).lstrip(" :,;"), tuple(mine)))
    return result


def _without(text: str, start: int, end: int, markers: Sequence[PlacedMarker]) -> tuple[str, list[int]]:
    """Return the text from start to end without markers, and where each of its characters comes from."""
    kept: list[int] = []
    position = start
    for marker in markers:
        if marker.end <= start or marker.start >= end:
            continue
        kept.extend(range(position, max(position, marker.start)))
        position = max(position, marker.end)
    kept.extend(range(position, end))
    return "".join(text[index] for index in kept), kept


def states_something(sentence: Sentence, not_found: Sequence[str]) -> bool:
    """Whether a sentence is a claim that needs a source; a question, a greeting, a lead-in or "not found" is none."""
    plain = _DECORATION.sub("", sentence.text).strip()
    if not sentence.markers and (plain.endswith("?") or plain.endswith(":")):
        return False
    words = re.findall(r"[^\W_]+", plain)
    if len(words) < 2 and not any(char.isdigit() for char in plain) and not sentence.markers:
        return False
    return not phrases.is_pleasantry(plain) and not phrases.is_not_found(plain, not_found)


@dataclass(slots=True)
class Checker:
    """Checks sentences against the numbered sources; sources are made ready once, at their first citation."""

    sources: Mapping[int, Source]
    locale: str
    not_found: Sequence[str] = ()
    _ready: dict[int, Evidence] = field(default_factory=dict)
    _done: dict[Sentence, Checked] = field(default_factory=dict)

    def evidence(self, number: int) -> Evidence:
        """Return the source made ready."""
        if number not in self._ready:
            source = self.sources[number]
            context = " . ".join([source.label, source.title, *source.locator.heading_path])
            self._ready[number] = prepare(source.text, context)
        return self._ready[number]

    def check(self, sentence: Sentence) -> Checked:
        """Return the verdict and footnotes of one sentence."""
        if sentence not in self._done:
            self._done[sentence] = self._check(sentence)
        return self._done[sentence]

    def _check(self, sentence: Sentence) -> Checked:
        span = Span(start=sentence.start, end=sentence.end)
        if not states_something(sentence, self.not_found):
            return Checked(Claim(span=span, support=SUPPORT_NOT_A_CLAIM), ())
        if not sentence.markers:
            return Checked(Claim(span=span, support=SUPPORT_UNCITED, reason="cites no source"), ())
        statement = sentence.text
        verdicts = {number: judge(statement, self.evidence(number)) for number in {m.number for m in sentence.markers}}
        citations = tuple(
            self._citation(marker, span, statement, verdicts[marker.number]) for marker in sentence.markers
        )
        support, score, reason = self._overall(statement, verdicts)
        numbers = list(dict.fromkeys(marker.number for marker in sentence.markers))
        return Checked(Claim(span=span, support=support, score=score, sources=numbers, reason=reason), citations)

    def _overall(self, statement: str, verdicts: Mapping[int, Verdict]) -> tuple[Support.ValueType, float, str]:
        """Return the best verdict; a sentence over several sources may be borne out by them only together."""
        order = {SUPPORT_SUPPORTED: 2, SUPPORT_WEAK: 1, SUPPORT_UNSUPPORTED: 0}
        best = max(verdicts.values(), key=lambda item: (order[item.support], item.score))
        if best.support != SUPPORT_SUPPORTED and len(verdicts) > 1:
            parts = [self.evidence(number) for number in verdicts]
            joined = " ".join(
                part.text[verdicts[n].start : verdicts[n].end] for n, part in zip(verdicts, parts, strict=True)
            )
            context = " ".join(part.context_text for part in parts)
            together = judge(statement, prepare(joined, context, parts[0].language))
            if order[together.support] > order[best.support]:
                return together.support, together.score, together.reason
        return best.support, best.score, best.reason

    def _citation(self, marker: PlacedMarker, claim: Span, statement: str, verdict: Verdict) -> Citation:
        source = self.sources[marker.number]
        start, end = verdict.start, verdict.end
        if start >= end:
            spans = self.evidence(marker.number).spans
            start, end = spans[0] if spans else (0, len(source.text))
        quote_span = Span(start=start, end=end)
        place = value_span(statement, source, verdict) or quote_span
        locator = locators.narrow(source.locator, source.anchors, place)
        name = source.filename or source.title or source.document_id
        return Citation(
            number=marker.number,
            chunk_id=source.chunk_id,
            document_id=source.document_id,
            filename=source.filename,
            title=source.title,
            locator=locator,
            quote=source.text[start:end],
            quote_span=quote_span,
            claim_span=claim,
            marker_span=Span(start=marker.start, end=marker.end),
            support=verdict.support,
            support_score=verdict.score,
            label=locators.label(name, locator, self.locale),
        )


def value_span(statement: str, source: Source, verdict: Verdict) -> Span | None:
    """In a table row, the stretch of the one cell whose value the statement gives, so that the place is that cell.

    The cell's value must not stand in the question-like part only: of several cells that the statement repeats, the
    one with a quantity wins, else the one farthest right, since tables name things on the left. A statement that gives
    several quantities rests on the row: None.
    """
    if source.locator.WhichOneof("place") != "sheet" or not source.anchors:
        return None
    claim = analyse(statement, "")
    best: tuple[int, int, Span] | None = None
    quantities = 0
    for anchor in source.anchors:
        start, end = anchor.span.start, anchor.span.end
        if end <= verdict.start or start >= verdict.end:
            continue
        cell = analyse(source.text[start:end], "")
        if any(quantity_match(quantity, cell) for quantity in claim.quantities):
            rank = 2
            quantities += 1
        elif cell.stems and cell.stems <= claim.stems:
            rank = 1
        else:
            continue
        if best is None or (rank, start) > best[:2]:
            best = (rank, start, Span(start=start, end=end))
    return best[2] if best and quantities < 2 else None
