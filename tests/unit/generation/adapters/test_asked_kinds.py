"""What kind of number a question asks for, by its vector."""

import numpy as np
import pytest
from footnote_generation.adapters import asked_kinds
from footnote_generation.extractive.kinds import KINDS
from footnote_providers.e5 import files
from footnote_providers.e5.provider import DIMENSIONS, MODEL, E5Embeddings
from footnote_providers.settings import E5Settings


def test_the_kinds_are_known_by_the_vectors_of_one_model_only() -> None:
    vector = np.full(DIMENSIONS, DIMENSIONS**-0.5)
    assert asked_kinds.chances("another-model", vector) == ()
    found = asked_kinds.chances(MODEL, vector)
    assert len(found) == len(KINDS)
    assert min(found) >= 0
    assert sum(found) <= 1


@pytest.mark.full
@pytest.mark.skipif(not files.installed(), reason="no e5")
async def test_e5_s_vectors_tell_what_is_asked_for() -> None:
    asked = {
        "How much do I pay for a replacement key?": "money",
        "Wann wird das Lager eröffnet?": "date",
        "¿Qué porcentaje de los clientes respondió?": "percent",
        "Combien de temps dure la formation ?": "duration",
        "How many chairs are in the hall?": "number",
        "Who runs the night shift?": "none",
    }
    provider = E5Embeddings(E5Settings().cache_dir, threads=1)
    try:
        vectors = {question: await provider.embed_query(question) for question in asked}
    finally:
        await provider.close()
    for question, kind in asked.items():
        found = asked_kinds.chances(MODEL, vectors[question])
        chances = dict(zip(KINDS, found, strict=True)) | {"none": 1 - sum(found)}
        assert max(chances, key=lambda one: chances[one]) == kind, (question, chances)
