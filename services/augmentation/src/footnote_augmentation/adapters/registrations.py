"""The kinds of rerankers that come with Footnote."""

from __future__ import annotations

from footnote_kit.registration import Kind, Registration, Registry

from footnote_augmentation.adapters import cosine, cross_encoder, http, lexical, mmr
from footnote_augmentation.permitted import CosineSettings
from footnote_augmentation.ports import Reranker
from footnote_augmentation.settings import Settings

_CAPABILITIES = ("reranking",)


def registrations(settings: Settings) -> Registry[Reranker]:
    """Return this deployment's kinds of rerankers; other packages register in the group `footnote.rerankers`."""
    by_words = Registration(
        kind=Kind.RERANKER,
        id="lexical",
        display_name="Words of the question, built in",
        settings=lexical.Settings,
        make=lexical.create,
        capabilities=_CAPABILITIES,
        local=True,
        builtin=True,
    )
    varied = Registration(
        kind=Kind.RERANKER,
        id="mmr",
        display_name="Maximal marginal relevance, built in",
        settings=mmr.Settings,
        make=mmr.create,
        capabilities=_CAPABILITIES,
        local=True,
        builtin=True,
    )
    by_embeddings = Registration(
        kind=Kind.RERANKER,
        id="cosine",
        display_name="Cosine of embeddings",
        settings=CosineSettings,
        make=cosine.create,
        capabilities=_CAPABILITIES,
    )
    onnx = Registration(
        kind=Kind.RERANKER,
        id="onnx",
        display_name="Cross-encoder on this machine",
        settings=cross_encoder.Settings,
        make=cross_encoder.creator(settings.rerank_model),
        default_model=settings.rerank_model,
        capabilities=_CAPABILITIES,
        local=True,
    )
    remote = Registration(
        kind=Kind.RERANKER,
        id="http",
        display_name="A /rerank endpoint",
        settings=http.Settings,
        make=http.creator(settings.rerank_url, settings.rerank_api_key, settings.rerank_timeout),
        default_model=settings.rerank_model,
        capabilities=_CAPABILITIES,
        max_batch=1000,
        address=lambda: settings.rerank_url,
    )
    return Registry(Kind.RERANKER, [by_words, varied, by_embeddings, onnx, remote])
