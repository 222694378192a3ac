"""No deletion by age takes the wall clock as it is: `footnote_kit.wall_clock` doubts a step ahead first."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[2] / "services"
DELETIONS = {"sweep", "delete_expired", "retire_stale", "forget_gone", "forget", "doomed", "_forget"}
"""Names of functions that delete by age, or that say what is old enough."""
CLOCKS = {"now_micros", "now_ms", "time", "now"}
DEFINED = re.compile(rf"\bdef (?:{'|'.join(sorted(DELETIONS))})\b")
IN_MEMORY = {("documents/watch.py", "_forget")}
"""What forgets only what can be asked for again."""


def functions() -> Iterator[tuple[str, ast.AsyncFunctionDef | ast.FunctionDef]]:
    for path in sorted(SERVICES.glob("*/src/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if not DEFINED.search(text):  # every worker that collects this asks
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name in DELETIONS:
                yield str(path.relative_to(SERVICES)), node


def clocks(function: ast.AST) -> list[str]:
    """Return the clocks that a function compares with, or takes an age from; what it only writes down is no matter."""
    ages = [one for one in ast.walk(function) if isinstance(one, ast.Compare | ast.BinOp)]
    calls = (node.func for age in ages for node in ast.walk(age) if isinstance(node, ast.Call))
    names = (one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in calls)
    return [name for name in names if name in CLOCKS]


def test_there_are_deletions_by_age() -> None:
    assert len({path for path, one in functions() if one.name == "sweep"}) >= 12


@pytest.mark.parametrize(
    ("path", "function"), [pytest.param(*one, id=f"{one[0]}:{one[1].name}") for one in functions()]
)
def test_a_deletion_by_age_reads_no_wall_clock(path: str, function: ast.AST) -> None:
    if any(path.endswith(end) and function.name == name for end, name in IN_MEMORY):  # type: ignore[attr-defined]
        return
    assert clocks(function) == []
