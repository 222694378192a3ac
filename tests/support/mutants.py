"""Mutates functions of ours, drawn by lot, and says which tests notice: a pytest plugin.

    python -m pytest -p support.mutants tests/unit tests/contract -m "not bench and not full and not matrix" -q

The first pass runs every test and notes which functions it enters. Then each mutant gets a forked process in which one
function has other code, and only the tests that enter that function run. The table says how many mutants were noticed,
and which tests never were the only ones of their function (the name without parameters) to notice one.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import pickle
import random
import signal
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

COUNT = int(os.environ.get("FOOTNOTE_MUTANTS", "300"))
SEED = int(os.environ.get("FOOTNOTE_MUTANTS_SEED", "1"))
OUT = os.environ.get("FOOTNOTE_MUTANTS_OUT", "")
SECONDS = 120
"""A mutant that takes longer than this counts as noticed: it hangs."""
_SWAPS: dict[type[ast.AST], Callable[[], ast.AST]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
}  # fmt: skip

Key = tuple[str, str]
"""A file and the qualified name of a function in it."""


@dataclass(frozen=True)
class Mutant:
    """One changed place."""

    file: str
    function: str
    line: int
    place: int
    """Which of the function's places that can be changed."""


class _Change(ast.NodeTransformer):
    """Changes the node number `place` that can be changed; counts them all."""

    def __init__(self, place: int) -> None:
        self.place, self.seen, self.line = place, 0, 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        changed = super().generic_visit(node)
        if (other := _other(changed)) is not None:
            self.seen += 1
            if self.seen - 1 == self.place:
                self.line = getattr(node, "lineno", 0)
                return other
        return changed


def _other(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            return ast.copy_location(ast.Compare(node.left, [_SWAPS[type(op)]()], node.comparators), node)
        case ast.BoolOp() | ast.BinOp() if type(node.op) in _SWAPS:
            new = type(node)(**{**dict(ast.iter_fields(node)), "op": _SWAPS[type(node.op)]()})
            return ast.copy_location(new, node)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool()):
            return ast.copy_location(ast.Constant(not node.value), node)
        case ast.Constant(value=int() | float()):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        case ast.If() | ast.IfExp():
            test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), "test": test}), node)
        case ast.Return(value=ast.expr()):
            return ast.copy_location(ast.Return(ast.Constant(None)), node)
    return None


def _functions() -> dict[Key, FunctionType]:
    """Return every function and method of ours that is loaded, by file and qualified name."""
    found: dict[Key, FunctionType] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("footnote_") and ".testing" not in name and getattr(module, "__file__", None):
            for value in list(vars(module).values()):
                for one in [value, *(vars(value).values() if inspect.isclass(value) else [])]:
                    one = getattr(one, "__func__", getattr(one, "fget", getattr(one, "__wrapped__", one)))
                    one = inspect.unwrap(one) if callable(one) else one
                    if isinstance(one, FunctionType) and one.__module__ == name and "<" not in one.__qualname__:
                        found[one.__code__.co_filename, one.__qualname__] = one
    return found


def _tree(function: FunctionType) -> ast.Module:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    body = tree.body[0]
    assert isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef)
    body.decorator_list, body.returns = [], None
    for argument in ast.walk(body.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    if isinstance(body.body[0], ast.Expr) and isinstance(body.body[0].value, ast.Constant):
        body.body = body.body[1:] or [ast.Pass()]
    return tree


def _mutated(function: FunctionType, place: int) -> tuple[CodeType | None, int, int]:
    """Return the code with one place changed, the line of it, and how many places there are."""
    tree = _tree(function)
    defaults = tree.body[0].args  # type: ignore[attr-defined]
    defaults.defaults, defaults.kw_defaults = [], [None for _ in defaults.kw_defaults]
    change = _Change(place)
    change.visit(tree)
    ast.fix_missing_locations(tree)
    cells = function.__code__.co_freevars
    source: ast.Module = tree
    if cells:
        outer = ast.parse(f"def outer():\n    {' = '.join(cells)} = None\n    pass")
        outer.body[0].body[-1] = tree.body[0]  # type: ignore[attr-defined]
        source = outer
    code = compile(source, function.__code__.co_filename, "exec")
    return _inner(code, function.__name__), change.line, change.seen


def _inner(code: CodeType, name: str) -> CodeType | None:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_name == name:
                return one
            if (found := _inner(one, name)) is not None:
                return found
    return None


class Mutation:
    """Takes the place of pytest's loop over the tests."""

    def __init__(self) -> None:
        self._entered: dict[str, set[Key]] = defaultdict(set)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the first pass, then the mutants; print the table."""
        functions = _functions()
        by_code = {(key[0], function.__code__.co_firstlineno): key for key, function in functions.items()}
        first = _forked(lambda: self._first(session, by_code), 3600)
        assert first is not None, "the first pass did not end"
        entered, broken = first
        tests_of: defaultdict[Key, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            for key in entered.get(item.nodeid, ()):
                if item.nodeid not in broken:
                    tests_of[key].append(item)
        rows = []
        for mutant, function in _drawn(functions, tests_of):
            key = (mutant.file, mutant.function)
            failed = _forked(lambda: _run(session, tests_of[key], function, mutant), SECONDS)  # noqa: B023
            rows.append((mutant, failed))
            mark = "hangs" if failed is None else f"{len(failed)} of {len(tests_of[key])}"
            print(f"{Path(mutant.file).name}:{mutant.line} {mutant.function}: {mark}", flush=True)
        _report(rows, session.items)
        return True

    def _first(
        self, session: pytest.Session, by_code: dict[tuple[str, int], Key]
    ) -> tuple[dict[str, set[Key]], set[str]]:
        seen: set[CodeType] = set()

        def enter(frame: FrameType, event: str, argument: object) -> None:
            if event == "call":
                seen.add(frame.f_code)

        entered, broken = {}, set()
        for at, item in enumerate(session.items):
            seen.clear()
            sys.setprofile(enter)
            failed = _protocol(item, session.items[at + 1] if at + 1 < len(session.items) else None)
            sys.setprofile(None)
            if failed:
                broken.add(item.nodeid)
            keys = {by_code.get((code.co_filename, code.co_firstlineno)) for code in seen}
            entered[item.nodeid] = {key for key in keys if key is not None}
        return entered, broken


def _protocol(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test; return whether it failed."""
    from _pytest.runner import runtestprotocol

    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _drawn(
    functions: dict[Key, FunctionType], tests_of: dict[Key, list[pytest.Item]]
) -> Iterator[tuple[Mutant, FunctionType]]:
    """Yield mutants of functions, drawn by lot: each place that can be changed is equally likely."""
    places = []
    for key, function in sorted(functions.items()):
        try:
            _, _, count = _mutated(function, -1)
        except (OSError, SyntaxError, AssertionError, TypeError):
            continue
        places += [(key, place) for place in range(count)]
    print(f"\n{len(places)} places in {len(functions)} functions", flush=True)
    for key, place in random.Random(SEED).sample(places, min(COUNT, len(places))):
        _, line, _ = _mutated(functions[key], place)
        yield Mutant(*key, functions[key].__code__.co_firstlineno + line - 1, place), functions[key]


def _run(session: pytest.Session, items: list[pytest.Item], function: FunctionType, mutant: Mutant) -> list[str]:
    code, _, _ = _mutated(function, mutant.place)
    if code is None or len(code.co_freevars) != len(function.__code__.co_freevars):
        return ["not mutated"]
    function.__code__ = code
    return [
        item.nodeid for at, item in enumerate(items) if _protocol(item, items[at + 1] if at + 1 < len(items) else None)
    ]


def _forked(call: Callable[[], Any], seconds: int) -> Any:
    """Return what a forked process makes of the call; None when it takes too long or dies."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        signal.alarm(seconds)
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(call(), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def _report(rows: list[tuple[Mutant, list[str] | None]], items: list[pytest.Item]) -> None:
    rows = [row for row in rows if row[1] != ["not mutated"]]
    noticed = [row for row in rows if row[1] is None or row[1]]
    ran: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for _, failed in rows:
        names = {one.partition("[")[0] for one in failed or ()}
        ran.update(names)
        if len(names) == 1:
            alone.update(names)
    print(f"noticed {len(noticed)} of {len(rows)} mutants; {len(ran)} tests noticed one, {len(alone)} were alone in it")
    if OUT:
        table = [{**vars(mutant), "failed": failed} for mutant, failed in rows]
        Path(OUT).write_text(json.dumps(table, indent=1), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Take the place of the loop."""
    config.pluginmanager.register(Mutation())
