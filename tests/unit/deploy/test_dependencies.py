"""The table of dependencies is current: every pinned package and image, with its version and a date."""

import runpy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "deploy" / "dependencies.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names in the script that writes the table."""
    return runpy.run_path(str(SCRIPT))


def test_the_table_has_every_pin_and_image(script: dict[str, Any]) -> None:
    assert script["problems"]() == [], "rewrite it: python deploy/dependencies.py"
    assert len(script["rows"]()) > 100


def test_every_version_has_a_date(script: dict[str, Any]) -> None:
    for name, version, _, since in script["rows"]():
        assert version, name
        assert date(2020, 1, 1) < date.fromisoformat(since), name


def test_images_are_pinned_to_a_version(script: dict[str, Any]) -> None:
    assert script["images"]()
    assert not [name for name, (tag, _) in script["images"]().items() if tag in ("latest", "main", "edge")]
