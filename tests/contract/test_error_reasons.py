"""What errors carry is what errors.proto says: their reasons, and the keys of their metadata."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.types.v1.errors_pb2 import ErrorReason
from footnote_kit import errors
from support import code

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = (ROOT / "protos/footnote/types/v1/errors.proto").read_text(encoding="utf-8")
REASONS = {value.name.removeprefix("ERROR_REASON_") for value in ErrorReason.DESCRIPTOR.values}
KINDS = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}


def raised() -> Iterator[tuple[str, code.Call]]:
    """Yield (place, call) of every error of ours that is made in our code."""
    for file in code.ours():
        for call in code.facts(file).calls:
            if call.bare and call.name in KINDS:
                yield f"{file.relative_to(ROOT)}:{call.line}", call


@pytest.mark.slow
def test_every_reason_raised_is_in_the_contract() -> None:
    reasons = [(place, call.keywords["reason"]) for place, call in raised() if "reason" in call.keywords]
    written = {place: reason for place, reason in reasons if isinstance(reason, str)}
    assert len(written) > 50
    assert {place: reason for place, reason in written.items() if reason not in REASONS} == {}


def test_every_key_of_metadata_is_in_the_contract() -> None:
    keys = {key: place for place, call in raised() for key in call.keys.get("metadata", ()) if isinstance(key, str)}
    assert len(keys) > 10
    assert {key: place for key, place in keys.items() if f"`{key}`" not in CONTRACT} == {}


@pytest.mark.parametrize("reason", sorted(REASONS - {"UNSPECIFIED"}))
def test_every_reason_says_its_code(reason: str) -> None:
    found = re.search(rf"((?:  //[^\n]*\n)+)  ERROR_REASON_{reason} = ", CONTRACT)
    assert found is not None
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    assert any(code in found[1] for code in codes), found[1]
