"""What errors carry is what errors.proto says: their reasons, and the keys of their metadata."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote_kit import errors

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = (ROOT / "protos/footnote/types/v1/errors.proto").read_text(encoding="utf-8")
REASONS = {value.name.removeprefix("ERROR_REASON_") for value in ErrorReason.DESCRIPTOR.values}
KINDS = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Yield (place, call) of every error of ours that is made in our code."""
    for file in sorted([*ROOT.glob("services/*/src/**/*.py"), *ROOT.glob("libs/*/src/**/*.py")]):
        if "contracts" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node


def given(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def test_every_reason_raised_is_in_the_contract() -> None:
    wrong = {
        place: reason.value
        for place, call in raised()
        if isinstance(reason := given(call, "reason"), ast.Constant) and reason.value not in REASONS
    }
    assert wrong == {}


def test_every_key_of_metadata_is_in_the_contract() -> None:
    keys = {
        str(key.value): place
        for place, call in raised()
        if isinstance(metadata := given(call, "metadata"), ast.Dict)
        for key in metadata.keys
        if isinstance(key, ast.Constant)
    }
    assert len(keys) > 10
    assert {key: place for key, place in keys.items() if f"`{key}`" not in CONTRACT} == {}


@pytest.mark.parametrize("reason", sorted(REASONS - {"UNSPECIFIED"}))
def test_every_reason_says_its_code(reason: str) -> None:
    found = re.search(rf"((?:  //[^\n]*\n)+)  ERROR_REASON_{reason} = ", CONTRACT)
    assert found is not None
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    assert any(code in found[1] for code in codes), found[1]
