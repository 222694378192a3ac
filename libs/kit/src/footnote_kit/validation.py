"""Validates every request against its contract: REQUIRED fields, known enum numbers, bounds.

Names of tenants, users and groups, and `request_id` (AIP-155) have rules of their own.

The rules are read from the descriptors once per type. Only fields that are set or REQUIRED are checked, so a small
request costs microseconds.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from footnote.types.v1 import bounds_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from footnote_kit.errors import InvalidArgument
from footnote_kit.field_behavior import is_required

MOST_SHOWN = 20
"""The most violations reported at once; a list of a million invalid values is one mistake, not a million."""

Check = Callable[[Any, str], Iterator[tuple[str, str]]]

_WELL_KNOWN = "google.protobuf."
_LIST = "footnote.types.v1.StringList"
"""A list as a value; the bounds of such a field apply to the list inside it."""
REFUSED_ELSEWHERE = frozenset(
    {
        "footnote.stages.v1.Scope",  # UNAUTHENTICATED, SCOPE_MISSING
        "footnote.types.v1.Comparison",  # INVALID_FILTER
        "footnote.telemetry.v1.GetTraceRequest",
        "footnote.types.v1.VectorRow",
        "footnote.edge.v1.UploadMetadata",  # of one file among many
        "footnote.edge.v1.AddVectorsRequest",
        "footnote.indexing.v1.AddVectorsRequest",
    }
)
"""Messages whose missing REQUIRED fields are reported elsewhere, with another message or reason."""


def check(message: Message) -> None:
    """Raise InvalidArgument that names each field of a request that violates its contract."""
    found: list[tuple[str, str]] = []
    for violation in _violations(message, ""):
        found.append(violation)
        if len(found) == MOST_SHOWN:
            break
    if found:
        raise InvalidArgument("; ".join(f"{field} {problem}" for field, problem in found), violations=found)


def _violations(message: Message, path: str) -> Iterator[tuple[str, str]]:
    for name, held in _required(message.DESCRIPTOR):
        if not (message.HasField(name) if held else getattr(message, name)):
            yield f"{path}{name}", "is required"
    checks = _checks(message.DESCRIPTOR)
    if not checks:
        return
    for field, value in message.ListFields():
        for one in checks.get(field.number, ()):
            yield from one(value, f"{path}{field.name}")


@cache
def _required(descriptor: Descriptor) -> tuple[tuple[str, bool], ...]:
    """Return a type's REQUIRED fields, each with whether an unset value differs from an empty one."""
    if descriptor.full_name in REFUSED_ELSEWHERE:
        return ()
    return tuple(
        (field.name, field.has_presence) for field in descriptor.fields if is_required(field) and field.name != "scope"
    )


@cache
def _checks(descriptor: Descriptor) -> dict[int, tuple[Check, ...]]:
    """Return a type's checks by field number; empty for a type without checks."""
    found: dict[int, tuple[Check, ...]] = {}
    for field in descriptor.fields:
        checks = tuple(_of_field(field))
        if checks:
            found[field.number] = checks
    return found


def _of_field(field: FieldDescriptor) -> Iterator[Check]:
    yield from _own(field)
    if (inner := _inner(field)) is not None and _can_be_wrong(inner):
        yield _nested(field)


def _inner(field: FieldDescriptor) -> Descriptor | None:
    """Return the type of a field's messages; None when their content is not checked."""
    inner = field.message_type
    if inner is None or inner.full_name == _LIST or inner.full_name.startswith(_WELL_KNOWN):
        return None
    return None if inner.GetOptions().map_entry else inner


@cache
def _can_be_wrong(descriptor: Descriptor) -> bool:
    """Return whether a message type or its content has any checks: most parts of a passage have none."""
    seen: set[str] = set()
    left = [descriptor]
    while left:
        one = left.pop()
        if one.full_name in seen:
            continue
        seen.add(one.full_name)
        if _required(one):
            return True
        for field in one.fields:
            if any(True for _ in _own(field)):
                return True
            if (inner := _inner(field)) is not None:
                left.append(inner)
    return False


def _own(field: FieldDescriptor) -> Iterator[Check]:
    """Yield the checks of a field itself, without those inside its messages."""
    bounds = field.GetOptions().Extensions[bounds_pb2.bounds]
    if field.message_type is not None and field.message_type.full_name == _LIST:
        yield _listed(bounds)
        return
    if bounds.HasField("max_items"):
        yield _size(bounds.max_items, "elements")
    if field.enum_type is not None:
        yield _each(field, _known(frozenset(field.enum_type.values_by_number)))
    if bounds.HasField("max_length"):
        yield _each(field, _size(bounds.max_length, "characters"))
    if bounds.HasField("min") or bounds.HasField("max"):
        yield _each(field, _within(bounds))
    if bounds.HasField("max_bytes"):
        yield _each(field, _light(bounds.max_bytes))


def _each(field: FieldDescriptor, one: Check) -> Check:
    """Return a check of a field's value; for a list, of each element with its index in the path."""
    if not field.is_repeated:
        return one

    def every(values: Any, path: str) -> Iterator[tuple[str, str]]:
        for index, value in enumerate(values):
            yield from one(value, f"{path}[{index}]")

    return every


def _listed(bounds: bounds_pb2.Bounds) -> Check:
    def listed(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if bounds.HasField("max_items"):
            yield from _size(bounds.max_items, "elements")(value.values, path)
        if bounds.HasField("max_length"):
            for index, text in enumerate(value.values):
                yield from _size(bounds.max_length, "characters")(text, f"{path}.values[{index}]")

    return listed


def _nested(field: FieldDescriptor) -> Check:
    def inside(value: Any, path: str) -> Iterator[tuple[str, str]]:
        yield from _violations(value, f"{path}.")

    return _each(field, inside)


def _known(numbers: frozenset[int]) -> Check:
    def known(value: int, path: str) -> Iterator[tuple[str, str]]:
        if value not in numbers:
            yield path, f"has no value {value}"

    return known


def _size(most: int, what: str) -> Check:
    def sized(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if len(value) > most:
            yield path, f"must have at most {most} {what}"

    return sized


def _light(most: int) -> Check:
    def light(value: Message, path: str) -> Iterator[tuple[str, str]]:
        if value.ByteSize() > most:
            yield path, f"must have at most {most} bytes"

    return light


def _within(bounds: bounds_pb2.Bounds) -> Check:
    low = bounds.min if bounds.HasField("min") else float("-inf")
    high = bounds.max if bounds.HasField("max") else float("inf")
    if low == float("-inf"):
        words = f"must be at most {high:.15g}"
    elif high == float("inf"):
        words = f"must be at least {low:.15g}"
    else:
        words = f"must be between {low:.15g} and {high:.15g}"

    def within(value: Any, path: str) -> Iterator[tuple[str, str]]:
        number = value.seconds + value.nanos / 1e9 if isinstance(value, Duration) else value
        if not low <= number <= high:  # NaN is outside as well
            yield path, words

    return within


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+|:-]{0,127}")
RULE = "must be 1 to 128 letters, digits or ._@+|:-, beginning with a letter or digit"

GROUP = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+|:/-]{0,127}")
GROUP_RULE = "must be 1 to 128 letters, digits or ._@+|:/-, beginning with a letter, a digit or a slash"
"""Slashes are allowed because issuers with a tree of groups name each group by its path."""

MOST_GROUPS = 200
"""The most groups of one user. The number is bounded because every call carries them."""


def checked_name(field: str, value: str) -> str:
    """Return the name; raise InvalidArgument when it is not valid."""
    if not NAME.fullmatch(value):
        raise InvalidArgument.field(field, RULE)
    return value


def checked_group(field: str, value: str) -> str:
    """Return the group's name; raise InvalidArgument when it is not valid."""
    if not GROUP.fullmatch(value):
        raise InvalidArgument.field(field, GROUP_RULE)
    return value


MOST_OF_REQUEST_ID = 64
_ALLOWED = re.compile(rf"[ -~]{{1,{MOST_OF_REQUEST_ID}}}")


def check_request_id(value: str, field: str = "request_id") -> None:
    """Raise InvalidArgument for an id that is neither empty nor 1 to 64 printable ASCII characters."""
    if value and not _ALLOWED.fullmatch(value):
        raise InvalidArgument.field(
            field, f"must be 1 to {MOST_OF_REQUEST_ID} printable ASCII characters, such as a UUID"
        )


def changed_fields(mask: FieldMask, resource: Message, allowed: Sequence[str]) -> list[str]:
    """Return the fields that an update changes: those of its mask, else those that are set in the resource.

    Raises InvalidArgument for a field that is not `allowed`, and for an update that changes nothing.
    """
    for path in mask.paths:
        if path not in allowed:
            raise InvalidArgument.field("update_mask", f"must not name '{path}', only {', '.join(allowed)}")
    if mask.paths:
        return list(dict.fromkeys(mask.paths))
    present = [field.name for field, _ in resource.ListFields() if field.name in allowed]
    if not present:
        raise InvalidArgument.field("resource", f"must change something: {', '.join(allowed)}")
    return present
