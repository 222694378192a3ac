"""A model whose window differs from the reported one starts a new epoch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from footnote_generation import registry as module
from footnote_generation.registry import ContextWindows
from footnote_kit.epochs import Epoch

MODEL: Any = SimpleNamespace(id="p")


class Known:
    """What is known of one model."""

    def __init__(self) -> None:
        self.now = (0, 0)

    def window(self, provider: Any, model: str) -> tuple[int, int]:
        return self.now


def made(tmp_path: Path) -> tuple[Known, ContextWindows, Epoch]:
    known, epoch = Known(), Epoch(tmp_path / "epoch")
    return known, ContextWindows(cast(Any, known), epoch), epoch


def test_a_call_that_teaches_nothing_leaves_the_epoch(tmp_path: Path) -> None:
    _, windows, epoch = made(tmp_path)
    assert windows.of(MODEL, "m") == (0, 0, epoch.name)
    before = epoch.name
    with windows.asking(MODEL, "m"):
        pass
    assert epoch.name == before


def test_a_window_that_was_learnt_begins_another_even_if_the_call_fails(tmp_path: Path) -> None:
    known, windows, epoch = made(tmp_path)
    first = windows.of(MODEL, "m")[2]

    def refused() -> None:
        with windows.asking(MODEL, "m"):
            known.now = (4096, 0)
            raise OSError("too long")

    with pytest.raises(OSError, match="too long"):
        refused()
    assert epoch.name != first
    assert windows.of(MODEL, "m") == (4096, 0, epoch.name)


def test_what_nobody_was_told_changes_nothing(tmp_path: Path) -> None:
    known, windows, epoch = made(tmp_path)
    before = epoch.name
    with windows.asking(MODEL, "m"):
        known.now = (4096, 0)
    assert epoch.name == before


def test_of_a_model_that_is_forgotten_nothing_old_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_REPORTED", 1)
    _, windows, epoch = made(tmp_path)
    first = windows.of(MODEL, "m")[2]
    windows.of(MODEL, "n")
    assert epoch.name != first
