"""The input of a ranking: the plan, the findings, and the request's and question's wishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from footnote.types.v1.collection_pb2 import (
    SEARCH_STRATEGY_FULLTEXT,
    SEARCH_STRATEGY_HYBRID,
    SEARCH_STRATEGY_VECTOR,
    SearchStrategy,
)

from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.model import Effective
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.ranking.proximity import Occurrences


@dataclass(frozen=True, slots=True)
class Ranking:
    """One ranking: what its steps may read besides the candidates."""

    plan: Plan
    findings: Findings
    strategy: SearchStrategy.ValueType
    settings: Effective
    affinity: Mapping[str, float]
    """By document id, how strongly the question mentions its file name."""
    named: Sequence[NamedFile]
    offset: int
    file_name_weight: float
    near_duplicate: float
    first: int = 60
    """Candidates of each channel in the first band; see `bands`."""
    sought: Occurrences = field(init=False)
    """The search terms, and their positions in passages."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sought", Occurrences(self.plan.lexical_query.split()))

    @property
    def wanted(self) -> int:
        """The number of best candidates needed, including those before the page."""
        return self.offset + self.settings.limit

    @property
    def both_ran(self) -> bool:
        """Whether there are two channels to fuse."""
        hybrid = self.strategy == SEARCH_STRATEGY_HYBRID
        return hybrid and not self.findings.dense_failed and not self.findings.lexical_failed

    def weight_of(self, embedding_key: bytes) -> float:
        """Return the weight of a model's cosines before the question's candidates adapt it."""
        made = self.findings.vectors.get(embedding_key)
        if self.strategy == SEARCH_STRATEGY_VECTOR and not self.findings.dense_failed:
            return 1.0
        if made is None or not self.both_ran:
            return float(made is not None and self.findings.lexical_failed)
        return made.dense_weight if self.settings.dense_weight is None else self.settings.dense_weight

    def floor_of(self, embedding_key: bytes) -> float:
        """Return the score below which a model's best candidate answers nothing; 0 if unknown.

        Lexical scores and ranks have no floor, and files named in the question are found whatever they score.
        """
        made = self.findings.vectors.get(embedding_key)
        meant = self.strategy != SEARCH_STRATEGY_FULLTEXT and not self.findings.dense_failed
        if self.settings.min_score is not None or self.named or self.settings.rrf or not meant:
            return 0.0
        return made.cosines.floor if made is not None and made.cosines is not None else 0.0

    @property
    def by_words_too(self) -> bool:
        """Whether lexical evidence may change a score; ranks do not say by how much."""
        return self.strategy != SEARCH_STRATEGY_VECTOR and not self.settings.rrf
