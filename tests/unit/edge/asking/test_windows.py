"""Generation's window size is cached within its epoch, for the same settings, bounds and caller."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote.generation.v1.generation_service_pb2 import ResolveSettingsRequest, ResolveSettingsResponse
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.collection_pb2 import GenerationSettings
from footnote_edge.asking import windows as module
from footnote_edge.asking.windows import Windows
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
def windows(generation: Generation, tmp_path: Path) -> Windows:
    """The cache of windows before that double."""
    stages = cast(Stages, SimpleNamespace(generation=generation))
    return Windows(stages, EpochReader(tmp_path / "epoch"))


async def test_it_is_asked_once_an_epoch(generation: Generation, windows: Windows) -> None:
    for _ in range(3):
        assert await windows.of(ANN, 1.0) == (1000, 5, True, False)
    generation.epoch.advance()
    assert await windows.of(ANN, 1.0) == (2000, 5, True, False)
    assert generation.asked == 2


async def test_a_new_launch_of_generation_is_asked_anew(
    generation: Generation, windows: Windows, tmp_path: Path
) -> None:
    await windows.of(ANN, 1.0)
    generation.epoch = Epoch(tmp_path / "epoch")
    assert await windows.of(ANN, 1.0) == (2000, 5, True, False)


async def test_other_callers_settings_and_bounds_have_answers_of_their_own(
    generation: Generation, windows: Windows
) -> None:
    await windows.of(ANN, 1.0)
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
        assert await windows.of(other, 1.0) == (1000 * number, 5, True, False)


@pytest.mark.parametrize("named", ["elsewhere", ""])
async def test_an_answer_of_another_epoch_or_of_none_is_not_kept(
    generation: Generation, windows: Windows, named: str
) -> None:
    generation.named = named
    await windows.of(ANN, 1.0)
    await windows.of(ANN, 1.0)
    assert generation.asked == 2


async def test_a_refusal_is_not_kept(generation: Generation, windows: Windows) -> None:
    generation.refuses = True
    with pytest.raises(FailedPrecondition):
        await windows.of(ANN, 1.0)
    generation.refuses = False
    assert await windows.of(ANN, 1.0) == (2000, 5, True, False)


async def test_only_so_many_are_kept(generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 2)
    windows = Windows(cast(Stages, SimpleNamespace(generation=generation)), EpochReader(tmp_path / "epoch"))
    for name in "abca":
        await windows.of(ResolveSettingsRequest(scope=Scope(user_id=name)), 1.0)
    assert generation.asked == 4
