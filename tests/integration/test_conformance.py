"""`footnote conformance` against our own stages, as they are served."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote_conformance.stages import STAGES, suite_of
from support.base_environment import inherited
from support.deployment import Deployment, deployment


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose stages are checked."""
    with deployment(tmp_path_factory.mktemp("conformance")) as running:
        yield running


def command(*words: str, token: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**inherited(), "PYTHONPATH": os.pathsep.join(sys.path), "FOOTNOTE_SERVICE_TOKEN": token}
    return subprocess.run(
        [sys.executable, "-m", "footnote_cli.main", "conformance", *words],
        capture_output=True, text=True, timeout=240, check=False, env=env, cwd=folder,
    )  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_our_own_stages_keep_their_contracts(served: Deployment, stage: str) -> None:
    address = ["--address", served.address(stage), "--indexing", served.address("indexing")]
    done = command(stage, *address, "--json", token=served.token)
    report = json.loads(done.stdout)
    assert [one for one in report["checks"] if one["result"] != "ok"] == []
    assert done.returncode == 0
    assert [one["check"] for one in report["checks"]] == [check.name for check in suite_of(stage)]
    assert report["ok"] == len(report["checks"]) > 15


def test_the_table_names_what_failed_and_the_exit_code_says_so(served: Deployment) -> None:
    wrong = command("augmentation", "--address", served.address("generation"), token=served.token)
    assert wrong.returncode == 1
    assert "the-budget-is-kept" in wrong.stdout
    assert "failed: " in wrong.stdout
    one = command("generation", "--address", served.address("generation"), "--check", "titles-are-short",
                  token=served.token)  # fmt: skip
    assert one.returncode == 0, one.stdout
    assert "1 ok." in one.stdout


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    for words, said in (
        (["nobody"], "There is no stage 'nobody'"),
        (["augmentation"], "--address"),
        (["retrieval", "--address", "127.0.0.1:1"], "--indexing"),
        (["augmentation", "--check", "none"], "There is no check 'none'"),
    ):
        done = command(*words, folder=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    secret = command("augmentation", "--address", "127.0.0.1:1", folder=tmp_path)
    assert secret.returncode == 1
    assert "FOOTNOTE_SERVICE_TOKEN" in secret.stderr


@pytest.mark.parametrize("stage", STAGES)
def test_every_check_has_a_name_of_its_own_and_a_sentence(stage: str) -> None:
    checks = list(suite_of(stage))
    assert len({check.name for check in checks}) == len(checks)
    assert all(len(check.says.split()) > 4 for check in checks)
