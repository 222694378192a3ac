"""Our own providers through the suites that we hand out, and broken ones that they find."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from footnote_augmentation.adapters.lexical import LexicalReranker
from footnote_augmentation.adapters.mmr import MmrReranker
from footnote_generation.adapters.verifiers import EmbeddingVerifier, NliVerifier
from footnote_generation.extractive.provider import Extractive
from footnote_generation.ports import Finished, ModelRequest, Words
from footnote_providers import testing
from footnote_providers.builtin import BuiltinEmbeddings
from support.tiny_nli import write_model


@pytest.mark.parametrize("check", testing.EMBEDDER)
async def test_the_built_in_embedder_conforms(check: Any) -> None:
    await check(BuiltinEmbeddings())


@pytest.mark.parametrize("check", testing.RERANKER)
@pytest.mark.parametrize("reranker", [LexicalReranker(), MmrReranker()], ids=["lexical", "mmr"])
async def test_the_built_in_rerankers_conform(check: Any, reranker: Any) -> None:
    await check(reranker)


@pytest.mark.parametrize("check", testing.MODEL)
async def test_the_built_in_answerer_conforms(check: Any) -> None:
    await check(Extractive(0.2))


@pytest.mark.parametrize("check", testing.VERIFIER)
async def test_second_opinions_conform(check: Any, tmp_path: Path) -> None:
    await check(EmbeddingVerifier("builtin", "", 0, 30))
    await check(NliVerifier(write_model(tmp_path / "nli", {"leave": "ENTAILMENT"}), 0, 30))


def test_a_question_is_a_request_field_for_field() -> None:
    assert list(testing.Question.__dataclass_fields__) == list(ModelRequest.__dataclass_fields__)


class TurnsThemRound(BuiltinEmbeddings):
    async def embed_documents(self, texts: Sequence[str]) -> Any:
        return (await super().embed_documents(texts))[::-1]


class TooLong(BuiltinEmbeddings):
    async def embed_documents(self, texts: Sequence[str]) -> Any:
        return await super().embed_documents(texts) * np.float32(3)


class LosesOne(BuiltinEmbeddings):
    async def embed_documents(self, texts: Sequence[str]) -> Any:
        return (await super().embed_documents(texts))[:-1]


class BreaksDown(BuiltinEmbeddings):
    async def embed_documents(self, texts: Sequence[str]) -> Any:
        if not texts[0].strip():
            raise KeyError(texts[0])
        return await super().embed_documents(texts)


class TurnsScoresRound(LexicalReranker):
    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        return (await super().rerank(question, passages, scores))[::-1]


class SwallowsCancellation(LexicalReranker):
    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            raise RuntimeError("cut") from None
        return await super().rerank(question, passages, scores)


class NeverFinishes(Extractive):
    async def stream(self, request: ModelRequest) -> Any:
        async for event in super().stream(request):
            if isinstance(event, Words):
                yield event


class GoesOn(Extractive):
    async def stream(self, request: ModelRequest) -> Any:
        yield Finished()
        async for event in super().stream(request):
            yield event


class IsTooSure(EmbeddingVerifier):
    async def ask(self, asked: Any) -> Any:
        return [[type(one)(one.supports + 1) for one in found] for found in await super().ask(asked)]


class ForgetsTheRest(EmbeddingVerifier):
    async def ask(self, asked: Any) -> Any:
        return (await super().ask(asked))[:1]


@pytest.mark.parametrize(
    ("suite", "provider", "check"),
    [
        (testing.EMBEDDER, TurnsThemRound(), "keeps_the_order"),
        (testing.EMBEDDER, TooLong(), "gives_a_row_of_length_1_a_text"),
        (testing.EMBEDDER, LosesOne(), "gives_a_row_of_length_1_a_text"),
        (testing.EMBEDDER, BreaksDown(), "takes_odd_and_long_texts"),
        (testing.RERANKER, TurnsScoresRound(), "scores_every_passage_in_order"),
        (testing.RERANKER, SwallowsCancellation(), "can_be_cancelled"),
        (testing.MODEL, NeverFinishes(0.2), "writes_words_and_finishes"),
        (testing.MODEL, GoesOn(0.2), "writes_words_and_finishes"),
        (testing.VERIFIER, IsTooSure("builtin", "", 0, 30), "has_an_opinion_per_passage_in_order"),
        (testing.VERIFIER, ForgetsTheRest("builtin", "", 0, 30), "takes_many_statements_in_one_call"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_a_broken_provider_fails_the_check(suite: Any, provider: Any, check: str) -> None:
    (found,) = [one for one in suite if one.__name__ == check]
    with pytest.raises(AssertionError):
        await found(provider)
