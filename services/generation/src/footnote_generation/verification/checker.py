"""The verdict on each sentence of an answer, and its footnotes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from footnote.types.v1.answer_pb2 import (
    VERDICT_NOT_A_CLAIM,
    VERDICT_SUPPORTED,
    VERDICT_UNCITED,
    VERDICT_UNSUPPORTED,
    VERDICT_WEAK,
    Citation,
    Claim,
    Source,
    Verdict,
)
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_NO_SOURCE_CITED
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_text import locators

from footnote_generation.language.words import analyse
from footnote_generation.ports import SecondOpinion
from footnote_generation.verification.claims import PlacedMarker, Sentence, states_something
from footnote_generation.verification.contradictions import quantity_match
from footnote_generation.verification.doubts import Doubt
from footnote_generation.verification.opinion import reconsider, stretches
from footnote_generation.verification.support import Evidence, Judgement, is_foreign, judge, prepare

_log = get_logger(__name__)
_ORDER = {VERDICT_SUPPORTED: 2, VERDICT_WEAK: 1, VERDICT_UNSUPPORTED: 0}


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with its verdict and its footnotes."""

    claim: Claim
    citations: tuple[Citation, ...]


@dataclass(slots=True)
class Checker:
    """Checks sentences against the numbered sources; sources are made ready once, at their first citation.

    A second opinion, where there is one, is asked once a statement and source; `failure` says why it stopped.
    """

    sources: Mapping[int, Source]
    locale: str
    not_found: Sequence[str] = ()
    opinion: SecondOpinion | None = None
    failure: str = ""
    _ready: dict[int, Evidence] = field(default_factory=dict)
    _verdicts: dict[tuple[str, int], Judgement] = field(default_factory=dict)
    _done: dict[Sentence, Checked] = field(default_factory=dict)

    async def check(self, sentences: Sequence[Sentence]) -> list[Checked]:
        """Return the verdicts and footnotes of sentences, after a second opinion where there is one."""
        if self.opinion is not None:
            for statement, number in await asyncio.to_thread(self._judge, sentences):
                await self._ask(self.opinion, statement, number)
        return await asyncio.to_thread(self.check_by_rules, sentences)

    def check_by_rules(self, sentences: Sequence[Sentence]) -> list[Checked]:
        """Return the same by the rules alone, where no opinion was heard: CPU work of some milliseconds."""
        self._judge([sentence for sentence in sentences if sentence not in self._done])
        for sentence in sentences:
            if sentence not in self._done:
                self._done[sentence] = self._check(sentence)
        return [self._done[sentence] for sentence in sentences]

    def _judge(self, sentences: Sequence[Sentence]) -> list[tuple[str, int]]:
        """Judge every statement against each source that it cites; return those not judged before."""
        fresh: list[tuple[str, int]] = []
        for sentence in sentences:
            if not states_something(sentence, self.not_found):
                continue
            for number in dict.fromkeys(marker.number for marker in sentence.markers):
                if (sentence.text, number) not in self._verdicts:
                    self._verdicts[sentence.text, number] = judge(sentence.text, self._evidence(number))
                    fresh.append((sentence.text, number))
        return fresh

    async def _ask(self, opinion: SecondOpinion, statement: str, number: int) -> None:
        """Let the second opinion change a verdict; one that fails or dawdles is not asked again for this answer."""
        evidence, verdict = self._evidence(number), self._verdicts[statement, number]
        # The rules know no negations across languages, so that likeness alone would raise a denial too.
        if self.failure or (not opinion.sees_contradictions and is_foreign(statement, evidence)):
            return
        places = await asyncio.to_thread(stretches, statement, evidence, opinion.most_passages)
        if not places:
            return
        try:
            async with asyncio.timeout(opinion.timeout):
                found = await opinion.ask(statement, [evidence.text[start:end] for start, end in places])
        except (FootnoteError, TimeoutError) as error:
            self.failure = error.message if isinstance(error, FootnoteError) else "no answer in time"
            _log.warning("verifier_failed", error=type(error).__name__)
            return
        changed = await asyncio.to_thread(reconsider, statement, evidence, verdict, places, found, opinion.enough)
        self._verdicts[statement, number] = changed

    def _evidence(self, number: int) -> Evidence:
        if number not in self._ready:
            source = self.sources[number]
            context = " . ".join([source.label, source.title, *source.locator.heading_path])
            self._ready[number] = prepare(source.text, context)
        return self._ready[number]

    def _check(self, sentence: Sentence) -> Checked:
        span = TextSpan(start=sentence.start, end=sentence.end)
        if not states_something(sentence, self.not_found):
            return Checked(Claim(span=span, support=VERDICT_NOT_A_CLAIM), ())
        if not sentence.markers:
            return Checked(Claim(span=span, support=VERDICT_UNCITED, reason=CLAIM_REASON_NO_SOURCE_CITED), ())
        statement = sentence.text
        verdicts = {marker.number: self._verdicts[statement, marker.number] for marker in sentence.markers}
        citations = tuple(
            self._citation(marker, span, statement, verdicts[marker.number]) for marker in sentence.markers
        )
        support, score, doubt = self._overall(statement, verdicts)
        numbers = list(dict.fromkeys(marker.number for marker in sentence.markers))
        claim = Claim(
            span=span,
            support=support,
            score=score,
            sources=numbers,
            reason=doubt.reason,
            stated=doubt.stated,
            found=doubt.found,
            subject=doubt.subject,
        )
        return Checked(claim, citations)

    def _overall(self, statement: str, verdicts: Mapping[int, Judgement]) -> tuple[Verdict.ValueType, float, Doubt]:
        """Return the best verdict; a sentence over several sources may be borne out by them only together."""
        best = max(verdicts.values(), key=lambda item: (_ORDER[item.support], item.score))
        if best.support != VERDICT_SUPPORTED and len(verdicts) > 1:
            parts = [self._evidence(number) for number in verdicts]
            joined = " ".join(
                part.text[verdicts[n].start : verdicts[n].end] for n, part in zip(verdicts, parts, strict=True)
            )
            context = " ".join(part.context_text for part in parts)
            together = judge(statement, prepare(joined, context, parts[0].language))
            if _ORDER[together.support] > _ORDER[best.support]:
                return together.support, together.score, together.doubt
        return best.support, best.score, best.doubt

    def _citation(self, marker: PlacedMarker, claim: TextSpan, statement: str, verdict: Judgement) -> Citation:
        source = self.sources[marker.number]
        start, end = verdict.start, verdict.end
        if start >= end:
            spans = self._evidence(marker.number).spans
            start, end = spans[0] if spans else (0, len(source.text))
        quote_span = TextSpan(start=start, end=end)
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
            marker_span=TextSpan(start=marker.start, end=marker.end),
            support=verdict.support,
            support_score=verdict.score,
            label=locators.label(name, locator, self.locale),
        )


def value_span(statement: str, source: Source, verdict: Judgement) -> TextSpan | None:
    """In a table row, the stretch of the one cell whose value the statement gives, so that the place is that cell.

    The cell's value must not stand in the question-like part only: of several cells that the statement repeats, the
    one with a quantity wins, else the one farthest right, since tables name things on the left. A statement that gives
    several quantities rests on the row: None.
    """
    if source.locator.WhichOneof("place") != "sheet" or not source.anchors:
        return None
    claim = analyse(statement, "")
    best: tuple[int, int, TextSpan] | None = None
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
            best = (rank, start, TextSpan(start=start, end=end))
    return best[2] if best and quantities < 2 else None
