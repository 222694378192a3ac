"""The channels' hits, and the scores that a channel lacks for the other's hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_DENSE as _DENSE
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_LEXICAL as _LEXICAL
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote_kit.logs import get_logger
from footnote_store.rows import Hit
from numpy.typing import NDArray

from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.model import Candidate, ChannelRun, Group
from footnote_retrieval.ports import QueryVector

_log = get_logger("footnote.retrieval.channels")


@dataclass(slots=True)
class Findings:
    """The channels' hits."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    vectors: dict[bytes, QueryVector] = field(default_factory=dict)
    runs: list[ChannelRun] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    failed: set[SearchChannel.ValueType] = field(default_factory=set)

    @property
    def dense_failed(self) -> bool:
        """Whether the dense channel was asked and could not answer."""
        return _DENSE in self.failed

    @property
    def lexical_failed(self) -> bool:
        """Whether the lexical channel was asked and could not answer."""
        return _LEXICAL in self.failed


def collect(
    group: Group, hits: Sequence[Hit], channel: SearchChannel.ValueType, now: float, findings: Findings
) -> None:
    """Add hits to the candidates, checking the scope of each again."""
    by_dense, owes, candidates = channel == _DENSE, group.owes_vectors, findings.candidates
    for rank, hit in enumerate(hits, 1):
        if not group.allows(hit, now):
            # Never expected; this log entry means a fault in the filter or in the store.
            _log.error("hit_outside_scope", chunk_id=hit.id, space=group.space)
            continue
        if owes and by_dense and hit.score == 0:
            continue  # a zero vector means that there is none yet
        candidate = candidates.get(hit.id)
        if candidate is None:
            candidate = candidates[hit.id] = Candidate(hit, group)
        elif candidate.hit.vector is None:
            candidate.hit.vector = hit.vector  # only lexical hits come with vectors
        if by_dense:
            candidate.dense, candidate.dense_rank = hit.score, rank
        else:
            candidate.lexical, candidate.lexical_rank = hit.score, rank
            candidate.by_words_only = owes and hit.vector is not None and not hit.vector.any()


def complete(plan: Plan, findings: Findings) -> None:
    """Fill in a candidate's missing score of the other channel.

    Cosines are computed from the vectors that came with the lexical hits. BM25 scores are estimated: a chunk below the
    best few dozen has a low one. Half of the lowest score seen did as well as the true score on every data set.
    """
    for group in plan.groups_of(_DENSE):
        if group.is_empty:
            continue
        sought = findings.vectors[group.embedding_key].vector
        missing = [c for c in findings.candidates.values() if c.group is group and c.dense is None and _fits(c, sought)]
        missing = [c for c in missing if not c.by_words_only]
        if missing:
            stored = np.stack([c.hit.vector for c in missing if c.hit.vector is not None])
            for candidate, cosine in zip(missing, cosines(stored, sought), strict=True):
                candidate.dense = float(cosine)
    known = [c.dense for c in findings.candidates.values() if c.dense is not None]
    shares = [c.lexical for c in findings.candidates.values() if c.lexical is not None]
    lowest_cosine = min(known, default=0.0)
    # A list below the limit holds every chunk with a common term, so the others have none.
    lowest_share = min(shares) / 2 if len(shares) >= plan.limit else 0.0
    for candidate in findings.candidates.values():
        only_by_words = candidate.group.embedding_key in plan.by_words
        if candidate.dense is None and not only_by_words and not candidate.by_words_only:
            candidate.dense = lowest_cosine
        candidate.lexical = lowest_share if candidate.lexical is None else candidate.lexical


def keep_one_revision(candidates: dict[str, Candidate]) -> None:
    """Leave out chunks of a revision whose writing began after the search got its list of hidden revisions.

    Revisions are announced a moment before their first row is written, so only a slow search sees two of a document.
    The lower revision is the one that was current.
    """
    current: dict[tuple[str, str], Hit] = {}
    revisions = {(c.hit.collection_key, c.hit.revision_key): c.hit for c in candidates.values()}
    for (collection_key, revision_key), hit in revisions.items():
        document = (collection_key, revision_key.rpartition(":")[0])
        lowest = current.setdefault(document, hit)
        if lowest is not hit and hit.revision < lowest.revision:
            current[document] = hit
    if len(current) == len(revisions):
        return
    for chunk_id, candidate in list(candidates.items()):
        hit = candidate.hit
        if hit.revision > current[hit.collection_key, hit.owner_key].revision:
            del candidates[chunk_id]


def _fits(candidate: Candidate, query: NDArray[np.float32]) -> bool:
    return candidate.hit.vector is not None and len(candidate.hit.vector) == len(query)


def cosines(stored: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row's cosine to a vector; rows have shape (n, dimensions) and length 1; 0 for a zero row."""
    length = float(np.linalg.norm(query)) or 1.0
    products: NDArray[np.float32] = stored @ query
    return products / length
