"""No package is installed whose licence we may not ship."""

import runpy
from pathlib import Path
from typing import Any

import pytest

AGPL = "                    GNU AFFERO GENERAL PUBLIC LICENSE\n                       Version 3, 19 November 2007\n"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names in the script that checks licences."""
    return runpy.run_path(str(Path(__file__).resolve().parents[3] / "deploy" / "licences.py"))


def test_every_installed_package_may_be_shipped(script: dict[str, Any]) -> None:
    assert script["refused"]() == []


def test_lgpl_is_allowed_by_name_only(script: dict[str, Any]) -> None:
    assert all(script["LGPL"].values())
    assert not [name for name in script["ALLOWED"] if "GPL" in name]


@pytest.mark.parametrize(
    ("field", "file", "found"),
    [
        ("License-Expression: AGPL-3.0-only", "", "AGPL-3.0-only is not on the list"),
        ("Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "", "is not on the list"),
        ("License-Expression: MIT", AGPL, "ships a copyleft licence"),
        ("Summary: nothing is said", "", "names no licence"),
    ],
)
def test_what_may_not_be_shipped_is_found(
    script: dict[str, Any], tmp_path: Path, field: str, file: str, found: str
) -> None:
    folder = tmp_path / "culprit-1.0.dist-info"
    (folder / "licenses").mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: culprit\nVersion: 1.0\n{field}\n")
    (folder / "licenses" / "LICENSE").write_text(file or "Permission is hereby granted\n")
    (folder / "RECORD").write_text("culprit-1.0.dist-info/METADATA,,\nculprit-1.0.dist-info/licenses/LICENSE,,\n")
    (problem,) = script["refused"]([str(tmp_path)])
    assert problem.startswith("culprit")
    assert found in problem
