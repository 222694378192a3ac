"""From a model's stream to an answer whose footnotes have been checked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import perf_counter

from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_ANSWERED,
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    FINISH_REASON_MAX_TOKENS,
    FINISH_REASON_NO_RELEVANT_CONTENT,
    FINISH_REASON_REFUSED,
    MESSAGE_ROLE_SYSTEM,
    VERDICT_NOT_A_CLAIM,
    VERDICT_SUPPORTED,
    VERDICT_UNCITED,
    VERDICT_UNSUPPORTED,
    Answer,
    Citation,
    Claim,
    FinishReason,
    Reliability,
    Source,
    Usage,
)
from footnote_kit.text_work import beside

from footnote_generation.answering import policy
from footnote_generation.answering.billing import Bill, Prices, price, usage_of
from footnote_generation.answering.markers import MarkerScanner, Piece
from footnote_generation.answering.patience import Patience, patient_stream
from footnote_generation.answering.writer import Writer
from footnote_generation.language import phrases
from footnote_generation.ports import Finished, ModelProvider, ModelRequest, SecondOpinion, Stop
from footnote_generation.verification.checker import Checked, Checker
from footnote_generation.verification.claims import Sentence, segment

_UNFOUNDED = frozenset({VERDICT_UNSUPPORTED, VERDICT_UNCITED})
_LONG_LINE = 4000
_ENDS = frozenset(".!?…\n。！？")


@dataclass(frozen=True, slots=True)
class Delta:
    """The next words to show."""

    text: str


@dataclass(frozen=True, slots=True)
class Completed:
    """The finished answer; `first_token` is in seconds from the call, None when the model said nothing.

    `verifier_failure` says why a second opinion was not heard on all of it, "" when there is nothing to say.
    """

    answer: Answer
    first_token: float | None
    verifier_failure: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What has been used until now, estimated."""

    usage: Usage


Event = Delta | Citation | Spent | Completed


@dataclass(slots=True)
class _Answering:
    """The state of one answer."""

    request: ModelRequest
    strict: bool
    writer: Writer
    scanner: MarkerScanner
    policy: policy.Policy
    checker: Checker
    swept: int = 0
    sent: int = 0
    done: list[Sentence] = field(default_factory=list)
    """Sentences of the lines before `line`, which nothing changes any more."""
    line: int = 0
    looked: int = 0
    """Characters of the answer when its sentences were looked at last."""
    warnings: list[str] = field(default_factory=list)


class Generator:
    """Runs answers: model, policy, markers, checks, verdicts."""

    def __init__(self, patience: Patience, opinion: SecondOpinion | None = None, prices: Prices | None = None) -> None:
        self._patience = patience
        self._prices = prices or {}
        self._opinion = opinion

    async def run(
        self,
        provider: ModelProvider,
        request: ModelRequest,
        strict: bool = False,
        remaining: float | None = None,
        without_opinion: str = "",
    ) -> AsyncGenerator[Event, None]:
        """Stream an answer: words and footnotes as they are settled, then one Completed.

        `without_opinion` says why the second opinion is not to be heard, "" when it is.

        Closing the generator closes the model's stream. Raises Unavailable(PROVIDER_FAILED) when the model fails or
        dies midway, after everything it said has been passed on, and DeadlineExceeded when it is too slow.
        """
        started = perf_counter()
        first_token: float | None = None
        read = sum(len(item.text) for item in request.messages)
        state = await beside(read, self._start, request, strict, without_opinion)
        finished = Finished()
        bill = Bill(request, provider, self._prices)
        # The built-in answerer costs nobody anything until it is done.
        if provider.id != "builtin":
            yield Spent(await asyncio.to_thread(bill.opened))
        async with aclosing(patient_stream(provider, request, self._patience, remaining)) as stream:
            try:
                async for event in stream:
                    if isinstance(event, Finished):
                        finished = event
                        break
                    if first_token is None:
                        first_token = perf_counter() - started
                    if (usage := bill.grown(event.text)) is not None:
                        yield Spent(usage)
                    shown = await beside(len(event.text), self._take, state, event.text)
                    if shown:
                        yield Delta(shown)
                    if not _ENDS.isdisjoint(shown) and self._worth_looking(state):
                        for citation in await self._settle(state):
                            yield citation
            except Exception as error:
                if (usage := bill.closed(error)) is not None:
                    yield Spent(usage)
                # What the model said before it failed is shown; the error then says that it is not whole.
                async for out in self._rest(state):
                    yield out
                raise
        async for out in self._rest(state):
            yield out
        answer = await self._answer(state, provider, finished)
        yield Completed(answer, first_token, state.checker.failure)

    def _start(self, request: ModelRequest, strict: bool, without_opinion: str) -> _Answering:
        warnings: list[str] = []
        system = "\n".join(item.text for item in request.messages if item.role == MESSAGE_ROLE_SYSTEM)
        not_found = phrases.not_found_sentences()
        leak = policy.PromptLeak(policy.instructions_in(system, not_found)) if system else None
        return _Answering(
            request=request,
            strict=strict,
            writer=Writer(request.sources, warnings=warnings),
            scanner=MarkerScanner([source.filename for source in request.sources]),
            policy=policy.Policy(warnings, leak),
            checker=Checker(
                {source.number: source for source in request.sources},
                request.locale,
                not_found,
                None if without_opinion else self._opinion,
                without_opinion if self._opinion else "",
            ),
            warnings=warnings,
        )

    def _take(self, state: _Answering, text: str) -> str:
        """Put the model's next words through policy and markers; return what to show."""
        return self._show(state, state.scanner.feed(state.policy.feed(text)))

    @staticmethod
    def _worth_looking(state: _Answering) -> bool:
        """Whether enough has come since the sentences were looked at: a line is read from its beginning each time."""
        length = len(state.writer.text)
        return length - state.looked >= (length - state.line - _LONG_LINE) // 16

    def _show(self, state: _Answering, pieces: Sequence[Piece]) -> str:
        """Write pieces down and return what to show of them now; nothing in strict mode, where all is checked first."""
        shown = "".join(state.writer.add(piece) for piece in pieces)
        return "" if state.strict else shown

    async def _rest(self, state: _Answering) -> AsyncGenerator[Delta | Citation, None]:
        """Flush what was held back and check the sentences that are left; in strict mode, everything."""
        pieces = [*state.scanner.feed(state.policy.finish()), *state.scanner.finish()]
        shown = self._show(state, pieces)
        last = state.writer.finish()
        shown += "" if state.strict else last
        if state.strict:
            await self._withhold(state)
            shown = state.writer.text
        if shown:
            yield Delta(shown)
        for citation in await self._settle(state, ended=True):
            yield citation

    async def _settle(self, state: _Answering, ended: bool = False) -> list[Citation]:
        """Check the sentences settled since the last time, in a thread, and return their footnotes."""
        if state.checker.opinion is None:
            checked = await asyncio.to_thread(lambda: state.checker.check_by_rules(self._fresh(state, ended)))
        else:
            checked = await state.checker.check(await asyncio.to_thread(self._fresh, state, ended))
        return [citation for item in checked for citation in item.citations]

    def _fresh(self, state: _Answering, ended: bool) -> list[Sentence]:
        settled = self._sentences(state, ended)
        fresh = settled[state.sent :]
        state.sent = max(state.sent, len(settled))
        return fresh

    def _sentences(self, state: _Answering, ended: bool) -> list[Sentence]:
        """Return the sentences that are settled, places named inside them found.

        A sentence is settled once another one has begun after it: its markers may follow the full stop.
        """
        writer = state.writer
        state.looked = len(writer.text)
        settled = [*state.done, *segment(writer.text, writer.markers, state.line)]
        settled = settled if ended else settled[:-1]
        known = len(writer.markers)
        for sentence in settled[state.swept :]:
            writer.sweep(sentence.start, sentence.end)
        state.swept = max(state.swept, len(settled))
        if len(writer.markers) != known:
            settled = [*state.done, *segment(writer.text, writer.markers, state.line)][: len(settled)]
        # What stands in lines before the last settled sentence's is final, and not read again.
        if settled:
            state.line = max(state.line, writer.text.rfind("\n", 0, settled[-1].start) + 1)
            state.done = [sentence for sentence in settled if sentence.end <= state.line]
        return settled

    async def _withhold(self, state: _Answering) -> None:
        """Rewrite the answer without the statements that no source bears out."""
        writer = state.writer
        sentences = await asyncio.to_thread(self._sentences, state, True)
        checked = zip(sentences, await state.checker.check(sentences), strict=True)
        unfounded = [sentence for sentence, item in checked if item.claim.support in _UNFOUNDED]
        if not unfounded:
            return
        writer.cut([(item.start, max([item.end, *(m.end for m in item.markers)])) for item in unfounded])
        state.swept = state.line = 0
        state.done = []
        state.warnings.append(f"{len(unfounded)} statements that the sources do not bear out were withheld.")
        rest = await beside(len(writer.text), segment, writer.text, writer.markers)
        left = await state.checker.check(rest)
        if all(item.claim.support == VERDICT_NOT_A_CLAIM for item in left):
            writer.replace(phrases.load(state.request.locale).not_found)

    async def _answer(self, state: _Answering, provider: ModelProvider, finished: Finished) -> Answer:
        text = state.writer.text
        checked = await state.checker.check(await beside(len(text), segment, text, state.writer.markers))
        read = len(text) + sum(len(message.text) for message in state.request.messages)
        return await beside(read, self._sum_up, state, provider, finished, checked)

    def _sum_up(
        self, state: _Answering, provider: ModelProvider, finished: Finished, checked: Sequence[Checked]
    ) -> Answer:
        writer = state.writer
        citations = [citation for item in checked for citation in item.citations]
        claims = [item.claim for item in checked]
        usage = usage_of(state.request, writer.text, finished)
        model = finished.model or state.request.model or provider.default_model
        price(usage, self._prices, model)
        return Answer(
            text=writer.text,
            finish_reason=_finish_reason(state.request, writer.text, finished, citations, claims),
            citations=citations,
            claims=claims,
            reliability=_reliability(state.request.sources, citations, claims, writer.invalid),
            usage=usage,
            provider=provider.id,
            model=model,
            warnings=list(dict.fromkeys(state.warnings)),
        )


def _reliability(
    sources: Sequence[Source], citations: Sequence[Citation], claims: Sequence[Claim], invalid: int
) -> Reliability:
    counted = [claim for claim in claims if claim.support != VERDICT_NOT_A_CLAIM]
    supported = sum(1 for claim in counted if claim.support == VERDICT_SUPPORTED)
    return Reliability(
        sources_used=len({citation.number for citation in citations}) / len(sources) if sources else 0.0,
        claims_supported=supported / len(counted) if counted else 1.0,
        claims=len(counted),
        invalid_citations=invalid,
    )


def _finish_reason(
    request: ModelRequest, text: str, finished: Finished, citations: Sequence[Citation], claims: Sequence[Claim]
) -> FinishReason.ValueType:
    if finished.stop is Stop.FILTERED or finished.refusal:
        return FINISH_REASON_REFUSED
    if finished.stop is Stop.LENGTH:
        return FINISH_REASON_MAX_TOKENS
    if request.without_sources:
        return FINISH_REASON_ANSWERED_WITHOUT_SOURCES
    stated = [claim for claim in claims if claim.support != VERDICT_NOT_A_CLAIM]
    if not citations and (not stated or phrases.is_not_found(text)):
        return FINISH_REASON_NO_RELEVANT_CONTENT
    if not citations and phrases.is_refusal(text):
        return FINISH_REASON_REFUSED
    return FINISH_REASON_ANSWERED if request.sources else FINISH_REASON_ANSWERED_WITHOUT_SOURCES
