"""The suite for embedding providers: `EmbeddingProvider` of footnote_providers.base."""

from collections.abc import Awaitable, Callable

import numpy as np

from footnote_providers.base import EmbeddingProvider, Vectors
from footnote_providers.testing.asking import LONG, ODD, TEXTS, answered_or_typed, broken_off, side_by_side

_TOLERANCE = 1e-3


def _fits(vectors: Vectors, count: int, provider: EmbeddingProvider) -> None:
    assert isinstance(vectors, np.ndarray), f"vectors are {type(vectors).__name__}, not an array"
    assert vectors.dtype == np.float32, f"vectors are of {vectors.dtype}, not float32"
    assert vectors.ndim == 2, f"the shape of vectors is {vectors.shape}"
    assert len(vectors) == count, f"{count} texts gave {len(vectors)} vectors"
    if provider.dimensions:
        assert vectors.shape[1] == provider.dimensions, (
            f"{vectors.shape[1]} numbers a vector, not {provider.dimensions}"
        )
    assert np.isfinite(vectors).all(), "a vector has a number that is none"


async def _embedded(provider: EmbeddingProvider, texts: list[str]) -> Vectors:
    size = max(1, provider.max_batch)
    return np.concatenate([await provider.embed_documents(texts[at : at + size]) for at in range(0, len(texts), size)])


async def says_what_it_is(provider: EmbeddingProvider) -> None:
    """Check that it has the attributes of a provider, within their ranges."""
    assert isinstance(provider, EmbeddingProvider), "it lacks an attribute of EmbeddingProvider"
    assert provider.id and provider.model, f"id '{provider.id}', model '{provider.model}'"
    assert provider.dimensions >= 0 and provider.max_batch >= 1 and provider.max_in_flight >= 1
    assert 0 <= provider.recommended_dense_weight <= 1


async def gives_a_row_of_length_1_a_text(provider: EmbeddingProvider) -> None:
    """Check shape and type, and that each row has length 1, or 0 for a text without words."""
    vectors = await _embedded(provider, list(TEXTS))
    _fits(vectors, len(TEXTS), provider)
    lengths = np.linalg.norm(vectors, axis=1)
    unit = np.abs(lengths - 1) < _TOLERANCE
    assert (unit | (lengths == 0)).all() and unit[:2].all(), f"the vectors have the lengths {lengths}"


async def keeps_the_order(provider: EmbeddingProvider) -> None:
    """Check that each row belongs to its text, in any order of texts."""
    texts = list(TEXTS[:4])
    alone = np.concatenate([await provider.embed_documents([text]) for text in texts])
    assert not np.allclose(alone[0], alone[1], atol=1e-2), "two different texts have the same vector"
    for order in (1, -1):
        np.testing.assert_allclose(await _embedded(provider, texts[::order]), alone[::order], atol=1e-2)


async def does_not_depend_on_the_batch(provider: EmbeddingProvider) -> None:
    """Check that a text has the same vector alone and in a batch, up to a full one."""
    count = min(provider.max_batch, 40)
    texts = [f"{TEXTS[at % 2]} Number {at}." for at in range(count)]
    together = await provider.embed_documents(texts)
    _fits(together, count, provider)
    for at in {0, count // 2, count - 1}:
        alone = await provider.embed_documents([texts[at]])
        np.testing.assert_allclose(alone[0], together[at], atol=1e-2)


async def embeds_a_question_as_one_row(provider: EmbeddingProvider) -> None:
    """Check that a question has shape (dimensions,) and is nearer to its passage than to another."""
    question = await provider.embed_query("How many days of paid leave do employees receive?")
    passages = await _embedded(provider, list(TEXTS[:2]))
    assert question.shape == passages[0].shape, f"a question has the shape {question.shape}"
    near, far = (float(passage @ question) for passage in passages)
    assert near > far, f"the passage that answers has {near:.3f}, another {far:.3f}"


async def takes_odd_and_long_texts(provider: EmbeddingProvider) -> None:
    """Check that texts without a word and very long ones are embedded, or refused with a typed error."""
    for text in (*ODD, LONG):
        vectors = await answered_or_typed(provider.embed_documents([text]))
        if vectors is not None:
            _fits(vectors, 1, provider)


async def runs_side_by_side(provider: EmbeddingProvider) -> None:
    """Check that concurrent calls return the usual vectors."""
    texts = list(TEXTS[: min(len(TEXTS), provider.max_batch)])
    alone = await provider.embed_documents(texts)
    for vectors in await side_by_side(lambda: provider.embed_documents(texts)):
        np.testing.assert_allclose(vectors, alone, atol=1e-2)


async def can_be_cancelled(provider: EmbeddingProvider) -> None:
    """Check that a cancelled call ends, and that the next one succeeds."""
    await broken_off(lambda: provider.embed_documents([LONG[:5000]]))
    _fits(await provider.embed_documents([TEXTS[0]]), 1, provider)


async def reports_its_health(provider: EmbeddingProvider) -> None:
    """Check that health does not raise, and gives a reason when the provider is unhealthy."""
    health = await provider.health()
    assert health.healthy or health.error, "it is not healthy, and does not say why"


EMBEDDER: tuple[Callable[[EmbeddingProvider], Awaitable[None]], ...] = (
    says_what_it_is,
    gives_a_row_of_length_1_a_text,
    keeps_the_order,
    does_not_depend_on_the_batch,
    embeds_a_question_as_one_row,
    takes_odd_and_long_texts,
    runs_side_by_side,
    can_be_cancelled,
    reports_its_health,
)
