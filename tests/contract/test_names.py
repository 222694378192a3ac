"""Every metric that our code asks for is registered in the one place for names."""

import ast
from collections.abc import Iterator
from pathlib import Path

from footnote_kit import names

ROOT = Path(__file__).resolve().parents[2]
MAKERS = {"counter", "histogram", "gauge", "observe"}


def used() -> Iterator[tuple[str, str]]:
    """Yield (name, place) of every metric that our code asks for by a literal."""
    for file in [*ROOT.glob("services/*/src/**/*.py"), *ROOT.glob("libs/*/src/**/*.py")]:
        if "contracts" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function, argument = node.func, node.args[0]
            called = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            if called in MAKERS and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value, f"{file.relative_to(ROOT)}:{node.lineno}"


def test_every_metric_used_is_registered() -> None:
    found = dict(used())
    assert found
    assert {name: place for name, place in found.items() if name not in names.METRICS} == {}
