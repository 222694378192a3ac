"""From a model's stream to an answer with verified footnotes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import perf_counter

from footnote.types.v1.answer_pb2 import (
    FINISH_REASON_NO_RELEVANT_CONTENT,
    MESSAGE_ROLE_SYSTEM,
    VERDICT_NOT_A_CLAIM,
    VERDICT_SUPPORTED,
    Answer,
    Citation,
    ClaimsRevised,
    Degradation,
    Usage,
)
from footnote_kit.text_work import off_loop
from footnote_kit.usages import add_usage
from footnote_text import locales

from footnote_generation.answering import policy, summary
from footnote_generation.answering.billing import Bill, Prices, price
from footnote_generation.answering.late_verdicts import LateVerdicts
from footnote_generation.answering.markers import MarkerScanner, Piece
from footnote_generation.answering.model_verifier import why_incomplete
from footnote_generation.answering.retries import RetryPolicy, events_with_retries
from footnote_generation.answering.summary import nearest
from footnote_generation.answering.verifiers import NO_VERIFIER, ChosenVerifier
from footnote_generation.answering.writer import Writer
from footnote_generation.language import phrases
from footnote_generation.ports import Finished, ModelProvider, ModelRequest, Thought
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.citing import Checked
from footnote_generation.verification.claims import Sentence, segment

_SHOWN_STRICTLY = frozenset({VERDICT_SUPPORTED, VERDICT_NOT_A_CLAIM})
_LONG_LINE = 4000
_USAGE_INTERVAL = 0.25  # seconds between reports of the verifier's cost
_ENDS = frozenset(".!?…؟۔।॥\n。！？")


@dataclass(frozen=True, slots=True)
class Delta:
    """The next words to show."""

    text: str


@dataclass(frozen=True, slots=True)
class Completed:
    """The finished answer; `first_token` is in seconds from the call, None if the model said nothing.

    `verifier_failure` says why the verifier's opinion is missing or incomplete, "" if it is not.
    """

    answer: Answer
    first_token: float | None
    verifier_failure: str = ""
    degradations: Sequence[Degradation] = ()
    withheld: str = ""
    """The model's text without a source, when not all of it is shown."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The estimated usage so far."""

    usage: Usage


Event = Delta | Citation | ClaimsRevised | Spent | Completed


@dataclass(slots=True)
class _Answering:
    """The state of one answer."""

    request: ModelRequest
    strict: bool
    writer: Writer
    scanner: MarkerScanner
    policy: policy.Policy
    checker: Checker
    late: LateVerdicts
    swept: int = 0
    sent: int = 0
    done: list[Sentence] = field(default_factory=list)
    """Sentences of the lines before `line`, which are final."""
    line: int = 0
    looked: int = 0
    """Length of the answer when its sentences were last examined."""
    warnings: list[str] = field(default_factory=list)
    withheld: int = 0
    """Number of statements removed by strict mode."""
    without_source: str = ""
    """The model's text when there were no sources."""

    @property
    def held(self) -> bool:
        """Whether the whole answer is checked before any of it is shown."""
        return self.strict or self.unfounded

    @property
    def unfounded(self) -> bool:
        """Whether there are no sources, so that only the not-found sentence can be right."""
        return not self.request.sources and not self.request.without_sources


class Generator:
    """Runs answers: model, policy, markers, checks, verdicts."""

    def __init__(self, retry_policy: RetryPolicy, prices: Prices | None = None) -> None:
        self._retry_policy = retry_policy
        self._prices = prices or {}

    async def run(
        self,
        provider: ModelProvider,
        request: ModelRequest,
        strict: bool = False,
        remaining: float | None = None,
        chosen: ChosenVerifier = NO_VERIFIER,
    ) -> AsyncGenerator[Event, None]:
        """Stream an answer: words and footnotes as they are settled, the verifier's changes, one Completed.

        Closing the generator closes the model's stream. Raises Unavailable(PROVIDER_FAILED) when the model fails, after
        all its words so far have been passed on. Raises DeadlineExceeded when the model is too slow.
        """
        started = perf_counter()
        read = sum(len(item.text) for item in request.messages)
        state = await off_loop(read, self._start, request, strict, chosen, remaining)
        bill = Bill(request, provider, self._prices)
        # The built-in answerer costs nothing until it is done.
        if provider.id != "builtin":
            yield Spent(await asyncio.to_thread(bill.opened))
        try:
            async with aclosing(self._run(state, provider, bill, remaining, started)) as events:
                async for event in events:
                    yield event
        finally:
            await state.late.close()

    async def _run(
        self, state: _Answering, provider: ModelProvider, bill: Bill, remaining: float | None, started: float
    ) -> AsyncGenerator[Event, None]:
        first_token: float | None = None
        finished = Finished()
        request = state.request
        async with aclosing(events_with_retries(provider, request, self._retry_policy, remaining)) as stream:
            try:
                async for event in stream:
                    if isinstance(event, Finished):
                        finished = event
                        break
                    if isinstance(event, Thought):
                        if bill.grown(event.text) is not None:
                            yield self._spent(bill, state)
                        continue
                    if first_token is None:
                        first_token = perf_counter() - started
                    if bill.grown(event.text) is not None or state.late.has_spent():
                        yield self._spent(bill, state)
                    shown = await off_loop(len(event.text), self._take, state, event.text)
                    if shown:
                        yield Delta(shown)
                    if not _ENDS.isdisjoint(shown) and self._worth_looking(state):
                        for citation in await self._settle(state):
                            yield citation
                    if (revised := await state.late.revised()) is not None:
                        yield revised
            except Exception as error:
                if bill.closed(error) is not None:
                    yield self._spent(bill, state)
                await state.late.close()
                state.checker.failure = state.checker.failure or "the answer was interrupted"
                # The model's words before a failure are shown; the error then says that the answer is incomplete.
                async for out in self._rest(state):
                    yield out
                raise
        async for out in self._rest(state):
            yield out
        while state.late.last():
            await state.late.wait(_USAGE_INTERVAL)
            if state.late.has_spent():
                yield self._spent(bill, state)
            if (revised := await state.late.revised()) is not None:
                yield revised
        degradations = []
        if not state.writer.text.strip():
            # The caller must see an end, and the conversation needs an answer to continue from.
            state.writer.replace(locales.choose(request.locale).replies.empty)
            degradations.append(summary.empty(finished))
            yield Delta(state.writer.text)
        answer = await self._answer(state, provider, bill, finished)
        if degradations:
            summary.wordless(answer)
        if finished.by_words:
            degradations.append(summary.by_words())
        failure = state.checker.failure or why_incomplete(state.checker.verifier)
        yield Completed(answer, first_token, failure, degradations, state.without_source)

    @staticmethod
    def _spent(bill: Bill, state: _Answering) -> Spent:
        usage = bill.so_far()
        add_usage(usage, state.late.usage)
        return Spent(usage)

    def _start(
        self, request: ModelRequest, strict: bool, chosen: ChosenVerifier, remaining: float | None
    ) -> _Answering:
        warnings: list[str] = []
        system = "\n".join(item.text for item in request.messages if item.role == MESSAGE_ROLE_SYSTEM)
        not_found = phrases.not_found_sentences()
        leak = (
            policy.PromptLeak(policy.instructions_in(system, (*not_found, *request.own_instructions)))
            if system
            else None
        )
        checker = Checker(
            {source.number: source for source in request.sources},
            request.locale,
            not_found,
            chosen.verifier,
            chosen.why_not,
            request.question,
            chosen.name,
            strict,
        )
        return _Answering(
            request=request,
            strict=strict,
            writer=Writer(request.sources, warnings=warnings),
            scanner=MarkerScanner([source.filename for source in request.sources]),
            policy=policy.Policy(warnings, leak),
            checker=checker,
            late=LateVerdicts(checker, remaining),
            warnings=warnings,
        )

    def _take(self, state: _Answering, text: str) -> str:
        """Pass the model's next words through policy and markers; return what to show."""
        return self._show(state, state.scanner.feed(state.policy.feed(text)))

    @staticmethod
    def _worth_looking(state: _Answering) -> bool:
        """Return whether enough text has arrived since the last examination, which reads a line from its beginning."""
        length = len(state.writer.text)
        return length - state.looked >= (length - state.line - _LONG_LINE) // 16

    def _show(self, state: _Answering, pieces: Sequence[Piece]) -> str:
        """Append pieces and return what to show now; nothing if everything is checked first."""
        shown = "".join(state.writer.add(piece) for piece in pieces)
        return "" if state.held else shown

    async def _rest(self, state: _Answering) -> AsyncGenerator[Delta | Citation, None]:
        """Flush the held-back text and check the remaining sentences; in strict mode, all sentences."""
        pieces = [*state.scanner.feed(state.policy.finish()), *state.scanner.finish()]
        shown = self._show(state, pieces)
        last = state.writer.finish()
        shown += "" if state.held else last
        if state.unfounded:
            await off_loop(len(state.writer.text), self._say_not_found, state)
        elif state.strict:
            await self._withhold(state)
        if state.held:
            shown = state.writer.text
        if shown:
            yield Delta(shown)
        for citation in await self._settle(state, ended=True):
            yield citation

    async def _settle(self, state: _Answering, ended: bool = False) -> list[Citation]:
        """Check the newly settled sentences in a thread, and return their footnotes."""
        fresh, checked = await asyncio.to_thread(self._checked, state, ended)
        if state.late.wanted:
            await state.late.offer(fresh, checked)
        return [citation for item in checked for citation in item.citations]

    def _checked(self, state: _Answering, ended: bool) -> tuple[list[Sentence], list[Checked]]:
        fresh = self._fresh(state, ended)
        return fresh, state.checker.check_by_rules(fresh)

    def _fresh(self, state: _Answering, ended: bool) -> list[Sentence]:
        settled = self._sentences(state, ended)
        fresh = settled[state.sent :]
        state.sent = max(state.sent, len(settled))
        return fresh

    def _sentences(self, state: _Answering, ended: bool) -> list[Sentence]:
        """Return the settled sentences, with the places named in them.

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
        # Lines before the last settled sentence's are final and are not read again.
        if settled:
            state.line = max(state.line, writer.text.rfind("\n", 0, settled[-1].start) + 1)
            state.done = [sentence for sentence in settled if sentence.end <= state.line]
        return settled

    @staticmethod
    def _say_not_found(state: _Answering) -> None:
        """Leave of a model's text without a source what says so, or put the not-found sentence in its place."""
        written = state.writer.text.strip()
        if not written:
            return
        left = summary.not_found_part(written, state.request.question)
        if left == written:
            return
        state.without_source = written
        state.writer.replace(left or locales.choose(state.request.locale).not_found)
        state.warnings.append(
            "Nothing was found, so that what the model wrote besides is not shown."
            if phrases.gives_up(written)
            else "The model answered without a source; the not-found sentence is shown instead."
        )

    async def _withhold(self, state: _Answering) -> None:
        """Remove statements that are not SUPPORTED or cite nothing, and report their number."""
        writer = state.writer
        sentences = await asyncio.to_thread(self._sentences, state, True)
        while True:
            checked = await state.checker.check(sentences, state.late.limit())
            pairs = zip(sentences, checked, strict=True)
            unfounded = [sentence for sentence, item in pairs if item.claim.support not in _SHOWN_STRICTLY]
            if not unfounded:
                break
            state.withheld += len(unfounded)
            writer.cut([(item.start, max([item.end, *(m.end for m in item.markers)])) for item in unfounded])
            # The remaining text may split into other sentences, so it is judged as it will be read.
            sentences = await off_loop(len(writer.text), segment, writer.text, writer.markers)
        if not state.withheld:
            return
        state.swept = state.line = 0
        state.done = []
        many = "1 statement" if state.withheld == 1 else f"{state.withheld} statements"
        state.warnings.append(f"{many} that no source is known to say, withheld.")
        if all(item.claim.support == VERDICT_NOT_A_CLAIM for item in checked):
            writer.replace(locales.choose(state.request.locale).not_found)

    async def _answer(self, state: _Answering, provider: ModelProvider, bill: Bill, finished: Finished) -> Answer:
        text = state.writer.text
        sentences = await off_loop(len(text), segment, text, state.writer.markers)
        checked = await asyncio.to_thread(state.checker.check_by_rules, sentences)
        read = len(text) + sum(len(message.text) for message in state.request.messages)
        answer = await off_loop(read, self._sum_up, state, provider, bill, finished, checked)
        if answer.finish_reason == FINISH_REASON_NO_RELEVANT_CONTENT:
            request = state.request
            offered = await asyncio.to_thread(nearest, request.question, request.sources, request.locale)
            if offered is not None:
                answer.nearest.CopyFrom(offered)
        return answer

    def _sum_up(
        self, state: _Answering, provider: ModelProvider, bill: Bill, finished: Finished, checked: Sequence[Checked]
    ) -> Answer:
        writer = state.writer
        citations = [citation for item in checked for citation in item.citations]
        claims = [item.claim for item in checked]
        usage = bill.ended(writer.text, finished)
        model = finished.model or state.request.model or provider.default_model
        price(usage, self._prices, model)
        add_usage(usage, state.late.usage)
        return Answer(
            text=writer.text,
            finish_reason=summary.finish_reason(state.request, writer.text, finished, citations, claims),
            citations=citations,
            claims=claims,
            reliability=summary.reliability(state.request.sources, citations, claims, writer.invalid, state.withheld),
            usage=usage,
            provider=provider.id,
            model=model,
            warnings=list(dict.fromkeys([*state.warnings, *summary.left_out(finished)])),
        )
