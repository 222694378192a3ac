"""The verdict on each statement of an answer, and its footnotes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from footnote.types.v1.answer_pb2 import (
    BASIS_READ,
    BASIS_UNSPECIFIED,
    VERDICT_NOT_A_CLAIM,
    VERDICT_NOT_CONFIRMED,
    VERDICT_SUPPORTED,
    VERDICT_UNCITED,
    VERDICT_UNSUPPORTED,
    Claim,
    Source,
)
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NO_SOURCE_CITED,
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_NOTHING_TO_CHECK,
    CLAIM_REASON_OTHER_PLACE,
    CLAIM_REASON_PARTLY_IN_SOURCE,
    CLAIM_REASON_READER_UNSURE,
    CLAIM_REASON_SECOND_OPINION,
)
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger

from footnote_generation.language import text_language
from footnote_generation.language.places import Place
from footnote_generation.language.quantities import find
from footnote_generation.ports import Opinion, Verifier
from footnote_generation.verification import cells, lead_ins, values, weighing
from footnote_generation.verification.citing import Checked, cite
from footnote_generation.verification.claims import Sentence, states_something
from footnote_generation.verification.evidence import Evidence
from footnote_generation.verification.explanations import ClaimIssue, explain
from footnote_generation.verification.judging import WRONG, Judgement, judge, likelihood
from footnote_generation.verification.weighing import Passage, Stance, Weighed

_log = get_logger(__name__)
_ORDER = {VERDICT_SUPPORTED: 2, VERDICT_NOT_CONFIRMED: 1, VERDICT_UNSUPPORTED: 0}
_Key = tuple[str, str, tuple[int, ...]]
"""A statement's text, the line that introduces its list, and the numbers of its cited sources."""
_Cited = tuple[int, Place | None]


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """A statement that the rules leave open, and the passages of its sources for the verifier."""

    key: _Key
    statement: str
    passages: tuple[Passage, ...]


@dataclass(slots=True)
class Checker:
    """Checks statements against the numbered sources; each source is prepared once, at its first citation.

    `question` is what the statements answer, "" if unknown: of a whole row, the footnote names the cell asked for.
    With `strict`, a sentence that says more than "not found" is a statement.

    The verifier, if there is one, is asked once about a statement and its sources. `failure` says why its opinion is
    missing or incomplete. `verifier_name` is its model, for the footnotes that it confirms.
    """

    sources: Mapping[int, Source]
    locale: str
    not_found: Sequence[str] = ()
    verifier: Verifier | None = None
    failure: str = ""
    question: str = ""
    verifier_name: str = ""
    strict: bool = False
    _ready: dict[int, Evidence] = field(default_factory=dict)
    _weighed: dict[_Key, Weighed] = field(default_factory=dict)
    _done: dict[Sentence, Checked] = field(default_factory=dict)
    _judged: dict[Sentence, dict[_Cited, Judgement]] = field(default_factory=dict)
    _asked: set[_Key] = field(default_factory=set)

    async def check(self, sentences: Sequence[Sentence], limit: float | None = None) -> list[Checked]:
        """Return the verdicts and footnotes of statements, after the verifier if there is one.

        All open ones go into one call, of at most `limit` seconds.
        """
        asked = await asyncio.to_thread(self.open_statements, sentences)
        opinions = await self.ask(asked, limit)
        return await asyncio.to_thread(self._checked_with, sentences, asked, opinions)

    def _checked_with(
        self, sentences: Sequence[Sentence], asked: Sequence[OpenStatement], opinions: Sequence[Sequence[Opinion]]
    ) -> list[Checked]:
        self.apply(asked, opinions)
        return self.check_by_rules(sentences)

    def check_by_rules(self, sentences: Sequence[Sentence]) -> list[Checked]:
        """Return the same with the verifier's opinions so far: CPU work of some milliseconds."""
        for sentence in sentences:
            if sentence not in self._done:
                self._done[sentence] = self._check(sentence)
        return [self._done[sentence] for sentence in sentences]

    def open_statements(self, sentences: Sequence[Sentence]) -> list[OpenStatement]:
        """Return the statements to ask the verifier about, without those already asked."""
        if self.verifier is None or self.failure:
            return []
        found: list[OpenStatement] = []
        for sentence, checked in zip(sentences, self.check_by_rules(sentences), strict=True):
            if not checked.citations or checked.claim.support == VERDICT_SUPPORTED:
                continue
            key = _key(sentence)
            if key in self._asked or any(one.settled for one in self._judged[sentence].values()):
                continue
            self._asked.add(key)
            passages = self._passages(key, self.verifier.most_passages)
            statement = f"{sentence.lead} {sentence.text}" if sentence.lead else sentence.text
            found.append(OpenStatement(key, statement, tuple(passages)))
        return found

    def _passages(self, key: _Key, most: int) -> list[Passage]:
        """Return the passages to read: all cited sources as one, or the most similar parts of each."""
        text, _, numbers = key
        if most == 0:
            return [Passage.of([(number, 0, self._evidence(number).text) for number in numbers])]
        return [
            Passage.of([(number, start, self._evidence(number).text[start:end])])
            for number in numbers
            for _, start, end in self._evidence(number).nearest(text, most)
        ]

    async def ask(self, statements: Sequence[OpenStatement], limit: float | None = None) -> Sequence[Sequence[Opinion]]:
        """Return the opinions on statements, all in one call; none if it fails or times out, without a retry."""
        verifier = self.verifier
        if verifier is None or self.failure or not statements:
            return []
        asked = [(one.statement, [passage.text for passage in one.passages]) for one in statements]
        try:
            async with asyncio.timeout(verifier.timeout if limit is None else min(limit, verifier.timeout)):
                return await verifier.ask(asked)
        except Exception as error:  # a verifier of another package may raise anything; the rules' verdicts stand
            name = type(error).__name__
            said = error.message if isinstance(error, FootnoteError) else f"it ended with {name}"
            self.failure = "no answer in time" if isinstance(error, TimeoutError) else said
            _log.warning("verifier_failed", error=name)
            return []

    def apply(self, asked: Sequence[OpenStatement], opinions: Sequence[Sequence[Opinion]]) -> bool:
        """Apply opinions to the verdicts; return whether there was one."""
        heard: set[_Key] = set()
        for one, found in zip(asked, opinions, strict=False):  # empty if the call failed
            if self.verifier is None or not found or len(found) != len(one.passages):
                continue
            if not any(one.heard for one in found):
                continue
            ready = {number: self._evidence(number) for number in one.key[2]}
            self._weighed[one.key] = weighing.weigh(one.statement, one.passages, found, ready, self.verifier)
            heard.add(one.key)
        self._done = {sentence: checked for sentence, checked in self._done.items() if _key(sentence) not in heard}
        return bool(heard)

    def _evidence(self, number: int) -> Evidence:
        if number not in self._ready:
            self._ready[number] = Evidence(self.sources[number])
        return self._ready[number]

    def _check(self, sentence: Sentence) -> Checked:
        span = TextSpan(start=sentence.start, end=sentence.end)
        stating = states_something(sentence, self.not_found, self.question, strictly=self.strict)
        if not stating or self._is_entry(sentence):
            return Checked(Claim(span=span, support=VERDICT_NOT_A_CLAIM), ())
        if not sentence.markers:
            issue = ClaimIssue(CLAIM_REASON_NO_SOURCE_CITED)
            why = explain(issue, "", "", self.locale)
            return Checked(Claim(span=span, support=VERDICT_UNCITED, reason=issue.reason, explanation=why), ())
        verdicts = self._with_opinion(sentence, self._by_rules(sentence))
        citations = []
        for marker in sentence.markers:
            verdict = verdicts[marker.number, marker.place]
            named = cells.find_named(sentence.text, marker.place, self.sources[marker.number], self.locale)
            evidence = self._evidence(marker.number)
            citations.append(
                cite(
                    marker, span, sentence.text, verdict, named.span if named else None, evidence, self.locale,
                    self.question,
                )
            )  # fmt: skip
            if verdict.basis == BASIS_READ:
                citations[-1].reader = self.verifier_name
        best = _overall(list(verdicts.values()))
        issue = best.issue
        about = next((at for at, one in enumerate(citations) if verdicts[_cited(sentence)[at]] is best), 0)
        shown = citations[about]
        claim = Claim(
            span=span,
            support=best.support,
            score=likelihood(best.support, best.score),
            sources=_key(sentence)[2],
            reason=issue.reason,
            stated=issue.stated,
            found=issue.found,
            subject=issue.subject,
            explanation=explain(issue, shown.label or f"[{shown.number}]", shown.quote, self.locale),
            basis=best.basis,
        )
        return Checked(claim, tuple(citations))

    def _is_entry(self, sentence: Sentence) -> bool:
        """Return whether a line is an entry of a source list: it names its source, or stands below such a heading."""
        if not sentence.entry:
            return False
        named = any(lead_ins.is_name(sentence.text, self.sources[marker.number]) for marker in sentence.markers)
        return named or (sentence.listed and not self.strict)

    def _by_rules(self, sentence: Sentence) -> dict[_Cited, Judgement]:
        """Return the rules' judgements of a statement, by source and place cited."""
        known = self._judged.get(sentence)
        if known is None:
            known = {}
            for number, place in dict.fromkeys(_cited(sentence)):
                named = cells.find_named(sentence.text, place, self.sources[number], self.locale)
                known[number, place] = judge(
                    sentence.text, sentence.lead, self._evidence(number), named, sentence.mark,
                    spoken=sentence.spoken, question=self.question,
                )  # fmt: skip
            self._judged[sentence] = known = self._without_value(sentence, known)
        return known

    def _without_value(self, sentence: Sentence, known: dict[_Cited, Judgement]) -> dict[_Cited, Judgement]:
        """Lower the verdict on a statement with a value that its sources neither hold nor imply."""
        if any(one.settled for one in known.values()):
            return known
        ready = [self._evidence(number) for number in _key(sentence)[2]]
        plain = sentence.text
        for one in ready:
            plain = cells.without_places(plain, one.source)
        stated = find(plain, text_language.of(plain, ready[0].language))
        if not any(char.isalnum() for char in plain):
            issue = ClaimIssue(CLAIM_REASON_NOTHING_TO_CHECK)
            return {key: replace(one, issue=issue, settled=True) for key, one in known.items()}
        if all(one.spelled for one in stated):
            return known  # then the numbers of the sources need not be read
        lacking = values.absent(stated, [value for one in ready for value in one.quantities], plain)
        if lacking is None:
            return known
        issue = ClaimIssue(CLAIM_REASON_NOT_IN_SOURCE, stated=lacking.text)
        return {key: replace(one, support=VERDICT_UNSUPPORTED, score=WRONG, issue=issue) for key, one in known.items()}

    def _with_opinion(self, sentence: Sentence, known: dict[_Cited, Judgement]) -> dict[_Cited, Judgement]:
        """Return the verdicts after the verifier's opinion on a statement; settled ones stay."""
        said = self._weighed.get(_key(sentence))
        if said is None or any(one.settled for one in known.values()):
            return known
        return {key: _after(one, said, key[0]) for key, one in known.items()}


def _after(known: Judgement, said: Weighed, number: int) -> Judgement:
    """Return a verdict after the verifier's opinion on a statement, for one of its cited sources."""
    spans = said.quotes.get(number, ())
    start, end = _shown(spans) if spans else (known.start, known.end)
    if said.stance is Stance.SUPPORTS and not said.veto:
        if spans:
            return Judgement(VERDICT_SUPPORTED, said.score, start, end, basis=BASIS_READ)
        return replace(known, support=VERDICT_NOT_CONFIRMED, issue=ClaimIssue(CLAIM_REASON_PARTLY_IN_SOURCE))
    if said.stance is Stance.CONTRADICTS:
        if spans or not said.quotes:
            issue = ClaimIssue(CLAIM_REASON_SECOND_OPINION)
            return Judgement(VERDICT_UNSUPPORTED, WRONG, start, end, issue)
        return known
    if said.stance is Stance.UNSURE:
        if known.support == VERDICT_UNSUPPORTED:
            return known
        return replace(known, issue=ClaimIssue(CLAIM_REASON_READER_UNSURE))
    if said.stance is Stance.ALIKE:
        return known if known.support == VERDICT_UNSUPPORTED else replace(known, score=said.score)
    # Vetoed, or supported in part: neither confirmed nor known to be wrong.
    issue = (
        ClaimIssue(CLAIM_REASON_NOT_IN_SOURCE, stated=said.veto)
        if said.veto
        else ClaimIssue(CLAIM_REASON_PARTLY_IN_SOURCE)
    )
    return Judgement(VERDICT_NOT_CONFIRMED, known.score, start, end, issue, BASIS_UNSPECIFIED)


def _shown(spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first stretch with those that follow it closely."""
    ordered = sorted(spans)
    start, end = ordered[0]
    for first, last in ordered[1:]:
        if first - end > 2:
            break
        end = max(end, last)
    return start, end


def _overall(verdicts: Sequence[Judgement]) -> Judgement:
    """Return the best verdict; but support elsewhere does not make a wrong place right."""
    misplaced = [one for one in verdicts if one.issue.reason == CLAIM_REASON_OTHER_PLACE]
    return misplaced[0] if misplaced else max(verdicts, key=lambda one: (_ORDER[one.support], one.score))


def _cited(sentence: Sentence) -> list[_Cited]:
    return [(marker.number, marker.place) for marker in sentence.markers]


def _key(sentence: Sentence) -> _Key:
    return sentence.text, sentence.lead, tuple(dict.fromkeys(marker.number for marker in sentence.markers))
