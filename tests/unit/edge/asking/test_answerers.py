"""What answers is cached within generation's epoch, for the same settings, bounds and caller."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.generation.v1.generation_service_pb2 import ResolveSettingsRequest, ResolveSettingsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_edge.asking import answerers as module
from footnote_edge.asking.answerers import Answerers
from footnote_edge.ports import Stages
from footnote_kit.epochs import Epoch, EpochReader
from footnote_kit.errors import FailedPrecondition
from support.doubles.epoch_calls import Answered

ANN = ResolveSettingsRequest(
    scope=Scope(tenant_id="t", user_id="ann"), generation=GenerationSettings(model="m"), bounds=TextBounds()
)


class Generation:
    """Answers with a given epoch, and counts its calls."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.named: str | None = None
        self.refuses = False
        self.asked = 0

    def ResolveSettings(self, request: Any, timeout: float) -> Answered[ResolveSettingsResponse]:
        self.asked += 1
        if self.refuses:
            raise FailedPrecondition("no key")
        named = self.epoch.name if self.named is None else self.named
        return Answered(ResolveSettingsResponse(context_window=1000 * self.asked, answer_tokens=5), epoch=named)


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    """Generation's double, which counts how often it is asked."""
    return Generation(Epoch(tmp_path / "epoch"))


@pytest.fixture
def answerers(generation: Generation, tmp_path: Path) -> Answerers:
    """The cache of answerers before that double."""
    stages = cast(Stages, SimpleNamespace(generation=generation))
    return Answerers(stages, EpochReader(tmp_path / "epoch"))


async def test_it_is_asked_once_an_epoch(generation: Generation, answerers: Answerers) -> None:
    for _ in range(3):
        assert await answerers.of(ANN, 1.0) == (1000, 5, True, False)
    generation.epoch.advance()
    assert await answerers.of(ANN, 1.0) == (2000, 5, True, False)
    assert generation.asked == 2


async def test_a_new_launch_of_generation_is_asked_anew(
    generation: Generation, answerers: Answerers, tmp_path: Path
) -> None:
    await answerers.of(ANN, 1.0)
    generation.epoch = Epoch(tmp_path / "epoch")
    assert await answerers.of(ANN, 1.0) == (2000, 5, True, False)


async def test_other_callers_settings_and_bounds_have_answers_of_their_own(
    generation: Generation, answerers: Answerers
) -> None:
    await answerers.of(ANN, 1.0)
    for number, change in enumerate(
        (
            ResolveSettingsRequest(scope=Scope(user_id="bob")),
            ResolveSettingsRequest(generation=GenerationSettings(model="n")),
            ResolveSettingsRequest(bounds=TextBounds(local_only=True)),
        ),
        2,
    ):
        other = ResolveSettingsRequest()
        other.CopyFrom(ANN)
        other.MergeFrom(change)
        assert await answerers.of(other, 1.0) == (1000 * number, 5, True, False)


@pytest.mark.parametrize("named", ["elsewhere", ""])
async def test_an_answer_of_another_epoch_or_of_none_is_not_kept(
    generation: Generation, answerers: Answerers, named: str
) -> None:
    generation.named = named
    await answerers.of(ANN, 1.0)
    await answerers.of(ANN, 1.0)
    assert generation.asked == 2


async def test_a_refusal_is_not_kept(generation: Generation, answerers: Answerers) -> None:
    generation.refuses = True
    with pytest.raises(FailedPrecondition):
        await answerers.of(ANN, 1.0)
    generation.refuses = False
    assert await answerers.of(ANN, 1.0) == (2000, 5, True, False)


async def test_only_so_many_are_kept(generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 2)
    answerers = Answerers(cast(Stages, SimpleNamespace(generation=generation)), EpochReader(tmp_path / "epoch"))
    for name in "abca":
        await answerers.of(ResolveSettingsRequest(scope=Scope(user_id=name)), 1.0)
    assert generation.asked == 4
