"""Where local models may come from: the operator's folders, or a hub that was allowed, with a pinned checksum."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import FailedPrecondition, InvalidArgument, PermissionDenied
from footnote_providers import registry
from footnote_providers.onnx_files import find_files, find_folder
from footnote_providers.settings import OnnxSettings

BYTES = b"not a model, but bytes with a checksum"
SHA = hashlib.sha256(BYTES).hexdigest()


def model_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "model.onnx").write_bytes(BYTES)
    (path / "tokenizer.json").write_text("{}")
    return path


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """A hub that gives every model asked for, and notes who asked on which thread."""
    asked: list[tuple[str, int]] = []

    def download(name: str, **_: object) -> str:
        asked.append((name, threading.get_ident()))
        path = tmp_path / "hub" / name
        return str(path if path.exists() else model_folder(path))

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    return asked


@pytest.mark.parametrize("set_up", [True, False])
def test_callers_name_models_below_the_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: list[tuple[str, int]], set_up: bool
) -> None:
    inside, outside = model_folder(tmp_path / "models" / "small"), model_folder(tmp_path / "elsewhere")
    (tmp_path / "models" / "link").symlink_to(outside)
    if set_up:
        monkeypatch.setenv("FOOTNOTE_ONNX_MODELS_DIR", str(tmp_path / "models"))
        assert find_files("small", OnnxSettings()) == find_files(str(inside), OnnxSettings())
    told = set()
    for name in (
        "/etc", "/no/such/place", str(outside), "../elsewhere", "../absent", "link",
        "small/../../elsewhere", "./../elsewhere", "/", "..",
    ):  # fmt: skip
        with pytest.raises(InvalidArgument if set_up else FailedPrecondition) as caught:
            find_folder(name, OnnxSettings())
        assert caught.value.reason == ("PROVIDER_INVALID" if set_up else "PROVIDER_UNCONFIGURED")
        assert "FOOTNOTE_ONNX_MODELS_DIR" in caught.value.message
        told.add(caught.value.message.replace(repr(name), "?"))
    assert len(told) == 1, "it can be told what exists on the server"
    assert find_folder(str(outside), OnnxSettings(), own=True) == outside  # the operator's own choice
    assert hub == []


def test_nothing_is_fetched_without_opt_in_and_checksum(
    monkeypatch: pytest.MonkeyPatch, hub: list[tuple[str, int]]
) -> None:
    for own in (False, True):
        with pytest.raises(PermissionDenied, match=r"downloads are off.*DOWNLOADS=true") as caught:
            find_folder("org/name", OnnxSettings(), own=own)
        assert caught.value.reason == "PROVIDER_NOT_ALLOWED"
    monkeypatch.setenv("FOOTNOTE_ALLOW_MODEL_DOWNLOADS", "true")
    with pytest.raises(PermissionDenied, match="has no pinned checksum: set FOOTNOTE_ONNX_MODEL_SHA256=org/name="):
        find_folder("org/name", OnnxSettings())
    assert hub == []
    monkeypatch.setenv("FOOTNOTE_ONNX_MODEL_SHA256", f"org/other={SHA},org/name={'0' * 64}")
    with pytest.raises(PermissionDenied, match=f"another checksum.*{SHA}"):
        find_folder("org/name", OnnxSettings())
    assert find_folder("org/other", OnnxSettings()).name == "other"
    assert find_folder("org/third", OnnxSettings(), checksum=SHA).name == "third"
    monkeypatch.setenv("FOOTNOTE_ONNX_MODEL_SHA256", "org/name=short")
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        OnnxSettings()


async def test_a_download_is_never_on_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, hub: list[tuple[str, int]]
) -> None:
    monkeypatch.setenv("FOOTNOTE_ALLOW_MODEL_DOWNLOADS", "true")
    monkeypatch.setenv("FOOTNOTE_ONNX_MODEL_SHA256", f"org/name={SHA}")
    with pytest.raises(InvalidArgument, match="cannot be loaded"):  # bytes that are no model
        async with registry.lease(EmbeddingSettings(provider="onnx", model="org/name")):
            pass
    await registry.close_all()
    assert [name for name, _ in hub] == ["org/name"]
    assert threading.get_ident() not in {thread for _, thread in hub}
