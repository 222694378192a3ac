"""The model of languages over shared tables: the same answers, whatever becomes of the folder."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from footnote_text import language_model
from footnote_text.language_walk import Identifier
from py3langid.langid import MODEL_FILE, LanguageIdentifier

pytestmark = pytest.mark.slow  # each test unpacks the model

TEXTS = (
    "What is the training objective of BERT?",
    "Quel est le stock de sécurité recommandé ?",
    "Wie hoch ist der Sicherheitsbestand?",
    "Какая столица России?",
    "12345 %",
    "",
    "SHOUTED WORDS IN ENGLISH",
    "Kaffee und Kuchen " * 300,
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "footnote"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the tables are."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place))
        language_model.identifier()
    return place / "footnote"


@pytest.fixture(scope="module")
def expected() -> Sequence[object]:
    """What the library's own model answers to the texts."""
    own = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return [own.rank(text) for text in TEXTS]


def ranked() -> Sequence[object]:
    made = language_model.identifier()
    return [made.rank(text) for text in TEXTS]


def shared() -> bool:
    return isinstance(language_model.identifier(), Identifier)


def test_shared_tables_say_what_the_model_says(cache: Path, expected: Sequence[object]) -> None:
    assert ranked() == expected  # made
    (folder,) = cache.iterdir()
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert ranked() == expected
    assert shared()
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("harm", ["cut", "empty", "gone", "pickled", "foreign", "file"])
def test_a_folder_that_cannot_be_used_changes_no_answer(
    cache: Path, made: Path, expected: Sequence[object], harm: str
) -> None:
    shutil.copytree(made, cache)
    assert shared()
    (folder,) = cache.iterdir()
    table = folder / "moves.npy"
    if harm == "cut":
        table.write_bytes(table.read_bytes()[: 1 << 20])
    elif harm == "empty":
        table.write_bytes(b"")
    elif harm == "gone":
        table.unlink()
    elif harm == "pickled":
        table.write_bytes(b"\x80\x04N.")
    elif harm == "foreign":
        folder.chmod(0o777)
    else:
        folder.rename(cache / "elsewhere")
        folder.write_text("")
    found = language_model.identifier()
    assert not isinstance(found, Identifier)
    assert [found.rank(text) for text in TEXTS] == expected


def test_where_nothing_can_be_written_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Sequence[object]
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    assert not shared()
    assert ranked() == expected


def test_processes_that_make_it_at_once_agree(cache: Path) -> None:
    code = "from footnote_text import language as l; import json; print(json.dumps(l.detect('Where is the bank?')))"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)]
    assert [json.loads(one.communicate(timeout=60)[0]) for one in running] == ["en"] * 3
    (folder,) = cache.iterdir()  # and nothing half made is left beside it
    assert not folder.name.startswith(".")


def test_an_image_has_them_before_its_first_process(tmp_path: Path) -> None:
    dockerfile = (Path(__file__).resolve().parents[3] / "deploy" / "docker" / "Dockerfile").read_text()
    built = dockerfile[dockerfile.index("\nUSER 10001") :]  # they must belong to the user who reads them
    (command,) = re.findall(r"HOME=/home/footnote python (.+?) ;; esac", built)
    told = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, *command.split()], env=told, check=True)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".cache" / "footnote").rglob("*")}
    assert len(before) > 1
    look = "from footnote_text.language_model import identifier; print(type(identifier()).__module__)"
    done = subprocess.run([sys.executable, "-c", look], env=told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "footnote_text.language_walk"
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / ".cache" / "footnote").rglob("*")}
