"""The suite for rerankers: any object with augmentation's `rerank` and `close`."""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from footnote_providers.testing.asking import LONG, ODD, TEXTS, answered_or_typed, broken_off, side_by_side

_QUESTION = "How many days of paid leave do employees receive?"


class Reranker(Protocol):
    """Scores passages for a question; `scores` are retrieval's, each from 0 to 1."""

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return a score from 0 to 1 per passage, in their order; raises FootnoteError."""
        ...


def _fits(scores: Sequence[float], count: int) -> None:
    assert len(scores) == count, f"{count} passages gave {len(scores)} scores"
    assert all(math.isfinite(score) and 0 <= score <= 1 for score in scores), f"the scores are {list(scores)}"


async def scores_every_passage_in_order(reranker: Reranker) -> None:
    """Check that each score is from 0 to 1, and that a passage with the answer scores above one without."""
    scores = await reranker.rerank(_QUESTION, TEXTS[:2], [0.6, 0.4])
    _fits(scores, 2)
    assert scores[0] > scores[1], f"the passage that answers has {scores[0]}, another {scores[1]}"
    turned = await reranker.rerank(_QUESTION, TEXTS[1::-1], [0.4, 0.6])
    assert turned[1] > turned[0], "turned round, another passage is above the one that answers"


async def takes_no_one_and_many_passages(reranker: Reranker) -> None:
    """Check no passages, one, and a hundred."""
    for count in (0, 1, 100):
        _fits(await reranker.rerank(_QUESTION, [f"Passage {at}." for at in range(count)], [0.5] * count), count)


async def takes_odd_and_long_texts(reranker: Reranker) -> None:
    """Check texts without a word and very long ones: they are scored, or refused with a typed error."""
    passages = [*ODD, LONG, *TEXTS]
    for question in (_QUESTION, "?", LONG[:20_000]):
        scores = await answered_or_typed(reranker.rerank(question, passages, [0.5] * len(passages)))
        if scores is not None:
            _fits(scores, len(passages))


async def runs_side_by_side(reranker: Reranker) -> None:
    """Check that concurrent calls return the usual scores."""
    alone = await reranker.rerank(_QUESTION, TEXTS, [0.5] * len(TEXTS))
    for scores in await side_by_side(lambda: reranker.rerank(_QUESTION, TEXTS, [0.5] * len(TEXTS))):
        assert all(abs(left - right) < 1e-3 for left, right in zip(scores, alone, strict=True))


async def can_be_cancelled(reranker: Reranker) -> None:
    """Check that a cancelled call ends, and that the next one succeeds."""
    await broken_off(lambda: reranker.rerank(_QUESTION, [LONG[:5000]] * 5, [0.5] * 5))
    _fits(await reranker.rerank(_QUESTION, TEXTS[:1], [0.5]), 1)


RERANKER: tuple[Callable[[Reranker], Awaitable[None]], ...] = (
    scores_every_passage_in_order,
    takes_no_one_and_many_passages,
    takes_odd_and_long_texts,
    runs_side_by_side,
    can_be_cancelled,
)
