"""One question on its way: the context that every step reads, and the draft that every step adds to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from footnote.augmentation.v1.augmentation_service_pb2 import BuildPromptResponse, PlanQueryResponse
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.generation.v1.generation_service_pb2 import GenerateCompleted, ResolveSettingsRequest
from footnote.retrieval.v1.retrieval_service_pb2 import SearchMemoryResponse
from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_EDGE, Usage
from footnote.types.v1.collection_pb2 import GenerationSettings, PromptSettings, RerankSettings
from footnote_kit.usages import add_usage
from footnote_providers.egress.egress import Egress

from footnote_edge.asking.answer_access import AnswerAccess
from footnote_edge.asking.answerers import Answerer, Answerers
from footnote_edge.asking.manifests import ManifestBuilder
from footnote_edge.asking.memory_search import MemorySearch
from footnote_edge.asking.thread import Thread
from footnote_edge.asking.timings import Deadline, QuestionTimings
from footnote_edge.collections.bounds import CollectionBounds
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.origins import Origin, of_sources
from footnote_edge.conversations.ports import Forgetting, Regeneration
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.gateway.quotas import Quotas, UsageMeter
from footnote_edge.gateway.request_ids import IdSeed
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.system.activity import ActivityCounter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tools:
    """Components shared by all questions."""

    stages: Stages
    bounds: CollectionBounds
    answerers: Answerers
    conversations: Conversations
    memory_search: MemorySearch
    answers: Answers
    jobs: Jobs
    withholding: Withholding
    forgetting: Forgetting
    quotas: Quotas
    settings: Settings
    egress: Egress
    activity: ActivityCounter
    access_check: AnswerAccess


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """Inputs of an earlier answer, used in place of fresh ones."""

    plan: PlanQueryResponse
    memory_message_ids: Sequence[str]
    local_only: bool
    every_collection: bool
    """Whether the answer came of every visible collection, none named."""


class SideTasks:
    """Tasks that run beside the steps of one question, and end with it."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []

    def start(self, work: Awaitable[T]) -> asyncio.Task[T]:
        """Start work and return its task."""
        task = asyncio.ensure_future(work)
        self._tasks.append(task)
        return task

    async def cancel(self) -> None:
        """Cancel running tasks, and wait for their end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its caller and its deadline; with the recorders of times, degradations, usage and the manifest.

    The answer extends its conversation, or replaces that of a `regeneration`, or repeats one that is `replayed`.
    """

    tools: Tools
    scope: Scope
    request: AskRequest
    text: str
    deadline: Deadline
    ids: IdSeed
    replayed: EarlierAnswer | None
    regeneration: Regeneration | None
    timings: QuestionTimings
    meter: UsageMeter
    manifest: ManifestBuilder
    tasks: SideTasks
    asked_at: datetime

    @classmethod
    def of(
        cls,
        tools: Tools,
        scope: Scope,
        request: AskRequest,
        seconds: float,
        ids: IdSeed,
        *,
        replayed: EarlierAnswer | None = None,
        regeneration: Regeneration | None = None,
    ) -> Question:
        """Return a question that must be answered within `seconds` from now."""
        text = request.question.strip()
        return cls(
            tools=tools,
            scope=scope,
            request=request,
            text=text,
            deadline=Deadline.after(seconds),
            ids=ids,
            replayed=replayed,
            regeneration=regeneration,
            timings=QuestionTimings(),
            meter=UsageMeter(tools.quotas, scope.tenant_id, scope.user_id),
            manifest=ManifestBuilder(request, text),
            tasks=SideTasks(),
            asked_at=datetime.now(UTC),
        )

    @property
    def id(self) -> str:
        """The id of the question's message: a regenerated question keeps its own."""
        if self.regeneration is not None and self.regeneration.tail is None:
            return self.regeneration.question_id
        return self.ids.id_of("question")

    async def answerer(self, model: GenerationSettings, bounds: TextBounds) -> Answerer:
        """Return what answers by these settings, with its limits.

        Raises FootnoteError where the model may not read texts with these bounds, or cannot be looked up.
        """
        request = ResolveSettingsRequest(scope=self.scope, generation=model, bounds=bounds)
        return await self.tools.answerers.of(request, self.deadline.share(PIPELINE_STAGE_EDGE))


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """The settings of a question, and the bounds of its texts without memory."""

    prompt: PromptSettings
    rerank: RerankSettings
    model: GenerationSettings
    bounds: TextBounds


@dataclass(frozen=True, slots=True)
class Found:
    """Passages, documents that the question names, and `unavailable`: the documents could not be searched.

    `below_floor`: all passages scored below the embedding provider's floor, and are left out.
    """

    chunks: Sequence[ScoredChunk] = ()
    named: Sequence[str] = ()
    unavailable: bool = False
    below_floor: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """Memory that the model may read, the bounds of all texts of the prompt, and memory's origins."""

    memory: SearchMemoryResponse = field(default_factory=SearchMemoryResponse)
    bounds: TextBounds = field(default_factory=TextBounds)
    origins: frozenset[Origin] = frozenset()


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer so far. Each step returns a copy with its own part added."""

    thread: Thread
    settings: asyncio.Task[QuestionSettings]
    recording: asyncio.Task[None]
    """The storing of the question."""
    answerer: asyncio.Task[Answerer]

    plan: PlanQueryResponse = field(default_factory=PlanQueryResponse)
    text: str = ""
    """The question in standalone form."""
    rewriting: asyncio.Task[tuple[str, Usage]] | None = None
    recalling: asyncio.Task[Remembered] | None = None

    found: Found = Found()
    remembered: Remembered = field(default_factory=Remembered)
    built: BuildPromptResponse = field(default_factory=BuildPromptResponse)
    computed: GenerateCompleted | None = None
    """The answer computed from tables; None leaves it to the model."""
    warnings: Sequence[str] = ()
    """Warnings to add to the answer, computed or written."""
    usage: Usage = field(default_factory=Usage)
    """Tokens of model calls beside the answer's own."""

    @property
    def origins(self) -> set[Origin]:
        """The origins of the prompt's texts."""
        return {*self.thread.past.origins, *self.remembered.origins, *of_sources(self.built.sources)}

    def usage_with(self, usage: Usage) -> Usage:
        """Return the usage so far plus that of another model call."""
        together = Usage()
        together.CopyFrom(self.usage)
        add_usage(together, usage)
        return together


def wants_search(question: Question, draft: Draft) -> bool:
    """Return whether the documents matter for the question; a caller that sends a vector wants a search by it."""
    return draft.plan.should_retrieve or bool(question.request.query_vector)


def without_sources(question: Question, draft: Draft) -> bool:
    """Return whether the answer needs no sources, or can have none: the question needs no search, or it failed.

    A search that found nothing, or had no collection left to look at, is neither.
    """
    return draft.found.unavailable or not wants_search(question, draft)
