"""Every fixture says in its first line what it is, so that a test can be read without its setup."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def fixtures(tree: ast.Module) -> Iterator[Function]:
    """Yield the fixtures of a module, however the decorator is written."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            made_by = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
            if any(ast.unparse(one).endswith("fixture") for one in made_by):
                yield node


@pytest.mark.slow
def test_every_fixture_says_what_it_is() -> None:
    texts = {path.relative_to(TESTS): path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py"))}
    found = [(path, one) for path, text in texts.items() if "fixture" in text for one in fixtures(ast.parse(text))]
    assert len(found) > 300
    assert not [f"{path}::{one.name}" for path, one in found if not ast.get_docstring(one)]


def test_a_fixture_is_found_however_it_is_decorated() -> None:
    source = "@pytest.fixture\ndef a(): ...\n@pytest_asyncio.fixture(scope='module')\nasync def b(): ...\ndef c(): ..."
    assert [one.name for one in fixtures(ast.parse(source))] == ["a", "b"]
