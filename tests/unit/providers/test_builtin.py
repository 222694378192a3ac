"""The built-in embedder."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from footnote_providers.builtin import BuiltinEmbeddings, embed


def similarity(first: str, second: str) -> float:
    vectors = embed([first, second], 384)
    return float(vectors[0] @ vectors[1])


async def test_vectors_are_unit_length_and_do_not_depend_on_the_batch() -> None:
    provider = BuiltinEmbeddings()
    texts = ["Annual leave is 25 days.", "员工每年享有二十五天带薪年假。", "Été à l'île", "x"]
    together = await provider.embed_documents(texts)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(await provider.embed_query(text), together[row], atol=1e-6)


def test_a_text_without_words_is_a_zero_vector() -> None:
    assert not embed(["", " …!? "], 64).any()
    assert embed([], 64).shape == (0, 64)


def test_words_endings_accents_and_spelling_bring_texts_together() -> None:
    assert similarity("warehouse shipments delayed", "delayed shipment warehouses") > 0.6
    assert similarity("Éléphant", "elephant") > 0.99
    assert similarity("reimbursement of travel", "reimbursment of travel") > 0.5
    assert similarity("北京的服务器", "服务器在北京") > 0.4
    assert abs(similarity("quarterly revenue forecast", "jellyfish swim at night")) < 0.2


@pytest.mark.slow
def test_it_gives_the_same_vectors_in_every_process() -> None:
    code = "from footnote_providers.builtin import embed; print(embed(['same text'], 16).tolist())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1
