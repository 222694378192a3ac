"""What many tests of single services begin with."""

import pytest
from support.doubles.stages import World


@pytest.fixture
def world() -> World:
    """What the doubles of the stages behind edge do and remember, fresh for each test."""
    return World()
