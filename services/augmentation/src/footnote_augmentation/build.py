"""Builds a prompt with numbered sources and a token plan from candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.stages.v1.prompt_pb2 import Prompt
from footnote.types.v1.answer_pb2 import (
    TOKEN_DECISION_CUT,
    TOKEN_DECISION_DROPPED,
    TOKEN_DECISION_KEPT,
    ChatMessage,
    Source,
    TokenPlan,
    TokenPlanEntry,
)
from footnote.types.v1.locator_pb2 import Anchor, Locator, TextSpan
from footnote.types.v1.reasons_pb2 import TOKEN_REASON_UNSPECIFIED, TOKEN_REASON_WIDENED
from footnote_text import locators, tables, tokens
from footnote_text.answer_locale import locale_of
from footnote_text.locales import Locale

from footnote_augmentation import budget, neighbours, prompt, select
from footnote_augmentation.budget import cost
from footnote_augmentation.history import MAX_CHARACTERS, MAX_MESSAGES, recent
from footnote_augmentation.neutralise import Neutral, neutralise, one_line
from footnote_augmentation.row_lines import RowLines
from footnote_augmentation.suspicion import assess

DEFAULT_BUDGET = 3000
_LEAST_BUDGET = 100


@dataclass(frozen=True, slots=True)
class Assembly:
    """The input for a prompt; `candidates` are scored 0..1, in any order."""

    question: str
    candidates: Sequence[ScoredChunk]
    history: Sequence[ChatMessage] = ()
    memory: str = ""
    system_prompt: str = ""
    locale: str = ""
    token_budget: int = DEFAULT_BUDGET
    history_messages: int = MAX_MESSAGES
    history_characters: int = MAX_CHARACTERS
    named_document_ids: Sequence[str] = ()
    without_sources: bool = False
    instructions: str = ""
    documents_unavailable: bool = False
    context_window: int = 0
    answer_tokens: int = 0
    # Decisions already made by the reranker's limit.
    dropped: Sequence[tuple[ScoredChunk, select.DropReason]] = ()


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, its numbered sources, and the token counts by part."""

    prompt: Prompt
    sources: list[Source]
    plan: TokenPlan


@dataclass(frozen=True, slots=True)
class _Prepared:
    candidate: ScoredChunk
    neutral: Neutral
    label: str
    rows: RowLines

    def render(self, locale: Locale, number: int, text: str) -> str:
        """Return the source as it appears in the prompt, with this much of its text."""
        return prompt.render_source(locale, number, self.label, self.rows.laid_out(text))


@dataclass(slots=True)
class _Plan:
    entries: list[TokenPlanEntry] = field(default_factory=list)

    def dropped(self, candidate: ScoredChunk, why: select.DropReason, cost: int) -> None:
        self.entries.append(
            TokenPlanEntry(
                chunk_id=candidate.chunk.id,
                tokens=cost,
                decision=TOKEN_DECISION_DROPPED,
                reason=why.reason,
                duplicate_of=why.duplicate_of,
                rerank_top=why.rerank_top,
            )
        )


def build(assembly: Assembly) -> Assembled:
    """Select, budget and assemble: CPU work of some milliseconds. The same input gives the same sources and plan."""
    question = assembly.question.strip()
    locale = locale_of(question, assembly.locale)
    chosen = select.Selection([], [])
    if not (assembly.without_sources or assembly.documents_unavailable):
        chosen = select.select(assembly.candidates, assembly.named_document_ids)
    must = _required(chosen.chosen, assembly.named_document_ids)
    said = recent(assembly.history, assembly.history_messages, assembly.history_characters, locale.replies.unanswered)
    assembly, said = _within_window(assembly, question, said, locale)
    prepared, placed = _place(chosen.chosen, must, assembly, locale)
    plan, sources, block = _write(chosen.chosen, prepared, placed, locale)
    for candidate, why in [*chosen.dropped, *assembly.dropped]:
        plan.dropped(candidate, why, cost(candidate.chunk.text))
    parts = prompt.Parts(
        question=question,
        block=block,
        history=said,
        memory=assembly.memory,
        system_prompt=assembly.system_prompt,
        without_sources=assembly.without_sources,
        instructions=assembly.instructions,
        documents_unavailable=assembly.documents_unavailable,
    )
    made, plain = prompt.assemble(locale, parts)
    return Assembled(
        prompt=made,
        sources=sources,
        plan=TokenPlan(
            budget=assembly.token_budget,
            used=cost(block) + _delimiter_cost() if block else 0,
            prompt_tokens=sum(cost(message.text) + 4 for message in plain),
            entries=plan.entries,
            tokenizer=tokens.tokenizer_name(),
        ),
    )


def _within_window(
    assembly: Assembly, question: str, said: list[ChatMessage], locale: Locale
) -> tuple[Assembly, list[ChatMessage]]:
    """Limit the request and the history to the model's window: sources first, then the last turns."""
    if not assembly.context_window:
        return assembly, said
    rules = prompt.Parts(
        question, "…", (), assembly.memory, assembly.system_prompt, assembly.without_sources, assembly.instructions,
        assembly.documents_unavailable,
    )  # fmt: skip
    fixed = sum(cost(message.text) + 4 for message in prompt.messages(locale, rules, prompt.PLACEHOLDER))
    # Models count tokens slightly differently than we do.
    room = int((assembly.context_window - assembly.answer_tokens) * 0.9) - fixed
    costs = [cost(message.text) + 4 for message in said]
    least = min(assembly.token_budget, room // 2)
    while said and sum(costs) > room - least:
        said, costs = said[2:], costs[2:]  # one turn
    left = max(_LEAST_BUDGET, min(assembly.token_budget, room - sum(costs)))
    return replace(assembly, token_budget=left), said


def _write(
    hits: Sequence[ScoredChunk], prepared: Sequence[_Prepared], placed: Sequence[budget.Placed], locale: Locale
) -> tuple[_Plan, list[Source], str]:
    """Return the result for each hit, the numbered sources, and their block in the prompt."""
    plan = _Plan()
    sources: list[Source] = []
    block = ""
    for hit, item, place in zip(hits, prepared, placed, strict=True):
        if place.number == 0:
            plan.dropped(hit, select.DropReason(place.reason), place.tokens)
            continue
        widened = TOKEN_REASON_UNSPECIFIED if item.candidate is hit else TOKEN_REASON_WIDENED
        plan.entries.append(
            TokenPlanEntry(
                chunk_id=hit.chunk.id,
                number=place.number,
                tokens=place.tokens,
                tokens_used=place.tokens_used,
                decision=TOKEN_DECISION_CUT if place.cut else TOKEN_DECISION_KEPT,
                reason=place.reason or widened,
            )
        )
        sources.append(_source(item, place.number, place.text))
        block += item.render(locale, place.number, place.text)
    return plan, sources, block


def _place(
    candidates: Sequence[ScoredChunk], must: set[int], assembly: Assembly, locale: Locale
) -> tuple[list[_Prepared], list[budget.Placed]]:
    """Fit candidates into the budget; neighbours of whole ones may use the rest."""
    room = assembly.token_budget - _delimiter_cost()
    prepared = [_prepare(candidate, locale) for candidate in candidates]
    placed = budget.fit(_passages(prepared, must, locale), room, cost)
    whole = [index for index, place in enumerate(placed) if place.number and not place.cut]
    if not any(candidates[index].neighbors for index in whole):
        return prepared, placed
    left = room - sum(place.tokens_used for place in placed)
    widened = neighbours.widen(candidates, whole, left, cost)
    prepared_wide = [_prepare(candidate, locale) for candidate in widened]
    placed_wide = budget.fit(_passages(prepared_wide, must, locale), room, cost)
    # Neighbours never displace or cut a hit.
    if [(place.number, place.cut) for place in placed_wide] != [(place.number, place.cut) for place in placed]:
        return prepared, placed
    return prepared_wide, placed_wide


def _passages(prepared: Sequence[_Prepared], must: set[int], locale: Locale) -> list[budget.Passage]:
    return [
        budget.Passage(
            key=item.candidate.chunk.id,
            text=item.neutral.text,
            must_keep=index in must,
            render=partial(item.render, locale),
        )
        for index, item in enumerate(prepared)
    ]


def _prepare(candidate: ScoredChunk, locale: Locale) -> _Prepared:
    chunk = candidate.chunk
    label = one_line(locators.label(chunk.filename or chunk.title or chunk.document_id, chunk.locator, locale.code))
    neutral = neutralise(chunk.text)
    return _Prepared(candidate, neutral, label, _rows(chunk, neutral))


def _rows(chunk: Chunk, neutral: Neutral) -> RowLines:
    """Return the table rows in a chunk, neutralised, with their places in its text."""
    if not chunk.tables:
        return RowLines(neutral.text, [])
    harmless = Chunk(text=neutral.text, anchors=neutral.anchors(chunk.anchors), tables=chunk.tables)
    return RowLines(neutral.text, tables.rows(harmless))


def _required(chosen: Sequence[ScoredChunk], named: Sequence[str]) -> set[int]:
    """Return the indexes of the best passage of each document that the question names."""
    first: dict[str, int] = {}
    for index, candidate in enumerate(chosen):
        if candidate.chunk.document_id in named:
            first.setdefault(candidate.chunk.document_id, index)
    return set(first.values())


def _delimiter_cost() -> int:
    marks = f"{prompt.open_block(prompt.PLACEHOLDER)}\n{prompt.close_block(prompt.PLACEHOLDER)}\n"
    return cost(marks)


def _source(item: _Prepared, number: int, text: str) -> Source:
    chunk = item.candidate.chunk
    suspicion = assess(f"{chunk.filename}\n{chunk.text}")
    anchors = []
    for anchor in item.neutral.anchors(chunk.anchors):
        if anchor.span.start < len(text):
            if anchor.span.end > len(text):
                cut = Anchor()
                cut.CopyFrom(anchor)
                cut.span.end = len(text)
                cut.ClearField("cell")  # a part of a value is not that value
                anchor = cut
            anchors.append(anchor)
    locator = Locator()
    locator.CopyFrom(chunk.locator)
    label = item.label
    if len(text) < len(item.neutral.text):
        locator = locators.narrow(chunk.locator, anchors, TextSpan(start=0, end=len(text)))
    return Source(
        number=number,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        revision=chunk.revision,
        collection=chunk.collection,
        collection_id=chunk.collection_id,
        filename=chunk.filename,
        title=chunk.title,
        mime_type=chunk.mime_type,
        sha256=chunk.sha256,
        locator=locator,
        anchors=anchors,
        tables=chunk.tables,
        text=text,
        score=item.candidate.score,
        suspicion=suspicion.score,
        suspicion_reasons=suspicion.reasons,
        create_time=chunk.create_time if chunk.HasField("create_time") else None,
        label=label,
    )
