"""What is committed of the console is what its sources and the contracts make."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "services" / "edge" / "console"
BUILT = ROOT / "services" / "edge" / "src" / "footnote_edge" / "http" / "console" / "built"


def test_types_are_those_of_the_contracts() -> None:
    spec = importlib.util.spec_from_file_location("generate_types", CONSOLE / "generate_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    current = (CONSOLE / "src" / "api" / "types.ts").read_text()
    assert current == module.generate(), "run: python services/edge/console/generate_types.py"


def test_built_files_are_those_of_the_sources(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed, so the console is not built and compared (apt-get install nodejs npm)")
    if not (CONSOLE / "node_modules" / "esbuild").is_dir():
        pytest.skip("run `npm ci` in services/edge/console to have the console built anew here")
    subprocess.run(["node", "build.mjs", str(tmp_path / "built")], cwd=CONSOLE, check=True, timeout=120)
    made, kept = (
        {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "built", BUILT)
    )
    assert made.keys() == kept.keys(), "run `npm run build` in services/edge/console and commit what it writes"
    assert made == kept


def test_the_lock_file_names_no_registry() -> None:
    lock = (CONSOLE / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert not re.search(r'"https?://(?!(?:opencollective|github|paypal|tidelift)\b)[^"]*\.tgz"', lock)


def test_both_languages_have_every_text_and_the_same_names_in_them() -> None:
    def texts(language: str) -> dict[str, set[str]]:
        source = (CONSOLE / "src" / "strings" / f"{language}.ts").read_text()
        pairs = re.findall(r'"([\w.-]+)": "((?:[^"\\]|\\.)*)"', source)
        assert len(pairs) == len(dict(pairs)), "a key stands twice"
        return {key: set(re.findall(r"\{(\w+)\}", text)) for key, text in pairs}

    assert texts("en") == texts("fr")
