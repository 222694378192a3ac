"""A local model that fails while it runs is a provider that failed, which its callers can do without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from footnote_kit.errors import Unavailable
from footnote_providers.onnx_local import OnnxEmbeddings, Settings
from footnote_providers.pair_classifier import PairClassifier
from support.tiny_embedder import write_embedder
from support.tiny_nli import write_model

WORDS = [f"word{number}" for number in range(50)]


def with_tokens_unknown_to_the_model(folder: Path, other: Path) -> Path:
    """Give a model the tokenizer of another one, whose later tokens have no row in its table."""
    shutil.copy(other / "tokenizer.json", folder)
    return folder


async def test_an_embedding_model(tmp_path: Path) -> None:
    more = write_embedder(tmp_path / "more", WORDS)
    folder = with_tokens_unknown_to_the_model(write_embedder(tmp_path / "few", WORDS[:2]), more)
    model = OnnxEmbeddings((folder / "model.onnx", folder / "tokenizer.json"), "few", Settings())
    with pytest.raises(Unavailable) as caught:
        await model.embed_query(WORDS[-1])
    assert caught.value.reason == "PROVIDER_FAILED"
    assert (await model.embed_query(WORDS[0])).shape == (model.dimensions,)
    await model.close()


async def test_a_classifier_of_pairs(tmp_path: Path) -> None:
    more = write_model(tmp_path / "more", dict.fromkeys(WORDS, "ENTAILMENT"))
    folder = with_tokens_unknown_to_the_model(write_model(tmp_path / "few", {WORDS[0]: "ENTAILMENT"}), more)
    model = PairClassifier(folder, "NLI model", cut="only_first")
    with pytest.raises(Unavailable) as caught:
        await model.logits([(WORDS[0], WORDS[-1])])
    assert caught.value.reason == "PROVIDER_FAILED"
    assert (await model.logits([(WORDS[0], WORDS[0])])).shape == (1, 3)
