"""The package of a message decides its promises: docs/contracts.md."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import resources

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

PUBLIC, SHARED, STAGES, INTERNAL = "footnote.edge.", "footnote.types.", "footnote.stages.", "footnote.internal."
OF_OPTIONS = {"footnote.types.v1.Bounds"}
"""Not in any message: what the option `(bounds)` of fields holds."""


def elements() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield each message and enum with its package and what it names."""
    data = (resources.files("footnote") / "contracts.binpb").read_bytes()
    for file in FileDescriptorSet.FromString(data).file:
        if not file.package.startswith("footnote."):
            continue
        for message in file.message_type:
            named = frozenset(field.type_name[1:] for field in message.field if field.type_name)
            yield f"{file.package}.{message.name}", file.package, named
        for enum in file.enum_type:
            yield f"{file.package}.{enum.name}", file.package, frozenset()


NAMED = {name: named for name, _, named in elements()}
PACKAGE = {name: package for name, package, _ in elements()}


def users() -> Mapping[str, frozenset[str]]:
    """Return for each element the packages of services whose messages reach it."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, package in PACKAGE.items():
        if package.startswith((SHARED, STAGES)):
            continue
        reached, waiting = set(), [name]
        while waiting:
            here = waiting.pop()
            if here in NAMED and here not in reached:
                reached.add(here)
                waiting += NAMED[here]
        for one in reached:
            found[one].add(package)
    return {name: frozenset(packages) for name, packages in found.items()}


USERS = users()


@pytest.mark.parametrize("name", [one for one, package in PACKAGE.items() if package.startswith(SHARED)])
def test_shared_types_are_seen_by_callers(name: str) -> None:
    """What only stages say stands in their own packages, so that callers never generate it."""
    assert name in OF_OPTIONS or any(one.startswith(PUBLIC) for one in USERS[name]), USERS.get(name)


@pytest.mark.parametrize("name", [one for one, package in PACKAGE.items() if package.startswith(STAGES)])
def test_types_of_stages_are_said_by_two_of_them_and_by_no_caller(name: str) -> None:
    promised = {one for one in USERS[name] if not one.startswith(INTERNAL)}
    assert len(promised) > 1
    assert not any(one.startswith(PUBLIC) for one in promised), promised


@pytest.mark.parametrize("name", [one for one, package in PACKAGE.items() if package.startswith(INTERNAL)])
def test_what_is_internal_is_named_by_no_promise(name: str) -> None:
    assert USERS[name] == {PACKAGE[name]}
