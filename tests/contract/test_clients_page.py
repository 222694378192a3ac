"""`make polyglot` runs the commands of docs/clients.md."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
RUNNER: dict[str, Any] = runpy.run_path(str(ROOT / "tests" / "polyglot" / "run.py"))
LANGUAGES = RUNNER["LANGUAGES"]


def test_every_section_of_the_page_is_run() -> None:
    sections = set(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE))
    assert sections == {one.section for one in LANGUAGES.values()}


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_section_has_lines_and_names_files_that_are_there(name: str) -> None:
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(f"{LANGUAGES[name].section}\n"))
    assert RUNNER["lines_of"](LANGUAGES[name].section).strip()
    for path in re.findall(r"\]\((\.\./[^)]+)\)", text):
        assert (ROOT / "docs" / path).exists(), path


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_table_says_whether_a_program_is_run(name: str) -> None:
    folder = ROOT / "tests" / "polyglot" / name
    linked = re.search(rf"^\|[^|]+\| (.+) \| .*\(\.\./tests/polyglot/{name}\)", PAGE, flags=re.MULTILINE)
    assert folder.is_dir() == bool(LANGUAGES[name].program) == bool(linked and linked[1] == "yes")


def test_a_bare_path_has_no_shims() -> None:
    assert RUNNER["folder_of"]("no-such-program") is None
    assert RUNNER["folder_of"]("sh") is not None
    assert RUNNER["NETWORK"].fullmatch("https_proxy")
    for name in ("PATH", "HOME", "VIRTUAL_ENV", "PYTHONPATH", "CARGO_HOME", "GOPATH", "FOOTNOTE_DATA_DIR"):
        assert not RUNNER["NETWORK"].fullmatch(name), name
