"""The data types of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import Degradation, PipelineStage, StageTiming
from footnote.types.v1.chunk_pb2 import ScoreAdjustment, SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, FusionMethod, RetrievalSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import ScoreAdjustmentKind, SearchStrategyChoice
from footnote_kit import degradations
from footnote_kit.degradations import Reason
from footnote_store.filters import ALL, Expr, RowScope
from footnote_store.rows import Hit, dimensions_of

from footnote_retrieval.ports import Searchable


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A validated search."""

    scope: Scope
    query: str
    collections: tuple[str, ...] = ()
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    offset: int = 0
    where: Expr = ALL
    document_ids: tuple[str, ...] = ()
    language: str = ""
    query_vector: tuple[float, ...] = ()
    explain: bool = False
    bounds: TextBounds = field(default_factory=TextBounds)
    """Bounds on the query text besides those of the collections searched."""
    every_collection: bool = False
    """Whether `collections` lists every visible collection of some time, none chosen by name."""


@dataclass(frozen=True, slots=True)
class Effective:
    """Retrieval settings merged from request, collections and deployment."""

    strategy: SearchStrategy.ValueType
    limit: int
    dense_weight: float | None
    rrf: bool
    min_score: float | None
    """None if not set: then the embedders' floors apply."""
    neighbors: int
    resolve_parents: bool
    recency_weight: float
    half_life: float

    @classmethod
    def of(cls, settings: RetrievalSettings) -> Self:
        """Read resolved settings."""
        return cls(
            strategy=settings.strategy,
            limit=settings.limit,
            dense_weight=settings.dense_weight if settings.HasField("dense_weight") else None,
            rrf=settings.fusion == FusionMethod.FUSION_METHOD_RRF,
            min_score=settings.min_score if settings.HasField("min_score") else None,
            neighbors=settings.neighbors,
            resolve_parents=settings.resolve_parents,
            recency_weight=settings.recency_weight,
            half_life=max(1.0, settings.recency_half_life.ToSeconds()),
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Collections searched by one call: in the same space, with the same embedding."""

    space: str
    embedding: EmbeddingSettings
    members: tuple[Searchable, ...]
    tenant_id: str
    embedding_key: bytes = field(init=False)
    """Everything the query's vector depends on."""
    owes_vectors: bool = field(init=False)
    """Whether some of its rows have no vector yet, so that only words find them."""
    is_empty: bool = field(init=False)
    """Whether it holds nothing, so that no search is needed."""
    _by_key: dict[str, Searchable] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "embedding_key", self.embedding.SerializeToString(deterministic=True))
        object.__setattr__(self, "owes_vectors", any(one.collection.chunks_without_vector for one in self.members))
        object.__setattr__(self, "is_empty", not any(one.collection.chunk_count for one in self.members))
        object.__setattr__(self, "_by_key", {member.collection_key: member for member in self.members})

    @property
    def dimensions(self) -> int:
        """Length of its vectors."""
        return dimensions_of(self.space)

    def scope(self, now: float) -> RowScope:
        """Return the part of the filter that no caller can change."""
        keys = tuple(member.collection_key for member in self.members)
        hidden = tuple(revision for member in self.members for revision in member.hidden_revisions)
        return RowScope(self.tenant_id, keys, hidden, now)

    def allows(self, hit: Hit, now: float) -> bool:
        """Check a hit against the scope again, independently of the store's filter."""
        if hit.tenant_id != self.tenant_id or hit.expires_at <= now * 1000:
            return False
        member = self.member(hit.collection_key)
        return member is not None and hit.revision_key not in member.hidden_revisions

    def member(self, collection_key: str) -> Searchable | None:
        """Return the collection with this key."""
        return self._by_key.get(collection_key)


def grouped(visible: Sequence[Searchable], tenant_id: str) -> list[Group]:
    """Return the collections as groups; one without a space holds nothing to search."""
    members: dict[tuple[str, bytes], list[Searchable]] = {}
    for searchable in visible:
        embedding = searchable.collection.settings.embedding
        if searchable.space:
            key = (searchable.space, embedding.SerializeToString(deterministic=True))
            members.setdefault(key, []).append(searchable)
    return [
        Group(space, same[0].collection.settings.embedding, tuple(same), tenant_id)
        for (space, _), same in members.items()
    ]


class Adjustment(NamedTuple):
    """A score change after fusion with its basis: by its kind a share, an age in seconds or a chunk's id."""

    kind: ScoreAdjustmentKind.ValueType
    delta: float
    basis: float | str = 0.0

    def message(self) -> ScoreAdjustment:
        """Convert it to the contract's message; only searches with `explain` need it."""
        made = ScoreAdjustment(kind=self.kind, delta=self.delta)
        if isinstance(self.basis, str):
            made.chunk_id = self.basis
        elif self.kind == ScoreAdjustmentKind.SCORE_ADJUSTMENT_KIND_RECENCY:
            made.age.FromNanoseconds(int(self.basis * 1e9))
        elif self.kind != ScoreAdjustmentKind.SCORE_ADJUSTMENT_KIND_FILE_NAMED:
            made.share = self.basis
        return made


@dataclass(slots=True)
class Candidate:
    """A candidate chunk."""

    hit: Hit
    group: Group
    dense: float | None = None
    lexical: float | None = None
    dense_rank: int = 0
    lexical_rank: int = 0
    score: float = 0.0
    normal_dense: float = 0.0
    normal_lexical: float = 0.0
    dense_weight: float = 0.0
    by_words_only: bool = False
    """It has no vector yet."""
    level: float = 1.0
    """The maximum score of its model's candidates, of which later additions are a share."""
    repetitions: list[Hit] = field(default_factory=list)
    """Rows that say nearly the same, best first."""
    _changes: list[tuple[ScoreAdjustmentKind.ValueType, float, float | str]] = field(default_factory=list)

    def adjust(self, kind: ScoreAdjustmentKind.ValueType, delta: float, basis: float | str = 0.0) -> None:
        """Change the score and record the reason."""
        self.score += delta
        self._changes.append((kind, delta, basis))

    @property
    def adjustments(self) -> list[Adjustment]:
        """Return the changes of the score, in order; computed only on demand."""
        return [Adjustment(*change) for change in self._changes]


@dataclass(slots=True)
class ChannelRun:
    """The run of one channel."""

    channel: SearchChannel.ValueType
    candidates: int = 0
    seconds: float = 0.0
    weight: float = 0.0
    coverage: float = 1.0
    """Share of the searched chunks that it can find."""


@dataclass(slots=True)
class SearchResult:
    """The chunks that a search found, and how it ran."""

    chunks: list[ScoredChunk] = field(default_factory=list)
    strategy: SearchStrategy.ValueType = SearchStrategy.SEARCH_STRATEGY_HYBRID
    strategy_choice: SearchStrategyChoice = field(default_factory=SearchStrategyChoice)
    language: str = ""
    channels: list[ChannelRun] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    timings: list[StageTiming] = field(default_factory=list)
    total: int = 0
    further: int = 0
    """Number of results before the next page; 0 if there is none."""
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    collection_ids: list[str] = field(default_factory=list)
    named_document_ids: list[str] = field(default_factory=list)
    score_floor: float = 0.0


def degradation(reason: Reason, effect: str, detail: str = "") -> Degradation:
    """Return a degradation of this stage."""
    return degradations.degradation(PipelineStage.PIPELINE_STAGE_RETRIEVAL, reason, effect, detail)
