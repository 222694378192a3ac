"""A collection's settings as people write and read them: `chunking.strategy=paragraph`, `ttl=30d`."""

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from footnote.types.v1.collection_pb2 import CollectionSettings, StringList
from footnote_kit.collection_settings import is_group
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from footnote_cli.errors import CommandError, usage_error
from footnote_cli.values import parse_duration

_DURATION = Duration.DESCRIPTOR.full_name
_NUMBERS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64)
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def parse_settings(pairs: Iterable[str]) -> CollectionSettings:
    """Parse `group.key=value` pairs as settings. Raises CommandError for an unknown one and for a wrong value."""
    nested: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        *groups, key = path.strip().split(".")
        if not equals or not key:
            problem = f"'{pair}' is not a setting."
            raise usage_error(problem, "Write it as group.key=value, for example chunking.size=800.")
        field, place = _find(path.strip()), nested
        for group in groups:
            place = place.setdefault(group, {})
        place[key] = _value(field, path.strip(), text.strip())
    try:
        return ParseDict(nested, CollectionSettings())
    except ParseError as error:  # a number too large, a list of wrong types
        raise usage_error(f"The settings cannot be read: {error}.", "Check their values.") from error


def show_settings(settings: Message, prefix: str = "") -> dict[str, str]:
    """Return the settings that are set as "chunking.size" -> "1000", in the syntax of `parse_settings`."""
    shown: dict[str, str] = {}
    for field, value in settings.ListFields():
        name = prefix + field.name
        if _group(field) is not None:
            shown |= show_settings(value, f"{name}.")
        elif field.message_type is not None and field.message_type.full_name == _DURATION:
            shown[name] = _duration(value)
        elif field.enum_type is not None:
            shown[name] = _words(field.enum_type)[value]
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and not field.is_repeated:
            shown[name] = value
        elif isinstance(value, StringList):
            shown[name] = json.dumps(list(value.values), ensure_ascii=False)
        elif field.message_type is not None:
            shown[name] = json.dumps(dict(value.items()), ensure_ascii=False, default=str)
        else:
            shown[name] = json.dumps(list(value) if field.is_repeated else value, ensure_ascii=False)
    return shown


def show_counting(given: CollectionSettings, counting: CollectionSettings) -> dict[str, str]:
    """Return effective settings, marking those inherited rather than set by the collection."""
    own = show_settings(given)
    inherited = {name: f"{value} (inherited)" for name, value in show_settings(counting).items() if name not in own}
    order = {name: place for place, name in enumerate(_paths(CollectionSettings.DESCRIPTOR))}
    return dict(sorted({**own, **inherited}.items(), key=lambda item: order[item[0]]))


def _group(field: FieldDescriptor | None) -> Descriptor | None:
    """Return the message of a field that holds settings of its own; None for a field that holds a value."""
    return field.message_type if field is not None and is_group(field) else None


def check_path(path: str) -> str:
    """Return a setting's path as used in masks; raises CommandError for an invalid one."""
    _find(path.strip())
    return path.strip()


def _find(path: str) -> FieldDescriptor:
    """Return the field at a dotted path."""
    fields: Mapping[str, FieldDescriptor] = CollectionSettings.DESCRIPTOR.fields_by_name
    *groups, key = path.split(".")
    for group in groups:
        message = _group(fields.get(group))
        if message is None:
            raise _unknown(path)
        fields = message.fields_by_name
    field = fields.get(key)
    if field is None or _group(field) is not None:
        raise _unknown(path)
    return field


def _unknown(path: str) -> CommandError:
    known = _paths(CollectionSettings.DESCRIPTOR)
    near = difflib.get_close_matches(path, known, n=3, cutoff=0.5)
    group = [name for name in known if name.startswith(f"{path.partition('.')[0]}.")]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(group or known)}."
    return usage_error(f"There is no setting '{path}'.", hint)


def _paths(descriptor: Descriptor, prefix: str = "") -> list[str]:
    paths = []
    for field in descriptor.fields:
        name = prefix + field.name
        message = _group(field)
        paths += [name] if message is None else _paths(message, f"{name}.")
    return paths


def _words(enum: EnumDescriptor) -> dict[int, str]:
    """Return the values of an enum as words: CHUNKING_STRATEGY_PARAGRAPH is "paragraph"."""
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {value.number: value.name.removeprefix(prefix).lower() for value in enum.values}


def _value(field: FieldDescriptor, path: str, text: str) -> Any:
    """Return a typed value as JSON for protobuf."""
    if field.enum_type is not None:
        words = _words(field.enum_type)
        for number, word in words.items():
            if number and text.lower() in (word, field.enum_type.values_by_number[number].name.lower()):
                return number
        raise usage_error(f"{path} cannot be '{text}'.", f"Choose one of: {', '.join(list(words.values())[1:])}.")
    if field.message_type is not None and field.message_type.full_name == _DURATION:
        return parse_duration(text).ToJsonString()
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and not field.is_repeated:
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text.lower() not in _BOOLEANS:
            raise usage_error(f"{path} cannot be '{text}'.", "Write true or false.")
        return _BOOLEANS[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if field.cpp_type in _NUMBERS and not field.is_repeated:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise usage_error(f"{path} cannot be '{text}'.", "Write a number.")
    elif _is_list(field):
        if not isinstance(value, list):
            raise usage_error(f"{path} cannot be '{text}'.", 'Write it as JSON, for example ["END"] or [].')
        return {"values": value}
    elif not isinstance(value, dict):
        raise usage_error(f"{path} cannot be '{text}'.", 'Write it as JSON, for example {"key": 1}.')
    return value


def _is_list(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == StringList.DESCRIPTOR.full_name


def _duration(value: Duration) -> str:
    """Return a duration in its largest whole unit: "30d", "90s"."""
    seconds = value.seconds + value.nanos / 1e9
    for size, unit in _UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds // size:g}{unit}"
    return f"{seconds:g}s"
