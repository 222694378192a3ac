"""Every promise names an existing test."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| (?!promise|---)[^|]+\|[^|]+\|([^|]+)\|$", re.MULTILINE)
_TEST = re.compile(r"`([a-z0-9_/]+\.py)(?:::(test_[a-z0-9_]+))?`")


def test_every_promise_names_tests_that_are_there() -> None:
    rows = _ROW.findall((ROOT / "docs" / "guarantees.md").read_text())
    assert len(rows) > 15
    for row in rows:
        named = _TEST.findall(row)
        assert named, row
        for path, function in named:
            file = ROOT / "tests" / path
            assert file.is_file(), path
            assert f"def {function or 'test_'}" in file.read_text(), (path, function)
