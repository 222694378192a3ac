"""The verdict on each sentence of an answer, and its footnotes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from footnote.types.v1.answer_pb2 import (
    VERDICT_NOT_A_CLAIM,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNCITED,
    VERDICT_UNSUPPORTED,
    Citation,
    Claim,
    Source,
    Verdict,
)
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_NO_SOURCE_CITED, CLAIM_REASON_OTHER_PLACE
from footnote.types.v1.table_pb2 import TableCell
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_text import locators, tables

from footnote_generation.language.places import Place
from footnote_generation.language.table_rows import rows_of
from footnote_generation.language.words import analyse, quantity_match
from footnote_generation.ports import Opinion, SecondOpinion
from footnote_generation.verification import named_places
from footnote_generation.verification.claims import PlacedMarker, Sentence, states_something
from footnote_generation.verification.doubts import Doubt
from footnote_generation.verification.explanations import explain
from footnote_generation.verification.opinion import is_unsure, reconsider, stretches
from footnote_generation.verification.support import (
    Evidence,
    Judgement,
    confidence,
    is_foreign,
    judge,
    prepare,
    prepared,
)

_log = get_logger(__name__)
_ORDER = {VERDICT_SUPPORTED: 2, VERDICT_NOT_CONFIRMED: 1, VERDICT_UNSUPPORTED: 0}


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence with its verdict and its footnotes."""

    claim: Claim
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What a second opinion is asked: a sentence's text, the source that it cites, and the places in that."""

    key: tuple[str, int]
    statement: str
    places: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Checker:
    """Checks sentences against the numbered sources; sources are made ready once, at their first citation.

    A second opinion, where there is one, is asked once a statement and source; `failure` says why it was not heard, or
    not on all.
    """

    sources: Mapping[int, Source]
    locale: str
    not_found: Sequence[str] = ()
    opinion: SecondOpinion | None = None
    failure: str = ""
    _ready: dict[int, Evidence] = field(default_factory=dict)
    _verdicts: dict[tuple[str, int], Judgement] = field(default_factory=dict)
    _done: dict[Sentence, Checked] = field(default_factory=dict)
    _asked: set[tuple[str, int]] = field(default_factory=set)

    async def check(self, sentences: Sequence[Sentence], limit: float | None = None) -> list[Checked]:
        """Return the verdicts and footnotes of sentences, after a second opinion where there is one.

        All of it is asked in one call, of at most `limit` seconds.
        """
        questions = await asyncio.to_thread(self.questions, sentences)
        opinions = await self.ask(questions, limit)
        return await asyncio.to_thread(self._heard, sentences, questions, opinions)

    def _heard(
        self, sentences: Sequence[Sentence], questions: Sequence[Question], opinions: Sequence[Sequence[Opinion]]
    ) -> list[Checked]:
        self.hear(questions, opinions)
        return self.check_by_rules(sentences)

    def check_by_rules(self, sentences: Sequence[Sentence]) -> list[Checked]:
        """Return the same with what opinions were heard until now: CPU work of some milliseconds."""
        self._judge([sentence for sentence in sentences if sentence not in self._done])
        for sentence in sentences:
            if sentence not in self._done:
                self._done[sentence] = self._check(sentence)
        return [self._done[sentence] for sentence in sentences]

    def _judge(self, sentences: Sequence[Sentence]) -> None:
        """Judge every statement against each source that it cites."""
        for sentence in sentences:
            if not states_something(sentence, self.not_found):
                continue
            for number in dict.fromkeys(marker.number for marker in sentence.markers):
                if (sentence.text, number) not in self._verdicts:
                    statement = named_places.stated(sentence.text, self.sources[number])
                    self._verdicts[sentence.text, number] = judge(statement, self._evidence(number))

    def questions(self, sentences: Sequence[Sentence]) -> list[Question]:
        """Return what a second opinion is to be asked of these sentences, each thing once for all calls."""
        opinion = self.opinion
        if opinion is None or self.failure:
            return []
        found: list[Question] = []
        for sentence, checked in zip(sentences, self.check_by_rules(sentences), strict=True):
            if opinion.only_unsure and checked.claim.support not in (VERDICT_NOT_CONFIRMED, VERDICT_UNSUPPORTED):
                continue
            for number in dict.fromkeys(marker.number for marker in sentence.markers):
                key = sentence.text, number
                if key not in self._verdicts or key in self._asked:
                    continue
                evidence = self._evidence(number)
                statement = named_places.stated(sentence.text, self.sources[number])
                if opinion.only_unsure and not is_unsure(
                    statement, evidence, self._verdicts[key], sees_contradictions=opinion.sees_contradictions
                ):
                    continue
                # The rules know no negations across languages, so that likeness alone would raise a denial too.
                if not opinion.sees_contradictions and is_foreign(statement, evidence):
                    continue
                places = stretches(statement, evidence, opinion.most_passages)
                if places:
                    self._asked.add(key)
                    found.append(Question(key, statement, tuple(places)))
        return found

    async def ask(self, questions: Sequence[Question], limit: float | None = None) -> Sequence[Sequence[Opinion]]:
        """Return the opinions on questions, all in one call; none where it fails or dawdles, and is not asked again."""
        opinion = self.opinion
        if opinion is None or self.failure or not questions:
            return []
        asked = [
            (one.statement, [self._evidence(one.key[1]).text[start:end] for start, end in one.places])
            for one in questions
        ]
        try:
            async with asyncio.timeout(opinion.timeout if limit is None else min(limit, opinion.timeout)):
                return await opinion.ask(asked)
        except (FootnoteError, TimeoutError) as error:
            self.failure = error.message if isinstance(error, FootnoteError) else "no answer in time"
            _log.warning("verifier_failed", error=type(error).__name__)
            return []

    def hear(self, questions: Sequence[Question], opinions: Sequence[Sequence[Opinion]]) -> bool:
        """Let opinions change the verdicts; return whether one did."""
        assert self.opinion is not None or not opinions
        changed: set[str] = set()
        for one, found in zip(questions, opinions, strict=False):  # none where it failed
            assert self.opinion is not None
            known, evidence = self._verdicts[one.key], self._evidence(one.key[1])
            if len(found) != len(one.places):
                continue
            verdict = reconsider(
                one.statement,
                evidence,
                known,
                one.places,
                found,
                self.opinion.enough,
                sees_contradictions=self.opinion.sees_contradictions,
            )
            if verdict != known:
                self._verdicts[one.key] = verdict
                changed.add(one.key[0])
        self._done = {sentence: checked for sentence, checked in self._done.items() if sentence.text not in changed}
        return bool(changed)

    def _evidence(self, number: int) -> Evidence:
        if number not in self._ready:
            source = self.sources[number]
            context = " . ".join([source.label, source.title, *source.locator.heading_path])
            self._ready[number] = prepared(source.text, context, rows=rows_of(source))
        return self._ready[number]

    def _check(self, sentence: Sentence) -> Checked:
        span = TextSpan(start=sentence.start, end=sentence.end)
        if not states_something(sentence, self.not_found):
            return Checked(Claim(span=span, support=VERDICT_NOT_A_CLAIM), ())
        if not sentence.markers:
            doubt = Doubt(CLAIM_REASON_NO_SOURCE_CITED)
            why = explain(doubt, "", "", self.locale)
            return Checked(Claim(span=span, support=VERDICT_UNCITED, reason=doubt.reason, explanation=why), ())
        statement = sentence.text
        verdicts: dict[int, Judgement] = {}
        citations: list[Citation] = []
        misplaced = False
        seen: dict[tuple[int, Place | None], tuple[Judgement, TextSpan | None]] = {}
        for marker in sentence.markers:
            key = marker.number, marker.place
            if key not in seen:
                seen[key] = self._placed(statement, *key)
            verdict, named = seen[key]
            misplaced = misplaced or verdict.doubt.reason == CLAIM_REASON_OTHER_PLACE
            citations.append(self._citation(marker, span, statement, verdict, named))
            known = verdicts.get(marker.number)
            if known is None or _ORDER[verdict.support] < _ORDER[known.support]:
                verdicts[marker.number] = verdict
        if misplaced:
            # What stands elsewhere, in this source or in another one, does not make a wrong place right.
            verdicts = {n: one for n, one in verdicts.items() if one.doubt.reason == CLAIM_REASON_OTHER_PLACE}
            worst = next(iter(verdicts.values()))
            support, score, doubt = worst.support, worst.score, worst.doubt
        else:
            support, score, doubt = self._overall(statement, verdicts)
        numbers = list(dict.fromkeys(marker.number for marker in sentence.markers))
        claim = Claim(
            span=span,
            support=support,
            score=confidence(support, score),
            sources=numbers,
            reason=doubt.reason,
            stated=doubt.stated,
            found=doubt.found,
            subject=doubt.subject,
            explanation=self._explain(doubt, verdicts, citations),
        )
        return Checked(claim, tuple(citations))

    def _explain(self, doubt: Doubt, verdicts: Mapping[int, Judgement], citations: Sequence[Citation]) -> str:
        """Return why a sentence is not borne out, by the footnote that the doubt is about, else by the first."""
        number = next((number for number, one in verdicts.items() if one.doubt == doubt), citations[0].number)
        shown = next((one for one in citations if one.number == number), citations[0])
        return explain(doubt, shown.label or f"[{number}]", shown.quote, self.locale)

    def _placed(self, statement: str, number: int, place: Place | None) -> tuple[Judgement, TextSpan | None]:
        """Return the verdict against a source, or against the place in it that is named, and that place."""
        verdict, source = self._verdicts[statement, number], self.sources[number]
        named = named_places.find(statement, place, source, self.locale)
        if named is None:
            return verdict, None
        plain = named_places.stated(statement, source)
        return named_places.at_place(plain, self._evidence(number), named, verdict), named.span

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

    def _citation(
        self, marker: PlacedMarker, claim: TextSpan, statement: str, verdict: Judgement, named: TextSpan | None
    ) -> Citation:
        source = self.sources[marker.number]
        start, end = verdict.start, verdict.end
        if start >= end:
            spans = self._evidence(marker.number).spans
            start, end = spans[0] if spans else (0, len(source.text))
        quote_span = TextSpan(start=start, end=end)
        # A place that is named is never moved to where the value stands.
        place = named or value_span(statement, source, verdict) or quote_span
        locator = locators.narrow(source.locator, source.anchors, place)
        name = source.filename or source.title or source.document_id
        return Citation(
            number=marker.number,
            chunk_id=source.chunk_id,
            document_id=source.document_id,
            revision=source.revision,
            sha256=source.sha256,
            filename=source.filename,
            title=source.title,
            locator=locator,
            quote=source.text[start:end],
            quote_span=quote_span,
            claim_span=claim,
            marker_span=TextSpan(start=marker.start, end=marker.end),
            support=verdict.support,
            support_score=confidence(verdict.support, verdict.score),
            label=locators.label(name, locator, self.locale),
            cell=_cell_at(source, place),
        )


def _cell_at(source: Source, place: TextSpan) -> TableCell | None:
    """Return the one cell that a place in a source is."""
    for row in tables.rows(source):
        for cell in row.cells:
            if (cell.start, cell.end) == (place.start, place.end):
                return tables.cell_message(row, cell)
    return None


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
