"""What is committed of the console is what its sources and the contracts make."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "services" / "edge" / "console"
STRINGS = CONSOLE / "src" / "strings"
BUILT = ROOT / "services" / "edge" / "src" / "footnote_edge" / "http" / "console" / "built"

LANGUAGES = sorted(path.stem for path in (ROOT / "libs" / "text" / "src" / "footnote_text" / "locales").glob("*.toml"))
COUNTED = ("documents", "chunks", "claims", "messages", "collections")
FORMS = {"ar": ("zero", "two", "few", "many"), "pl": ("few", "many"), "ru": ("few", "many")}
"""Plural forms besides `one` and `other`."""
SIGNS = "{ms} ms|≤ {ms} ms|> {ms} ms|{seconds} s|{user} · {tenant}|{n}%"
SAME = {
    "de": "Name|Text|Version {version}",
    "es": "No|{n} tokens",
    "fr": (
        "Collection|Collection {collection}|Collections|Conversations|Description|Documents|Page {page}|Passages|"
        "Pages {first}-{last}|Services|Source|Sources|Sources ({n})|Verdicts|Version {version}|score {score}|{n} p.|"
        "{n} collection|{n} collections|{n} document|{n} documents|{n} message|{n} messages|{n} passage|{n} passages"
    ),
    "it": "No|Provider",
    "nl": "Model|Passages|Provider|score {score}|{n} document|{n} passage|{n} passages|{n} tokens",
    "pl": "Model|administrator",
    "pt": "{n} tokens",
}
"""Texts that are the same in English."""
SHOWN = {
    "AnswerDifferenceKind": "difference", "AuditOutcome": "audit", "ClaimReason": "reason",
    "DegradationReason": "degradation", "DocumentState": "state", "SourceState": "source", "TokenReason": "token",
    "Verdict": "verdict",
}  # fmt: skip
"""Enums whose values the page shows in words, with what their keys begin with."""


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


def texts(language: str) -> dict[str, str]:
    pairs = re.findall(r'"([\w.-]+)": "((?:[^"\\]|\\.)*)"', (STRINGS / f"{language}.ts").read_text())
    assert len(pairs) == len(dict(pairs)), "a key stands twice"
    return dict(pairs)


def names(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def test_the_languages_are_those_of_the_answers() -> None:
    assert sorted(path.stem for path in STRINGS.glob("*.ts")) == sorted([*LANGUAGES, "index"])
    index = (STRINGS / "index.ts").read_text()
    named = re.search(r"LANGUAGES = \{(.*?)\} as const", index, re.DOTALL)
    assert named is not None
    assert sorted(re.findall(r'(\w\w): "', named[1])) == LANGUAGES
    loaded = re.findall(r'(\w\w): \(\) => import\("\./(\w\w)"\)\.then\(\(file\) => file\.(\w\w)\)', index)
    assert loaded == [(language,) * 3 for language in LANGUAGES if language != "en"]


@pytest.mark.parametrize("enum", SHOWN)
def test_every_value_that_is_shown_has_words(enum: str) -> None:
    declared = re.search(rf"export type {enum} =\n([^;]+);", (CONSOLE / "src" / "api" / "types.ts").read_text())
    assert declared is not None
    values = [value for value in re.findall(r'"(\w+)"', declared[1]) if not value.endswith("_UNSPECIFIED")]
    assert values
    assert {f"{SHOWN[enum]}.{value}" for value in values} <= texts("en").keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_text_with_its_names(language: str) -> None:
    english, own = texts("en"), texts(language)
    counted = {f"{noun}.{form}": f"{noun}.other" for noun in COUNTED for form in FORMS.get(language, ())}
    assert own.keys() == english.keys() | counted.keys()
    for key, text in own.items():
        assert text == text.strip() != "", key
        said = english[counted.get(key, key)]
        # "مستندان" says the number itself.
        says_it = language == "ar" and key in {f"{noun}.{form}" for noun in COUNTED for form in ("zero", "one", "two")}
        assert names(text) == ([] if says_it else names(said)), key
        if language != "en" and text == english.get(key):
            assert text in f"{SIGNS}|{SAME.get(language, '')}".split("|"), key
