"""Reads our own code, each file once for all tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a name or an attribute. Values are those of constants; `keys` are those of a dict given by keyword."""

    name: str
    bare: bool
    line: int
    first: object
    keywords: dict[str, object]
    keys: dict[str, tuple[object, ...]]


@dataclass(slots=True)
class Facts:
    """What one file imports (absolutely, and not for the type checker alone), says in strings, and calls."""

    imports: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    """Those at the top of the file."""


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute given as an argument: `names.SEARCHES` is Name("names", "SEARCHES")."""

    of: str
    name: str


@cache
def facts(path: Path) -> Facts:
    """Return the text of a file."""
    found = Facts()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found.functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    typing_only = {id(node) for block in tree.body if _for_typing(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found.imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.imports.add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.strings.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            found.calls.append(_call(node))
    return found


def _for_typing(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _call(node: ast.Call) -> Call:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    dicts = {one.arg: one.value.keys for one in node.keywords if one.arg and isinstance(one.value, ast.Dict)}
    return Call(
        name=name,
        bare=isinstance(node.func, ast.Name),
        line=node.lineno,
        first=_value(node.args[0]) if node.args else None,
        keywords={one.arg: _value(one.value) for one in node.keywords if one.arg},
        keys={arg: tuple(_value(key) for key in keys if key is not None) for arg, keys in dicts.items()},
    )


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return Name(node.value.id, node.attr)
    return None


def ours() -> Iterator[Path]:
    """Yield the files of services and libraries, without what is generated."""
    for file in sorted([*ROOT.glob("services/*/src/**/*.py"), *ROOT.glob("libs/*/src/**/*.py")]):
        if "contracts" not in file.relative_to(ROOT).parts:
            yield file
