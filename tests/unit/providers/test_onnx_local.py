"""The local ONNX model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from footnote.types.v1 import collection_pb2
from footnote_kit.errors import InvalidArgument
from footnote_providers import registry
from footnote_providers.base import WeighsQuestions
from footnote_providers.onnx_files import find_files
from footnote_providers.onnx_local import OnnxEmbeddings, Settings, by_length
from footnote_providers.settings import OnnxSettings
from support.shared import shared_dir

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder() -> Path:
    """The shared ONNX model's folder."""
    shared = shared_dir()
    found = shared / "models" / "all-MiniLM-L6-v2-onnx" if shared else None
    if found is None or not found.is_dir():
        pytest.skip("the shared ONNX model is not beside the checkout (FOOTNOTE_SHARED names its folder)")
    return found


@pytest.fixture(scope="module")
def model(folder: Path) -> OnnxEmbeddings:
    """The provider over that model."""
    return OnnxEmbeddings(find_files(str(folder), OnnxSettings(), own=True), "m", Settings())


async def test_meaning_order_and_padding(model: OnnxEmbeddings) -> None:
    texts = ["A cat sat on the mat. " * 20, "Cats like sitting on rugs.", "Quarterly revenue grew by 4 %.", ""] * 12
    vectors = await model.embed_documents(texts)
    assert vectors.shape == (48, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for row in (0, 1, 2, 46):
        np.testing.assert_allclose(await model.embed_query(texts[row]), vectors[row], atol=1e-4)
    np.testing.assert_allclose(model.encode(texts), vectors, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert (await model.health()).healthy


async def test_a_text_longer_than_the_model_reads_is_found_by_its_end_too(model: OnnxEmbeddings) -> None:
    filler = "The quarterly report lists revenue, cost and margin by region. " * 60
    long = filler + "Penguins breed on the sea ice of Antarctica in winter. " * 60
    made = await model.embed_documents([filler, long, "short"])
    query = await model.embed_query("Where do penguins breed?")
    assert made[1] @ query > made[0] @ query + 0.03
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(model.encode([filler, long, "short"]), made, atol=1e-5)
    np.testing.assert_allclose(await model.embed_query("short"), made[2], atol=1e-4)


def test_words_foreign_to_the_model_lower_the_dense_weight(model: OnnxEmbeddings) -> None:
    assert isinstance(model, WeighsQuestions)
    english = model.dense_weight_for("Which company owns the television network?")
    french = model.dense_weight_for("Quel événement déclencha l'émeute des ouvriers lyonnais ?")
    assert english == model.recommended_dense_weight > french
    assert model.dense_weight_for("ᚠᚢᚦᚨᚱᚲ ᚷᚹᚺᚾ") == french
    assert model.pieces_per_word("") == model.pieces_per_word("?!") == 1.0


async def test_models_are_found_below_the_deployment_s_folder_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_ONNX_MODELS_DIR", str(folder.parent))
    settings = collection_pb2.EmbeddingSettings(provider="onnx", model=folder.name)
    async with registry.lease(settings) as provider:
        assert provider.dimensions == 384
    for name in ("../" + folder.parent.name + "/../secrets", "/etc", "absent"):
        with pytest.raises(InvalidArgument) as caught:
            registry.make(registry.check(collection_pb2.EmbeddingSettings(provider="onnx", model=name)))
        assert caught.value.reason == "PROVIDER_INVALID"
    await registry.close_all()


@pytest.mark.parametrize("lengths", [[], [5], [512, 1, 9, 10, 18, 19, 500, 505], list(range(100)), [7] * 50])
@pytest.mark.parametrize("most", [1, 2, 32])
def test_texts_of_a_batch_differ_by_few_tokens(lengths: list[int], most: int) -> None:
    batches = list(by_length([[0] * length for length in lengths], most))
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        of = [lengths[row] for row in rows]
        assert len(rows) <= most
        assert max(of) - min(of) <= 8
    if lengths == [7] * 50:
        assert len(batches) == -(-50 // most)
