"""What takes seconds at its first use is loaded while a stage starts, not by its first question."""

import pytest
from footnote_augmentation.app import build as build_augmentation
from footnote_generation.app import build as build_generation
from footnote_kit.testing import serve_app
from footnote_text import language


@pytest.mark.parametrize("build", [build_augmentation, build_generation], ids=["augmentation", "generation"])
async def test_the_model_of_languages_is_there_when_a_stage_has_started(build: object) -> None:
    language._identifier.cache_clear()
    language._kept_scores.cache_clear()  # of what other tests asked in this process
    async with serve_app(build):  # type: ignore[arg-type]
        assert language._identifier.cache_info().currsize == 1
