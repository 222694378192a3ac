"""Large matrices: a sample of one in `make quick` and `make test`, the rest in `make test-all`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the cases as parameters; all but each `every`th is left to `make test-all`."""
    return [_left(at % every, one) for at, one in enumerate(cases)]


def crossed(*axes: Sequence[Any], every: int) -> list[Any]:
    """Return every combination as parameters; `make test` has one in `every`, spread so that pairs are met alike."""
    places = itertools.product(*(range(len(axis)) for axis in axes))
    return [_left(sum(at) % every, *(axis[i] for axis, i in zip(axes, at, strict=True))) for at in places]


def sqlite_alone(fixture: str) -> pytest.MarkDecorator:
    """Run a test on SQLite alone: the database only stores here; SQL decides nothing that the test asserts.

    Tests of filters, order, pages, uniqueness, locks or JSON in SQL run on both databases.
    """
    return pytest.mark.parametrize(fixture, ["sqlite"], indirect=True)


def _left(rest: int, *values: Any) -> Any:
    return pytest.param(*values, marks=[pytest.mark.matrix] if rest else [])
