"""Finds local models: in folders that the operator set up, or on a hub when downloads are allowed and pinned."""

import hashlib
from pathlib import Path

from footnote_kit.errors import FootnoteError, InvalidArgument, PermissionDenied
from footnote_kit.registration import unconfigured

from footnote_providers.settings import OnnxSettings

_DOWNLOAD = ["onnx/model.onnx", "model.onnx", "tokenizer.json", "config.json"]
_SETTING_UP = "put a folder with model.onnx and tokenizer.json below FOOTNOTE_ONNX_MODELS_DIR and name it from there"


def find_folder(model: str, settings: OnnxSettings, *, own: bool = False, checksum: str = "") -> Path:
    """Return the folder of a local model.

    A caller or collection may name a folder below the deployment's folder of models; the operator's `own` choice may
    be any folder. A hub name ("org/name") is downloaded only when downloads are on and its model.onnx is pinned by
    SHA-256, in `checksum` or the settings. The function reads files and may download: never call it on an event loop.

    Raises FailedPrecondition(PROVIDER_UNCONFIGURED) when neither caller nor deployment names a model or its folder.
    Raises InvalidArgument(PROVIDER_INVALID) for a missing model, PermissionDenied(PROVIDER_NOT_ALLOWED) for a
    forbidden one. The error for a path outside the folder of models does not reveal whether it exists.
    """
    if not model:
        raise unconfigured(
            "embedding", "onnx", "FOOTNOTE_ONNX_MODEL", f"The onnx provider needs a model: {_SETTING_UP}"
        )
    if own:
        folder = Path(model).expanduser()
        if folder.is_dir() or not _is_hub_name(model):
            return folder
    root = settings.models_dir.expanduser().resolve() if settings.models_dir else None
    if root is not None:
        folder = (root / model).resolve()
        if not folder.is_relative_to(root):
            raise invalid(f"onnx model {model!r} is outside the folder of models: {_SETTING_UP}")
        if folder.is_dir() or not _is_hub_name(model):
            return folder
    elif not _is_hub_name(model):
        raise unconfigured(
            "embedding",
            "onnx",
            "FOOTNOTE_ONNX_MODELS_DIR",
            f"onnx model {model!r} is outside the folder of models, which is not set: {_SETTING_UP}",
        )
    return _fetched(model, settings, checksum or settings.pinned(model))


def find_files(model: str, settings: OnnxSettings, *, own: bool = False, checksum: str = "") -> tuple[Path, Path]:
    """Return the paths of model.onnx and tokenizer.json of a local model; see `find_folder`."""
    folder = find_folder(model, settings, own=own, checksum=checksum)
    model_file = model_in(folder)
    if model_file is None:
        raise invalid(f"onnx model {model!r}: no model.onnx found there")
    if not (folder / "tokenizer.json").is_file():
        raise invalid(f"onnx model {model!r}: no tokenizer.json found there")
    return model_file, folder / "tokenizer.json"


def model_in(folder: Path) -> Path | None:
    """Return a folder's model.onnx; None when it has none."""
    return next((path for path in (folder / "model.onnx", folder / "onnx/model.onnx") if path.is_file()), None)


def invalid(message: str) -> InvalidArgument:
    """Return the error for an unusable model."""
    return InvalidArgument(message, reason="PROVIDER_INVALID")


def _is_hub_name(model: str) -> bool:
    owner, slash, name = model.partition("/")
    return bool(owner and slash and name) and "/" not in name and not model.startswith((".", "~")) and "\\" not in name


def _fetched(model: str, settings: OnnxSettings, checksum: str) -> Path:
    if not settings.allow_model_downloads:
        raise _refused(
            model,
            f"is not among this deployment's models, and downloads are off: {_SETTING_UP}, or set "
            "FOOTNOTE_ALLOW_MODEL_DOWNLOADS=true and pin its checksum by FOOTNOTE_ONNX_MODEL_SHA256",
        )
    if not checksum:
        raise _refused(
            model, f"has no pinned checksum: set FOOTNOTE_ONNX_MODEL_SHA256={model}=<SHA-256 of its model.onnx>"
        )
    from huggingface_hub import snapshot_download  # slow to import, and needed only for downloads
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(model, allow_patterns=_DOWNLOAD))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise invalid(
            f"onnx model {model!r} is no folder here and could not be fetched: {type(error).__name__}"
        ) from error
    found = model_in(folder)
    if found is None:
        raise invalid(f"onnx model {model!r}: no model.onnx found there")
    with found.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != checksum:
        raise _refused(model, f"has another checksum than the pinned one: its model.onnx has SHA-256 {actual}")
    return folder


def _refused(model: str, problem: str) -> FootnoteError:
    return PermissionDenied(
        f"onnx model {model!r} {problem}",
        reason="PROVIDER_NOT_ALLOWED",
        metadata={"provider": "onnx", "model": model},
    )
