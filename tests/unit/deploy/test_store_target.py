"""`make test-store` gives the tests the store that it is given, and asks for one where none is named."""

import subprocess
from pathlib import Path

from support.code import ROOT


def made(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--old-file=.venv/.installed", "test-store", *arguments],
        cwd=ROOT, text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_the_store_reaches_the_tests() -> None:
    done = made("--dry-run", "URI=http://milvus:19530", "TOKEN=user:word")
    assert done.returncode == 0, done.stderr
    assert 'FOOTNOTE_TEST_STORE_URI="http://milvus:19530" FOOTNOTE_TEST_STORE_TOKEN="user:word"' in done.stdout
    named = [word for word in done.stdout.split() if word.endswith(".py")]
    assert len(named) == 2
    assert all(Path(ROOT, one).is_file() for one in named)


def test_without_a_store_one_is_asked_for() -> None:
    done = made()
    assert done.returncode != 0
    assert "Say which store: make test-store URI=" in done.stdout
