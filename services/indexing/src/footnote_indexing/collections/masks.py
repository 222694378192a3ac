"""Applies an update mask to a message."""

from collections.abc import Iterable
from typing import cast

from footnote_kit.collection_settings import is_group
from footnote_kit.errors import InvalidArgument
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message


def apply(source: Message, target: Message, paths: Iterable[str], allowed: Iterable[str]) -> None:
    """Copy the named fields; a field that is unset in `source` is cleared. `allowed` are the paths' first parts."""
    permitted = set(allowed)
    for path in paths:
        if path.split(".", 1)[0] not in permitted:
            raise InvalidArgument.field("update_mask", f"must not name '{path}'")
        _copy(source, target, path.split("."), path)


def set_paths(source: Message, allowed: Iterable[str], opened: Iterable[str]) -> list[str]:
    """Return the paths of the fields that are set; messages named in `opened` are expanded at any depth."""
    paths: list[str] = []
    opened = set(opened)
    for field, value in source.ListFields():
        if field.name not in set(allowed):
            continue
        if field.name in opened:
            paths += [f"{field.name}.{inner}" for inner in _leaves(value)]
        else:
            paths.append(field.name)
    return paths


def _leaves(message: Message) -> list[str]:
    paths: list[str] = []
    for field, value in message.ListFields():
        if is_group(field):
            paths += [f"{field.name}.{inner}" for inner in _leaves(value)]
        else:
            paths.append(field.name)
    return paths


def _copy(source: Message, target: Message, parts: list[str], path: str) -> None:
    field = source.DESCRIPTOR.fields_by_name.get(parts[0])
    if field is None:
        raise InvalidArgument.field("update_mask", f"names no field: '{path}'")
    name = field.name
    if len(parts) > 1:
        if not is_group(cast(FieldDescriptor, field)):
            raise InvalidArgument.field("update_mask", f"cannot go into '{name}' as in '{path}'")
        _copy(getattr(source, name), getattr(target, name), parts[1:], path)
        return
    target.ClearField(name)
    if field.is_repeated:
        getattr(target, name).extend(getattr(source, name))
    elif field.message_type is not None:
        if source.HasField(name):
            getattr(target, name).CopyFrom(getattr(source, name))
    elif not field.has_presence or source.HasField(name):
        setattr(target, name, getattr(source, name))
