"""Every pattern that our packages compile: found in their modules' memory, and in their sources."""

from __future__ import annotations

import ast
import builtins
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import regex

PACKAGES = tuple(
    f"footnote_{name}"
    for name in (
        "kit", "text", "database", "store", "providers", "conformance", "cli",
        "ingestion", "indexing", "retrieval", "augmentation", "generation", "edge",
    )
)  # fmt: skip
_CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_KINDS = (re.Pattern, regex.Pattern)


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern and its place."""

    place: str
    pattern: Any

    @property
    def text(self) -> str:
        """The pattern as written."""
        source = self.pattern.pattern
        return source if isinstance(source, str) else source.decode("latin-1")


def modules() -> list[ModuleType]:
    """Import and return all modules of our packages, but those that do something when imported."""
    found: list[ModuleType] = []
    for package in PACKAGES:
        top = importlib.import_module(package)
        found.append(top)
        for entry in pkgutil.walk_packages(top.__path__, f"{package}."):
            if not entry.name.endswith(".__main__") and ".migrations" not in entry.name:
                found.append(importlib.import_module(entry.name))
    return found


def _inside(value: object, place: str, owner: str, seen: set[int], depth: int = 0) -> Iterator[Found]:
    """Yield the patterns that an object holds."""
    if depth > 6 or id(value) in seen:
        return
    if isinstance(value, _KINDS):
        yield Found(place, value)
        return
    parts: Mapping[Any, object] = {}
    if isinstance(value, Mapping):
        parts = {**{f"key {i}": key for i, key in enumerate(value)}, **{repr(k)[:40]: v for k, v in value.items()}}
    elif isinstance(value, tuple | list | set | frozenset):
        parts = dict(enumerate(value))
    elif isinstance(value, type):
        parts = dict(vars(value)) if value.__module__ == owner else {}
    elif isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType) and inner.__module__ == owner:
            cells = [cell.cell_contents for cell in inner.__closure__ or () if not _empty(cell)]
            parts = dict(enumerate([*cells, *(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]))
    elif isinstance(value, MethodType) or callable(getattr(value, "__self__", None)) or hasattr(value, "__self__"):
        parts = {"self": getattr(value, "__self__", None)}
    elif is_dataclass(value):
        parts = {field.name: getattr(value, field.name, None) for field in fields(value)}
    elif type(value).__module__ == owner and hasattr(value, "__dict__"):
        parts = dict(vars(value))
    if parts:
        seen.add(id(value))
        for name, part in parts.items():
            yield from _inside(part, f"{place}.{name}", owner, seen, depth + 1)


def _empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def in_memory(module: ModuleType) -> Iterator[Found]:
    """Yield the patterns held by a module: names, class attributes, collections, closures and defaults."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        if not name.startswith("__") and not isinstance(value, ModuleType):
            yield from _inside(value, f"{module.__name__}.{name}", module.__name__, seen)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `re` or `regex` in a source, with the expression of its pattern."""

    module: ModuleType
    function: str
    library: str
    argument: ast.expr
    flags: ast.expr | None

    @property
    def key(self) -> tuple[str, str]:
        """Module and expression, as the table of examples names it."""
        return self.module.__name__, ast.unparse(self.argument)


def in_source(module: ModuleType) -> Iterator[Call]:
    """Yield all calls in a module that take a pattern."""
    if not module.__file__:
        return
    source = Path(module.__file__).read_text(encoding="utf-8")
    if "import re" not in source and "from re" not in source:
        return
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree) if isinstance(node, ast.Import)
        for alias in node.names if alias.name in {"re", "regex"}
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"re", "regex"}:
            raise AssertionError(f"{module.__name__} imports names from {node.module}: write {node.module}.NAME")
    yield from _calls(tree, module, aliases, "")


def _calls(node: ast.AST, module: ModuleType, aliases: Mapping[str, str], function: str) -> Iterator[Call]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if (
            isinstance(child, ast.Call)
            and isinstance(child.func, ast.Attribute)
            and isinstance(child.func.value, ast.Name)
            and child.func.value.id in aliases
            and child.func.attr in _CALLS
        ):
            flags = next((keyword.value for keyword in child.keywords if keyword.arg == "flags"), None)
            if child.func.attr == "compile" and len(child.args) > 1:
                flags = child.args[1]
            yield Call(module, inside, aliases[child.func.value.id], child.args[0], flags)
        yield from _calls(child, module, aliases, inside)


def evaluated(call: Call, names: Mapping[str, object]) -> Found:
    """Compile the pattern of a call; NameError when it needs values that neither the module nor `names` has."""
    space = {**vars(builtins), **vars(call.module), **names}
    source = eval(compile(ast.Expression(call.argument), "<pattern>", "eval"), space)
    place = f"{call.module.__name__}.{call.function or '(module)'}:{call.argument.lineno}"
    if isinstance(source, _KINDS):
        return Found(place, source)
    flags = eval(compile(ast.Expression(call.flags), "<flags>", "eval"), space) if call.flags is not None else 0
    return Found(place, (re if call.library == "re" else regex).compile(source, flags))
